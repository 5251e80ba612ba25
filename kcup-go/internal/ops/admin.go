// The listener of --admin (K-115 to K-117).

package ops

import (
	"io"
	"log"
	"net"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/valyala/fasthttp"

	"gitlab.com/kcup/kcup/kcup-go/internal/accesslog"
	"gitlab.com/kcup/kcup/kcup-go/internal/config"
	"gitlab.com/kcup/kcup/kcup-go/internal/server"
	"gitlab.com/kcup/kcup/kcup-go/internal/server/guard"
)

const (
	adminGrace  = 50 * time.Millisecond  // the least time of a connection before it makes room
	adminLimit  = 10 * time.Second       // for a request, and for its response
	adminPause  = 100 * time.Millisecond // in accepting, when the system is out of a resource
	plainText   = "text/plain; charset=utf-8"
	metricsText = "text/plain; version=0.0.4; charset=utf-8"
)

// Admin serves health checks and metrics with fasthttp: a goroutine for each connection, which serves one request.
type Admin struct {
	listener net.Listener // nil without --admin
	process  *Process
	version  string
	server   *server.Server
	reloads  *Reloads
	access   *accesslog.Log
}

// NewAdmin opens everything, and accepts nothing yet.
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

// Serve accepts connections from now on, until the process ends.
func (a *Admin) Serve(version string, s *server.Server, reloads *Reloads, access *accesslog.Log, log *logrus.Logger) {
	if a.listener == nil {
		return
	}
	a.version, a.server, a.reloads, a.access = version, s, reloads, access
	log.Infof("admin listening on http://%s/", a.listener.Addr())
	go a.accept()
}

func (a *Admin) accept() {
	http := &fasthttp.Server{
		Handler: a.respond, DisableKeepalive: true, ReadTimeout: adminLimit, WriteTimeout: adminLimit,
		ReadBufferSize: guard.MaxHead, MaxRequestBodySize: guard.MaxHead, NoDefaultServerHeader: true,
		Logger: log.New(io.Discard, "", 0),
	}
	var open []*adminConnection // in the order in which they were accepted
	for {
		socket, err := a.listener.Accept()
		if err != nil {
			time.Sleep(adminPause) // descriptors or memory are short for now
			continue
		}
		c := &adminConnection{TCPConn: socket.(*net.TCPConn), since: time.Now()}
		open = append(makeRoom(open), c)
		go http.ServeConn(c) // a client that is gone or too slow is not worth a log line
	}
}

// adminConnection is a connection, and when it was accepted.
type adminConnection struct {
	*net.TCPConn
	since time.Time
	over  atomic.Bool
}

// Close stops counting the connection before the client can know that it has ended.
func (c *adminConnection) Close() error {
	c.over.Store(true)
	return c.TCPConn.Close()
}

func (c *adminConnection) isOver() bool { return c.over.Load() }

// makeRoom ends the oldest connection if as many are open as allowed. It has had time for its request: what has arrived
// by then is read, and gets its response.
func makeRoom(open []*adminConnection) []*adminConnection {
	open = slices.DeleteFunc(open, (*adminConnection).isOver)
	if len(open) < server.AdminConnections {
		return open
	}
	time.Sleep(time.Until(open[0].since.Add(adminGrace)))
	open = slices.DeleteFunc(open, (*adminConnection).isOver)
	if len(open) == server.AdminConnections {
		for _ = open[0].CloseRead(); !open[0].isOver(); {
			time.Sleep(time.Millisecond)
		}
		open = open[1:]
	}
	return open
}

func (a *Admin) respond(request *fasthttp.RequestCtx) {
	path := ""
	if request.IsGet() || request.IsHead() {
		path = string(request.URI().PathOriginal())
	}
	status, mediaType, body := a.resource(path)
	request.SetStatusCode(status)
	request.SetContentType(mediaType)
	request.SetBodyString(body)
}

func (a *Admin) resource(path string) (status int, mediaType, body string) {
	switch path {
	case "/healthz":
		return fasthttp.StatusOK, plainText, "ok"
	case "/readyz":
		if a.server.Draining() {
			return fasthttp.StatusServiceUnavailable, plainText, "draining"
		}
		return fasthttp.StatusOK, plainText, "ready"
	case "/metrics":
		numbers := a.numbers()
		return fasthttp.StatusOK, metricsText, string(numbers.AppendText(nil))
	}
	return fasthttp.StatusNotFound, plainText, "No such resource"
}

func (a *Admin) numbers() Numbers {
	c := a.server.Content()
	var ofTLS *TLSNumbers
	if t := a.server.TLS(); t != nil {
		ofTLS = &TLSNumbers{uint64(t.Certificate().Expires()), t.OK.Load(), t.Failed.Load(), t.Timeout.Load()}
	}
	return Numbers{
		Version: a.version, Implementation: "go", Counters: a.server.Counters(), LinesLost: a.access.Lost(),
		ReloadsOK: a.reloads.OK.Load(), ReloadsFailed: a.reloads.Failed.Load(),
		ContentBytes: uint64(len(c.Bytes)), ContentLoaded: uint64(c.Loaded), TLS: ofTLS, Usage: a.process.Usage(),
	}
}
