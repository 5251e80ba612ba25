// The words for what the system says. Sibling: kcup-rust/src/content/reason.rs

package content

import (
	"errors"
	"io/fs"
	"syscall"
)

// Reason is why something failed, without what a library was doing.
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
