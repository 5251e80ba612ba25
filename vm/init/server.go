package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// server is the program under attack, alone in its group.
type server struct {
	name          string
	network, addr string // as dial takes them
	path          string
	admin         string // the address of its metrics; empty if it has none
	command       *exec.Cmd
	group         *group
	exited        chan struct{}
	mutex         sync.Mutex
	lines         []string // of its standard error
	looked        time.Time
	killed        bool
}

const (
	contentPath = "/content.txt"
	socketPath  = "/run/server.sock"
)

// start starts it without waiting until it serves.
func start(run *run, args ...string) (*server, error) {
	s := &server{name: run.Server, path: run.path, group: run.group, exited: make(chan struct{})}
	s.network, s.addr = run.Over, fmt.Sprintf("127.0.0.1:%d", run.port)
	if run.Over == "unix" {
		_ = os.Remove(socketPath)
		s.addr = socketPath
	}
	if run.Over == "tls" {
		if err := writePair(); err != nil {
			return nil, err
		}
	}
	s.command = s.program(run.port, args)
	directory, err := os.Open(run.group.path)
	if err != nil {
		return nil, err
	}
	defer directory.Close()
	s.command.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(directory.Fd())}
	s.command.Stdin = run.stdin
	reader, writer, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	s.command.Stderr = writer
	if err := s.command.Start(); err != nil {
		return nil, err
	}
	writer.Close()
	go s.keepLines(reader, run.Verbose)
	return s, nil
}

// program is how each server is started. Servers other than kcup read /NAME.conf, written for the port and the socket.
func (s *server) program(port int, args []string) *exec.Cmd {
	switch s.name {
	case "nginx":
		return exec.Command("/usr/sbin/nginx", "-e", "/run/error.log", "-c", s.configure(port))
	case "lighttpd":
		return exec.Command("/usr/sbin/lighttpd", "-D", "-f", s.configure(port))
	}
	s.admin = fmt.Sprintf("127.0.0.1:%d", port+1000)
	args = append([]string{"--admin", s.admin, "--port", strconv.Itoa(port)}, args...)
	switch s.network {
	case "unix":
		args = append(args, "--host", "unix:"+s.addr)
	case "tls":
		args = append(args, "--tls-cert", certificatePath, "--tls-key", keyPath)
	}
	return exec.Command("/bin/"+s.name, args...)
}

// configure copies the server's configuration with the address to listen on, and returns the copy's path.
func (s *server) configure(port int) string {
	template, err := os.ReadFile("/" + s.name + ".conf")
	if err != nil {
		panic(err)
	}
	path := "/run/" + s.name + ".conf"
	listen, bind := s.addr, "127.0.0.1"
	if s.network == "unix" {
		listen, bind = "unix:"+s.addr, s.addr
	}
	text := strings.NewReplacer("{port}", strconv.Itoa(port), "{listen}", listen, "{bind}", bind).Replace(string(template))
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		panic(err)
	}
	return path
}

func (s *server) keepLines(from *os.File, verbose bool) {
	defer from.Close()
	for lines := bufio.NewScanner(from); lines.Scan(); {
		if verbose {
			fmt.Println(lines.Text())
		}
		s.mutex.Lock()
		s.lines = append(s.lines, lines.Text())
		s.mutex.Unlock()
	}
	_ = s.command.Wait()
	close(s.exited)
}

// said is its output on standard error.
func (s *server) said() []string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return append([]string(nil), s.lines...)
}

var announced = regexp.MustCompile(`(?:at most|memory for) (\d+) connections`)

// allowed is the number of connections that it allows, as last logged.
func (s *server) allowed() int {
	most := 0
	for _, line := range s.said() {
		if found := announced.FindStringSubmatch(line); found != nil {
			most, _ = strconv.Atoi(found[1])
		}
	}
	return most
}

// dead reports whether it has ended, or something in its group was killed.
func (s *server) dead() bool {
	select {
	case <-s.exited:
		return true
	default:
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if now := time.Now(); now.Sub(s.looked) > 20*time.Millisecond {
		s.looked, s.killed = now, s.group.kills() > 0
	}
	return s.killed
}

// ready waits until it responds.
func (s *server) ready() error {
	err := error(nil)
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if s.dead() {
			return fmt.Errorf("it ended at start: %q", s.said())
		}
		if _, err = s.fetch("", 5*time.Second); err == nil {
			return nil
		}
	}
	return fmt.Errorf("it does not answer: %w", err)
}

func (s *server) sockaddr() syscall.Sockaddr {
	if s.network == "unix" {
		return &syscall.SockaddrUnix{Name: s.addr}
	}
	port, _ := strconv.Atoi(s.addr[strings.LastIndexByte(s.addr, ':')+1:])
	return &syscall.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}
}

func (s *server) reload() { _ = s.command.Process.Signal(syscall.SIGHUP) }

// ended is how many connections of the public listener it has closed, by reason, and its reloads, by result.
func (s *server) ended() map[string]int64 {
	counts := map[string]int64{}
	if s.admin == "" {
		return counts
	}
	body, err := getOnce("tcp", s.admin, "/metrics", "", 5*time.Second)
	if err != nil {
		return counts
	}
	for _, line := range strings.Split(string(body), "\n") {
		var reason string
		var count int64
		if rest, found := strings.CutPrefix(line, "kcup_connections_closed_total{reason="); found {
			_, _ = fmt.Sscanf(rest, "%q} %d", &reason, &count)
		} else if rest, found := strings.CutPrefix(line, "kcup_reloads_total{result="); found {
			_, _ = fmt.Sscanf(rest, "%q} %d", &reason, &count)
			reason = "reload " + reason
		}
		if count > 0 {
			counts[reason] = count
		}
	}
	return counts
}
