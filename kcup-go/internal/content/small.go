package content

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// Small reads a small regular file in the way in which content is read again. The error is why that failed, in the words of K-11.
func Small(name string, most int64) (b []byte, err error) {
	err = stable(name, func(from io.Reader, info fs.FileInfo) (err error) {
		if info.Size() <= most {
			b, err = io.ReadAll(io.LimitReader(from, most+1))
		}
		switch {
		case err != nil:
			return err
		case max(info.Size(), int64(len(b))) > most:
			return fmt.Errorf("it is larger than %s", Counted(most, "byte"))
		case len(b) == 0:
			return errEmpty
		}
		return nil
	})
	switch {
	case errors.Is(err, syscall.EISDIR):
		err = errDirectory
	case errors.Is(err, os.ErrDeadlineExceeded):
		err = errNotRegular
	}
	return b, Reason(err)
}
