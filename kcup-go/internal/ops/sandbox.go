// The sandbox (SPEC section 12, docs/adr/0009).

package ops

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unsafe"

	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"github.com/sirupsen/logrus"
	"golang.org/x/sys/unix"
	"kernel.org/pub/linux/libs/security/libcap/psx"

	"gitlab.com/kcup/kcup/kcup-go/internal/config"
)

// EnterSandbox restricts all threads to what serving needs, permanently (K-130). Files that are needed later must be
// open. The runtime opens nothing later: it reads CPU quotas from files that it opened at its start.
func EnterSandbox(cfg *config.Config, log *logrus.Logger) error {
	if cfg.Sandbox == "off" {
		return nil
	}
	missing := strings.Join(restrict(cfg), ", ")
	switch {
	case missing == "":
	case cfg.Sandbox == "required":
		return fmt.Errorf("cannot enter the sandbox: the kernel does not offer %s", missing)
	default:
		log.Warnf("the sandbox is not whole: the kernel does not offer %s", missing)
	}
	return nil
}

// restrict applies the parts that the kernel offers, and returns the others (K-131). The filter is last, since it
// forbids calls that the other parts need.
func restrict(cfg *config.Config) (missing []string) {
	for _, part := range []struct {
		name string
		err  error
	}{
		{"RLIMIT_CORE", unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})},
		{"Landlock", landlocked(slices.Concat(reloadPaths(cfg.File), reloadPaths(cfg.TLSCert), reloadPaths(cfg.TLSKey)))},
		{"capset", dropCapabilities()},
		{"seccomp", filter(cfg.TLSCert != "")},
	} {
		if part.err != nil {
			missing = append(missing, part.name)
		}
	}
	return missing
}

// landlocked restricts files only: the filter restricts sockets, and everything that the first versions of Landlock do
// not.
func landlocked(readable []string) error {
	if abi, err := ll.LandlockGetABIVersion(); err != nil || abi < 1 {
		return unix.EOPNOTSUPP
	}
	return landlock.V5.BestEffort().RestrictPaths(landlock.PathAccess(ll.AccessFSReadFile, readable...).IgnoreIfMissing())
}

// dropCapabilities drops all; ambient ones are dropped with these. Without any, and with no_new_privs, execve(2)
// restores none, so the bounding set may stay: dropping it would take a call for each capability in each thread.
func dropCapabilities() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var sets, none [2]unix.CapUserData
	// If there are none to drop, a filter from outside may forbid the call.
	if err := unix.Capget(&header, &sets[0]); err != nil || sets == none {
		return err
	}
	_, _, errno := psx.Syscall3(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&none)), 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// reloadPaths returns the paths beneath which a reload reads: the directory of the name, and that of the file it leads
// to. If that is the root directory, only the file itself.
func reloadPaths(file string) (paths []string) {
	if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	led, err := filepath.EvalSymlinks(file)
	if err != nil {
		return nil // it has been removed
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
