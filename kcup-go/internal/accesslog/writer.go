// Writing, and what becomes of lines that are not taken. Sibling: kcup-rust/src/ops/access_log/writer.rs

package accesslog

import (
	"bytes"
	"io"
)

// pieceSize is PIPE_BUF, in bytes: a pipe takes so much whole or not at all, and so the end of the process, while it
// waits for a reader, tears no line. See pipe(7).
const pieceSize = 4096

// writer writes lines. What cannot be written is lost, in whole lines (K-127).
type writer struct {
	out  io.Writer
	torn []byte // the rest of a line of which a part was written: nothing may come before it
}

// write returns how many lines are lost.
func (w *writer) write(text []byte) (lost int) {
	for len(text) > 0 {
		piece := text[:pieceEnd(text)]
		lost += w.put(piece)
		text = text[len(piece):]
	}
	return lost
}

// pieceEnd is the end of the last line that fits in a piece, else of the first.
func pieceEnd(text []byte) int {
	if len(text) <= pieceSize {
		return len(text)
	}
	if last := bytes.LastIndexByte(text[:pieceSize], '\n'); last >= 0 {
		return last + 1
	}
	return bytes.IndexByte(text, '\n') + 1
}

func (w *writer) put(piece []byte) (lost int) {
	if len(w.torn) > 0 {
		n, err := w.out.Write(w.torn)
		if w.torn = w.torn[n:]; err != nil {
			return bytes.Count(piece, newline)
		}
	}
	n, err := w.out.Write(piece)
	if err == nil {
		return 0
	}
	if n > 0 && piece[n-1] != '\n' {
		end := n + bytes.IndexByte(piece[n:], '\n') + 1
		w.torn = append(w.torn[:0], piece[n:end]...)
		n = end
	}
	return bytes.Count(piece[n:], newline)
}
