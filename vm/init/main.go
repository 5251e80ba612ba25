// Process 1 of a virtual machine, and the load in it: each scenario of /plan.json runs against a server that is alone in
// a fresh memory cgroup, while everything here stays in the root group. One line of JSON for each scenario goes to the
// second serial port.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"syscall"
	"unsafe"
)

// planned is one row of the plan.
type planned struct {
	Server   string `json:"server"`
	Scenario string `json:"scenario"`
	// Memory is the group's limit, in MiB.
	Memory int `json:"memory"`
	// Over is what the server listens on: tcp or unix, or tcp with TLS: tls.
	Over string `json:"over"`
	// Peers is how many there are, if not the scenario's own number.
	Peers int `json:"peers"`
	// Verbose sends the server's standard error to the console, too.
	Verbose bool `json:"verbose"`
}

func main() {
	defer syscall.Reboot(syscall.LINUX_REBOOT_CMD_POWER_OFF)
	if err := work(); err != nil {
		fmt.Println("init:", err)
	}
	syscall.Sync()
}

func work() error {
	if err := setUp(); err != nil {
		return err
	}
	results, err := os.OpenFile("/dev/ttyS1", os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	text, err := os.ReadFile("/plan.json")
	if err != nil {
		return err
	}
	var plan []planned
	if err := json.Unmarshal(text, &plan); err != nil {
		return err
	}
	for number, row := range plan {
		line, err := json.Marshal(carryOut(row, 8000+number))
		if err != nil {
			return err
		}
		if _, err := results.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	return nil
}

func setUp() error {
	for _, mount := range []struct{ kind, at string }{
		{"proc", "/proc"}, {"sysfs", "/sys"}, {"devtmpfs", "/dev"}, {"cgroup2", "/sys/fs/cgroup"}, {"debugfs", "/sys/kernel/debug"},
	} {
		if err := os.MkdirAll(mount.at, 0o755); err != nil {
			return err
		}
		if err := syscall.Mount(mount.kind, mount.at, mount.kind, 0, ""); err != nil {
			return fmt.Errorf("mount %s: %w", mount.at, err)
		}
	}
	many := syscall.Rlimit{Cur: 1 << 16, Max: 1 << 16}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &many); err != nil {
		return err
	}
	for path, value := range map[string]string{
		"/sys/fs/cgroup/cgroup.subtree_control":       "+memory",
		"/proc/sys/net/ipv4/ip_local_port_range":      "10240 64999",
		"/sys/kernel/mm/transparent_hugepage/enabled": "always", // Debian's default
		// This machine also holds what the peers leave unread, which must not make the kernel drop packets.
		"/proc/sys/net/ipv4/tcp_mem": "500000 500000 500000",
		// Switching address spaces is expensive in emulation: a thread that wakes another keeps the CPU until its turn is over.
		"/sys/kernel/debug/sched/features": "NO_WAKEUP_PREEMPTION",
	} {
		if err := os.WriteFile(path, []byte(value), 0); err != nil {
			return err
		}
	}
	return bringUp("lo")
}

func bringUp(name string) error {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	defer syscall.Close(fd)
	var request struct {
		name  [16]byte
		flags uint16
		_     [22]byte
	}
	copy(request.name[:], name)
	request.flags = syscall.IFF_UP
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(fd), syscall.SIOCSIFFLAGS, uintptr(unsafe.Pointer(&request))); errno != 0 {
		return fmt.Errorf("bring up %s: %w", name, errno)
	}
	return nil
}
