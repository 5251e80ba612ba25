package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// group is a memory cgroup, version 2.
type group struct{ path string }

func newGroup(name string, limit int64) (*group, error) {
	g := &group{filepath.Join("/sys/fs/cgroup", name)}
	if err := os.Mkdir(g.path, 0o755); err != nil {
		return nil, err
	}
	return g, os.WriteFile(filepath.Join(g.path, "memory.max"), []byte(strconv.FormatInt(limit, 10)), 0)
}

// number reads a file that contains a number; -1 if this kernel does not have the file.
func (g *group) number(file string) int64 {
	text, err := os.ReadFile(filepath.Join(g.path, file))
	if err != nil {
		return -1
	}
	value, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return -1
	}
	return value
}

func (g *group) current() int64 { return g.number("memory.current") }

// table reads a file of names and numbers.
func (g *group) table(file string) map[string]int64 {
	found := map[string]int64{}
	opened, err := os.Open(filepath.Join(g.path, file))
	if err != nil {
		return found
	}
	defer opened.Close()
	for lines := bufio.NewScanner(opened); lines.Scan(); {
		var name string
		var value int64
		if _, err := fmt.Sscan(lines.Text(), &name, &value); err == nil {
			found[name] = value
		}
	}
	return found
}

func (g *group) kills() int64 { return g.table("memory.events")["oom_kill"] }

// made is the breakdown of the memory in use, in KiB.
func (g *group) made() map[string]int64 {
	parts, all := map[string]int64{}, g.table("memory.stat")
	for _, name := range []string{"anon", "anon_thp", "file", "shmem", "sock", "kernel_stack", "pagetables", "percpu", "slab"} {
		parts[name] = all[name] >> 10
	}
	return parts
}

// remove ends everything in the group, and removes the group.
func (g *group) remove() {
	_ = os.WriteFile(filepath.Join(g.path, "cgroup.kill"), []byte("1"), 0)
	for range 500 {
		if syscall.Rmdir(g.path) == nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}
