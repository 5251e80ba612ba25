package ops

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/sirupsen/logrus"
	"golang.org/x/sys/unix"

	"gitlab.com/kcup/kcup/kcup-go/internal/config"
)

// asSealed is set in the environment of a child, which seals itself with the content that it names. Then this many of
// its goroutines try what is forbidden.
const (
	asSealed = "KCUP_TEST_SEALED"
	threads  = 8
)

func TestMain(m *testing.M) {
	if file, is := os.LookupEnv(asSealed); is {
		said := sealed(file)
		if said == "" { // otherwise it may not be sealed
			said = unexpected()
		}
		fmt.Println(said)
		_, _ = io.Copy(io.Discard, os.Stdin) // the parent inspects our threads meanwhile
		return
	}
	os.Exit(m.Run())
}

// sealed tries in a sandbox what must work and what must not, and returns what was wrong.
func sealed(file string) string {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	victim, err2 := os.CreateTemp("", "kcup-")
	if err = errors.Join(err, err2); err != nil {
		return err.Error()
	}
	client, err := net.Dial("tcp4", listener.Addr().String())
	if err != nil {
		return err.Error()
	}
	if err := EnterSandbox(&config.Config{Sandbox: "required", File: file}, logrus.New()); err != nil {
		return err.Error()
	}
	_, err = client.Write([]byte("x"))
	conn, err2 := listener.Accept()
	if err = errors.Join(err, err2); err != nil {
		return err.Error()
	}
	if _, err := conn.Read(make([]byte, 1)); err != nil {
		return err.Error()
	}
	found := make(chan string, threads)
	for range threads {
		go func() {
			runtime.LockOSThread() // each has a thread of its own, and keeps it for the parent to inspect
			found <- violations(file, victim.Name(), listener.Addr().String())
			select {}
		}()
	}
	text := ""
	for range threads {
		text += <-found
	}
	return text
}

func violations(file, victim, address string) (text string) {
	_, read := os.ReadFile("/etc/passwd")
	_, list := os.ReadDir("/")
	_, connect := net.Dial("tcp4", address)
	_, bind := net.Listen("tcp4", "127.0.0.1:0")
	_, datagram := net.ListenPacket("udp4", "127.0.0.1:0")
	_, start := os.StartProcess("/bin/true", nil, &os.ProcAttr{})
	_, local := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
	for what, err := range map[string]error{"read": read, "list": list} {
		if !errors.Is(err, fs.ErrPermission) {
			text += fmt.Sprintf("%s: %v; ", what, err)
		}
	}
	for what, err := range map[string]error{
		"connect": connect, "bind": bind, "datagram": datagram, "local": local, "start": start,
		"write": os.WriteFile(victim, nil, 0), "truncate": os.Truncate(victim, 0), "remove": os.Remove(victim),
		"chmod": os.Chmod(victim, 0o777), "chown": os.Chown(victim, 1, -1), "kill": unix.Kill(os.Getpid(), 0),
	} {
		if !errors.Is(err, unix.ENOSYS) {
			text += fmt.Sprintf("%s: %v; ", what, err)
		}
	}
	if _, err := os.ReadFile(file); err != nil && file != "" {
		text += err.Error()
	}
	return text
}

func TestTheSandboxHoldsInEveryThread(t *testing.T) {
	dir := t.TempDir()
	target, link := filepath.Join(dir, "a", "x"), filepath.Join(dir, "b", "x")
	for _, path := range []string{target, link} {
		if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.WriteFile(target, []byte("x"), 0o600), os.Symlink(target, link)); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"", target, link} {
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), asSealed+"="+file, "TMPDIR="+dir)
		child.Stderr = os.Stderr
		in, err := child.StdinPipe()
		out, err2 := child.StdoutPipe()
		if err := errors.Join(err, err2, child.Start()); err != nil {
			t.Fatal(err)
		}
		said, err := bufio.NewReader(out).ReadString('\n')
		if said != "\n" || err != nil {
			t.Errorf("%q: %s %v", file, said, err)
		}
		lookAtThreads(t, child.Process.Pid)
		_ = in.Close()
		if err := child.Wait(); err != nil {
			t.Error(err)
		}
	}
}

func lookAtThreads(t *testing.T, pid int) {
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
	if err != nil || len(tasks) <= threads {
		t.Fatal(tasks, err)
	}
	for _, task := range tasks {
		status, err := os.ReadFile(task)
		for _, line := range []string{"NoNewPrivs:\t1\n", "Seccomp:\t2\n", "CapPrm:\t0000000000000000\n"} {
			if !strings.Contains(string(status), line) {
				t.Errorf("%s: %v %s", task, err, status)
			}
		}
	}
	limits, err := os.ReadFile(fmt.Sprintf("/proc/%d/limits", pid))
	if err != nil || !coreIsOff(string(limits)) {
		t.Errorf("%s %v", limits, err)
	}
}

func coreIsOff(limits string) bool {
	for line := range strings.Lines(limits) {
		if rest, is := strings.CutPrefix(line, "Max core file size"); is {
			return strings.HasPrefix(strings.TrimSpace(rest), "0 ")
		}
	}
	return false
}

func TestWhatMayStillBeRead(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "x")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	for name, want := range map[string]string{file: dir, "x": dir, dir: "", "": "", "/dev/null": "", "nothing": ""} {
		got := reloadPaths(name)
		if want == "" && len(got) > 0 || want != "" && (len(got) != 2 || got[0] != want || got[1] != want) {
			t.Errorf("%q: %v", name, got)
		}
	}
}
