// Bytes that the kernel can send without copying them: they are in a sealed file in memory (memfd_create(2)), which is
// mapped for everything that reads them. See docs/adr/0006.

package content

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// Shared is a file in memory, and its bytes. They exist until release: a slice of them may be kept only by a holder of
// the Content, or by the owner of the Source.
type Shared struct {
	bytes   []byte
	fd      int
	padding int64 // the memory that the file takes in addition to them
}

const (
	huge = 2 << 20
	// A part of the file of this many bytes is worth a huge page.
	worth = 1_000_000
)

// Offset returns the place of part in the file, if it is a slice of the file's bytes.
func (s *Shared) Offset(part []byte) (fd int, at int64, ok bool) {
	if s == nil || len(part) == 0 {
		return 0, 0, false
	}
	at = int64(uintptr(unsafe.Pointer(unsafe.SliceData(part))) - uintptr(unsafe.Pointer(unsafe.SliceData(s.bytes))))
	return s.fd, at, at >= 0 && at < int64(len(s.bytes))
}

// Collapse moves the file into huge pages if it is worth them, taking at most spare bytes in addition meanwhile. Without huge
// pages everything works, but slower.
func (s *Shared) Collapse(spare int64) {
	if s == nil {
		return
	}
	length := int64(len(s.bytes))
	rounded := inHugePages(length)
	if rounded == 0 || max(rounded-length, 0)+huge > spare {
		return
	}
	collapse(s.fd, uintptr(rounded))
	var stat unix.Stat_t
	if unix.Fstat(s.fd, &stat) == nil {
		s.padding = max(stat.Blocks*512-length, 0)
	}
}

// inHugePages returns how many of the file's bytes go into huge pages.
func inHugePages(length int64) int64 { return (length + huge - worth) / huge * huge }

// collapse needs a mapping at a huge page's boundary. The pages outlive the mapping.
func collapse(fd int, length uintptr) {
	reserved, err := unix.MmapPtr(-1, 0, nil, length+huge, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return
	}
	start := unsafe.Add(reserved, -uintptr(reserved)%huge)
	if _, err = unix.MmapPtr(fd, 0, start, length, unix.PROT_READ, unix.MAP_SHARED|unix.MAP_FIXED); err == nil {
		_ = unix.Madvise(unsafe.Slice((*byte)(start), length), unix.MADV_COLLAPSE)
	}
	_ = unix.MunmapPtr(reserved, length+huge)
}

// release frees the memory. It writes to s, so that the race detector notices a reader that has not finished.
func (s *Shared) release() {
	if s == nil {
		return
	}
	_ = unix.Munmap(s.bytes)
	_ = unix.Close(s.fd)
	s.bytes, s.fd = nil, -1
}

// filling is a file in memory that is being written, so that the content is never in memory twice.
type filling struct {
	fd     int
	length int64
}

func newFilling() (*filling, error) {
	const flags = unix.MFD_CLOEXEC | unix.MFD_ALLOW_SEALING
	fd, err := unix.MemfdCreate("content", flags|unix.MFD_NOEXEC_SEAL)
	if err == unix.EINVAL { // before Linux 6.3
		fd, err = unix.MemfdCreate("content", flags)
	}
	return &filling{fd: fd}, err
}

// Write is for compressors.
func (f *filling) Write(b []byte) (written int, err error) {
	for written < len(b) {
		n, err := unix.Write(f.fd, b[written:])
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return written, err
		}
		written, f.length = written+n, f.length+int64(n)
	}
	return written, nil
}

func (f *filling) abandon() { _ = unix.Close(f.fd) }

// seal seals a file of at least one byte: nobody can change or shorten it from here on, not even through /proc.
func (f *filling) seal() (*Shared, error) {
	// The bytes after the content cost nothing until they are collapsed, and are never sent.
	_ = unix.Ftruncate(f.fd, max(f.length, inHugePages(f.length)))
	_, err := unix.FcntlInt(uintptr(f.fd), unix.F_ADD_SEALS, unix.F_SEAL_WRITE|unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_SEAL)
	var bytes []byte
	if err == nil {
		bytes, err = unix.Mmap(f.fd, 0, int(f.length), unix.PROT_READ, unix.MAP_SHARED)
	}
	if err != nil {
		f.abandon()
		return nil, err
	}
	return &Shared{bytes: bytes, fd: f.fd}, nil
}
