// The listener of --admin (K-115 to K-117). Sibling: kcup-rust/src/ops/admin.rs

package ops

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"

	"kcup/config"
	"kcup/content"
	"kcup/ops/accesslog"
	"kcup/respond"
	"kcup/server"
	"kcup/server/guard"
)

const (
	adminGrace         = 50 * time.Millisecond
	adminHeadTimeout   = 10 * time.Second
	adminPause         = 100 * time.Millisecond
	adminLingerTimeout = time.Second
	adminLingerMost    = 65536
	plainText          = "text/plain; charset=utf-8"
	metricsText        = "text/plain; version=0.0.4; charset=utf-8"
)

// Admin answers for our health and our numbers. It has little to do and does it in the plainest way: a goroutine for
// each connection, which is good for one request.
type Admin struct {
	listener net.Listener // nil: nobody asked for it
	process  *Process
	version  string
	server   *server.Server
	reloads  *Reloads
	access   *accesslog.Log
}

// NewAdmin opens what Serve needs; nothing is accepted before that.
func NewAdmin(cfg *config.Config) (*Admin, error) {
	if !cfg.Admin.IsValid() {
		return &Admin{}, nil
	}
	fd, at, err := server.Listen(cfg.Admin.Addr(), cfg.Admin.Port())
	if err != nil {
		return nil, err
	}
	file := os.NewFile(uintptr(fd), at.String())
	defer file.Close()
	listener, err := net.FileListener(file)
	return &Admin{listener: listener, process: OpenProcess()}, err
}

// Serve answers from now on, until the end of the process.
func (a *Admin) Serve(version string, s *server.Server, reloads *Reloads, access *accesslog.Log, log *logrus.Logger) {
	if a.listener == nil {
		return
	}
	a.version, a.server, a.reloads, a.access = version, s, reloads, access
	log.Infof("admin listening on http://%s/", a.listener.Addr())
	go a.accept()
}

func (a *Admin) accept() {
	room := make(chan struct{}, server.AdminConnections)
	var open []*adminConn // in the order in which they came
	for {
		conn, err := a.listener.Accept()
		if err != nil {
			time.Sleep(adminPause) // for want of descriptors or memory, which others give back
			continue
		}
		c := &adminConn{TCPConn: conn.(*net.TCPConn), came: time.Now()}
		open = append(slices.DeleteFunc(open, (*adminConn).isOver), c)
		select {
		case room <- struct{}{}:
		default:
			open = dismiss(open)
			room <- struct{}{}
		}
		go func() {
			a.converse(c)
			<-room // first: who has a place is in the list, so there is somebody to dismiss
			c.over.Store(true)
		}()
	}
}

// adminConn is a connection, and how far it has come.
type adminConn struct {
	*net.TCPConn
	came           time.Time
	answered, over atomic.Bool
}

func (c *adminConn) isAnswered() bool { return c.answered.Load() }
func (c *adminConn) isOver() bool     { return c.over.Load() }

// dismiss sends one away: one that has its answer, else the oldest, when that has had the time to ask. What it has sent
// until then is read, and answered.
func dismiss(open []*adminConn) []*adminConn {
	i := slices.IndexFunc(open, (*adminConn).isAnswered)
	if i < 0 {
		i = 0
		time.Sleep(time.Until(open[0].came.Add(adminGrace)))
	}
	_ = open[i].CloseRead()
	return slices.Delete(open, i, i+1)
}

// converse reads one request head, answers it, and closes as K-72 has it.
func (a *Admin) converse(conn *adminConn) {
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(adminHeadTimeout))
	var g guard.Guard
	var answer []byte
	switch head, verdict := readHead(conn, &g); verdict {
	case guard.Partial:
		return
	case guard.Refused:
		answer = failure(g.Status, true)
	default:
		answer = a.answer(head[g.Skip:g.FirstField])
	}
	_, err := conn.Write(answer)
	conn.answered.Store(true)
	if err != nil || conn.CloseWrite() != nil {
		return
	}
	_ = conn.SetDeadline(time.Now().Add(adminLingerTimeout))
	_, _ = io.CopyN(io.Discard, conn, adminLingerMost)
}

// readHead reads until the guard has decided, or the peer or its time is at its end.
func readHead(conn io.Reader, g *guard.Guard) (b []byte, verdict guard.Verdict) {
	var part [1024]byte
	for verdict == guard.Partial {
		n, err := conn.Read(part[:])
		b = append(b, part[:n]...)
		if verdict = g.Scan(b); verdict == guard.Partial && err != nil {
			break
		}
	}
	return b, verdict
}

// answer is the answer to a request line that the guard let through.
func (a *Admin) answer(line []byte) []byte {
	words := bytes.Fields(line)
	method := string(words[0])
	status, kind, body := a.resource(string(words[1]))
	if status == "" || method != "GET" && method != "HEAD" {
		return failure(404, method != "HEAD")
	}
	b := fmt.Appendf(nil, "HTTP/1.1 %s\r\ncontent-type: %s\r\ncontent-length: %d\r\ndate: ", status, kind, len(body))
	b = append(content.AppendDate(b, time.Now().Unix()), "\r\nconnection: close\r\n\r\n"...)
	if method == "GET" {
		b = append(b, body...)
	}
	return b
}

// resource is what a target names; without a status it is nothing.
func (a *Admin) resource(target string) (status, kind, body string) {
	switch target {
	case "/healthz":
		return "200 OK", plainText, "ok"
	case "/readyz":
		if a.server.Draining() {
			return "503 Service Unavailable", plainText, "draining"
		}
		return "200 OK", plainText, "ready"
	case "/metrics":
		numbers := a.numbers()
		return "200 OK", metricsText, string(numbers.AppendText(nil))
	}
	return "", "", ""
}

func (a *Admin) numbers() Numbers {
	c := a.server.Content()
	return Numbers{
		Version: a.version, Implementation: "go", Counters: a.server.Counters(), LinesLost: a.access.Lost(),
		ReloadsOK: a.reloads.OK.Load(), ReloadsFailed: a.reloads.Failed.Load(),
		ContentBytes: uint64(len(c.Bytes)), ContentLoaded: uint64(c.Loaded), Usage: a.process.Usage(),
	}
}

// failure is an answer as the server gives it, too (K-36).
func failure(status uint16, whole bool) []byte {
	var clock respond.Clock
	clock.Set(time.Now().Unix())
	choice := respond.Choice{Status: status}
	b := choice.AppendHead(nil, nil, &clock, respond.Close)
	if whole {
		b = append(b, choice.Body(nil)...)
	}
	return b
}
