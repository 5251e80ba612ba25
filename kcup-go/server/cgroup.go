package server

import (
	"bytes"
	"os"
	"path"
	"runtime"
	"strconv"
	"strings"
)

const cgroupRoot = "/sys/fs/cgroup"

// grantedCPUs is the smaller of the CPUs we may run on and the quota, rounded down; at least 1.
func grantedCPUs() int {
	cpus := runtime.NumCPU()
	for _, dir := range cgroupDirs("") {
		if quota, period, found := strings.Cut(readText(dir+"/cpu.max"), " "); found {
			cpus = min(cpus, quotaCPUs(quota, period, cpus))
		}
	}
	for _, dir := range cgroupDirs("cpu") {
		cpus = min(cpus, quotaCPUs(readText(dir+"/cpu.cfs_quota_us"), readText(dir+"/cpu.cfs_period_us"), cpus))
	}
	return max(cpus, 1)
}

func quotaCPUs(quota, period string, otherwise int) int {
	q, err := strconv.Atoi(quota)
	p, err2 := strconv.Atoi(period)
	if err != nil || err2 != nil || q <= 0 || p <= 0 {
		return otherwise
	}
	return q / p
}

// memoryLimit is the smallest limit above us, 0 for none. Version 1 says none with a number near 2^63.
func memoryLimit() (least int64) {
	files := make([]string, 0, 16)
	for _, dir := range cgroupDirs("") {
		files = append(files, dir+"/memory.max")
	}
	for _, dir := range cgroupDirs("memory") {
		files = append(files, dir+"/memory.limit_in_bytes")
	}
	for _, file := range files {
		n, err := strconv.ParseInt(readText(file), 10, 64)
		if err == nil && n < 1<<60 && (least == 0 || n < least) {
			least = n
		}
	}
	return least
}

// cgroupDirs lists our directory in a hierarchy and those above it. The empty controller is version 2. Where the
// path is one of the host that a container does not see, its root is all there is.
func cgroupDirs(controller string) (dirs []string) {
	raw, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil
	}
	for line := range bytes.Lines(raw) {
		parts := strings.SplitN(strings.TrimSpace(string(line)), ":", 3)
		if len(parts) < 3 || !hasWord(parts[1], controller) {
			continue
		}
		root := path.Join(cgroupRoot, controller)
		for dir := path.Clean("/" + parts[2]); ; dir = path.Dir(dir) {
			dirs = append(dirs, path.Join(root, dir))
			if dir == "/" {
				return dirs
			}
		}
	}
	return dirs
}

func hasWord(list, word string) bool {
	for part := range strings.SplitSeq(list, ",") {
		if part == word {
			return true
		}
	}
	return false
}

func readText(file string) string {
	raw, _ := os.ReadFile(file) // a file that is not there says nothing
	return strings.TrimSpace(string(raw))
}
