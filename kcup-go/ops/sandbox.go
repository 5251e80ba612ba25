// The sandbox (SPEC section 12). Sibling: kcup-rust/src/ops/sandbox.rs

package ops

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"github.com/sirupsen/logrus"
	"golang.org/x/sys/unix"

	"kcup/config"
)

// Of Landlock's versions the fourth is the first that knows TCP; what a later one adds to files is taken where it is
// there (V5). Nothing beyond K-130: a service manager's socket must stay within reach.
const wholeABI = 4

var (
	errNoLandlock   = errors.New("the kernel does not know Landlock")
	errPartLandlock = errors.New("the kernel knows only a part of it")
)

// Seal gives up, in all threads and for good, what serving does not need (K-130). What is needed later must be open.
// The runtime itself opens nothing later: it looks at CPU quotas through files that it opened at its start.
func Seal(cfg *config.Config, log *logrus.Logger) error {
	if cfg.Sandbox == "off" {
		return nil
	}
	err := seal(cfg.File)
	if err == nil {
		return nil
	}
	err = fmt.Errorf("cannot enter the sandbox: %w", err)
	if cfg.Sandbox == "required" {
		return err
	}
	log.Warn(err)
	return nil
}

// seal goes as far as the kernel does, and says what is missing (K-131).
func seal(file string) error {
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
		return err
	}
	if err := ll.AllThreadsPrctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	abi, err := ll.LandlockGetABIVersion()
	if err != nil || abi < 1 {
		return errNoLandlock
	}
	rule := landlock.PathAccess(ll.AccessFSReadFile, needed(file)...).IgnoreIfMissing()
	if err := landlock.V5.BestEffort().Restrict(rule); err != nil {
		return err
	}
	if abi < wholeABI {
		return errPartLandlock
	}
	return nil
}

// needed are the paths beneath which a reload reads: the directory that the name stands in, and that of the file it
// leads to. Of the root only the file itself.
func needed(file string) (paths []string) {
	if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	led, err := filepath.EvalSymlinks(file)
	if err != nil {
		return nil // it is gone meanwhile
	}
	for _, name := range []string{file, led} {
		dir, err := filepath.Abs(filepath.Dir(name))
		if err == nil {
			dir, err = filepath.EvalSymlinks(dir)
		}
		if err == nil && dir != "/" {
			name = dir
		}
		paths = append(paths, name)
	}
	return paths
}
