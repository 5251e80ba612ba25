package content

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
)

// The reasons why there is no content (K-11, K-101 to K-104).
var (
	errDirectory  = errors.New("it is a directory (Docker creates one when the source of a mount is missing)")
	errNotRegular = errors.New("it is not a regular file")
	errOneShot    = errors.New("it can be read only once")
	errEmpty      = errors.New("it is empty")
	errChanging   = errors.New("it keeps changing while it is read")
	errNoMemory   = errors.New("there is not enough memory for it")
)

func errTooLarge(most int64) error {
	return fmt.Errorf("it is larger than %s (raise --max-content-bytes)", Counted(most, "byte"))
}

// Counted returns a number of something, in the singular if it is one.
func Counted(number int64, what string) string {
	if number != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", number, what)
}

// Reason returns why the system refused something, in the words of SPEC and without what a library was doing.
func Reason(err error) error {
	var number syscall.Errno
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return errors.New("no such file")
	case errors.Is(err, fs.ErrPermission):
		return errors.New("permission denied")
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return errors.New("address not available")
	case errors.As(err, &number):
		return number
	}
	return err
}
