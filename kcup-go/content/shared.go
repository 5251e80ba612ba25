// Bytes that the kernel can send without copying them: they lie in a sealed file in memory (memfd_create(2)), which is
// mapped for everything that reads them. See docs/adr/0006. Sibling: kcup-rust/src/content/shared.rs

package content

import (
	"errors"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Shared is a file in memory, and its bytes. They are there for as long as it is reachable: who holds on to a slice of
// them holds on to it too, by runtime.KeepAlive where nothing else does.
type Shared struct {
	bytes []byte
	fd    int
}

// Offset is where part begins in the file, if it is a slice of the file's bytes.
func (s *Shared) Offset(part []byte) (fd int, at int64, ok bool) {
	if s == nil || len(part) == 0 {
		return 0, 0, false
	}
	at = int64(uintptr(unsafe.Pointer(unsafe.SliceData(part))) - uintptr(unsafe.Pointer(unsafe.SliceData(s.bytes))))
	return s.fd, at, at >= 0 && at < int64(len(s.bytes))
}

// newFilling is a file in memory that is to be written, so that what is read lies nowhere else.
func newFilling() (*os.File, error) {
	fd, err := unix.MemfdCreate("content", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), "content"), nil
}

// seal closes file, of so many bytes and at least one, to changes: nobody can make any, not even through /proc.
func seal(file *os.File, length int64) (*Shared, error) {
	defer file.Close()
	fd, err := unix.FcntlInt(file.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	_, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_WRITE|unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_SEAL)
	var bytes []byte
	if err == nil {
		bytes, err = unix.Mmap(fd, 0, int(length), unix.PROT_READ, unix.MAP_SHARED)
	}
	if err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}
	s := &Shared{bytes, fd}
	runtime.AddCleanup(s, func(gone Shared) {
		_ = unix.Munmap(gone.bytes)
		_ = unix.Close(gone.fd)
	}, *s)
	return s, nil
}
