package server

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestAUnixSocketIsOnlyReplacedWhenNobodyListens(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, path := range []string{"a", "@b", strings.Repeat("c", 107)} {
		fd, err := listenUnix(path)
		if err != nil {
			t.Fatal(err)
		}
		if info, err := os.Lstat(path); err != nil || info.Mode() != os.ModeSocket|unixMode {
			t.Error(path, info, err)
		}
		if _, err := listenUnix(path); err == nil || err.Error() != "cannot listen on unix:"+path+": address already in use" {
			t.Error(err)
		}
		unix.Close(fd)
		if fd, err = listenUnix(path); err != nil {
			t.Error(err)
		}
		unix.Close(fd)
	}
	if os.WriteFile("file", nil, 0o600) != nil || os.Symlink("a", "link") != nil {
		t.Fatal("cannot write")
	}
	for path, want := range map[string]string{"file": "it is not a socket", "link": "it is not a socket", ".": "it is not a socket"} {
		if _, err := listenUnix(path); err == nil || !strings.HasSuffix(err.Error(), ": "+want) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestOnlyAListeningStreamSocketIsInherited(t *testing.T) {
	own, at, err := Listen(netip.IPv6Loopback(), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(own)
	if l, err := inherit(own); err != nil || l.url != "http://"+at.String()+"/" {
		t.Error(l, err)
	}
	socket := func(family, kind int) int {
		fd, err := unix.Socket(family, kind, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unix.Close(fd) })
		return fd
	}
	path := filepath.Join(t.TempDir(), "s")
	listening := socket(unix.AF_UNIX, unix.SOCK_STREAM)
	if atPath(unix.SYS_BIND, listening, path) != nil || unix.Listen(listening, 1) != nil {
		t.Fatal("cannot listen")
	}
	l, err := inherit(listening)
	flags, _ := unix.FcntlInt(uintptr(listening), unix.F_GETFL, 0)
	closes, _ := unix.FcntlInt(uintptr(listening), unix.F_GETFD, 0)
	if err != nil || l.url != "unix:"+path || flags&unix.O_NONBLOCK == 0 || closes != unix.FD_CLOEXEC {
		t.Error(l, err, flags, closes)
	}
	for _, fd := range []int{-1, socket(unix.AF_INET, unix.SOCK_STREAM), socket(unix.AF_UNIX, unix.SOCK_DGRAM)} {
		if _, err := inherit(fd); err == nil || err.Error() != "it is not a listening stream socket" {
			t.Error(fd, err)
		}
	}
}
