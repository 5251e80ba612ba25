// kcup healthcheck.

package ops

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"syscall"
	"time"

	"github.com/valyala/fasthttp"
	"golang.org/x/sys/unix"

	"gitlab.com/kcup/kcup/kcup-go/internal/accesslog"
	"gitlab.com/kcup/kcup/kcup-go/internal/config"
	"gitlab.com/kcup/kcup/kcup-go/internal/content"
	"gitlab.com/kcup/kcup/kcup-go/internal/server"
)

const (
	healthTimeout = 2 * time.Second
	// --header can make a response head long, but the kernel limits the length of a command line.
	longestHead = 4 << 20
)

// Health checks the server that cfg would start. An error says why it is not healthy (K-110).
func Health(cfg *config.Config) error {
	var certificate []byte
	if cfg.TLSCert != "" {
		var err error
		if certificate, err = server.FirstCertificate(cfg); err != nil {
			return err
		}
	}
	if err := ask(cfg, certificate, time.Now().Add(healthTimeout)); err != nil {
		return fmt.Errorf("unhealthy: %w", err)
	}
	return nil
}

// ask speaks TLS if it is given a certificate.
func ask(cfg *config.Config, certificate []byte, deadline time.Time) error {
	silent := fmt.Errorf("no response within %d seconds", healthTimeout/time.Second)
	name, connection, err := dial(cfg, deadline)
	if errors.Is(err, syscall.EAGAIN) || err != nil && !time.Now().Before(deadline) {
		return silent
	}
	if err != nil {
		return fmt.Errorf("cannot connect to %s: %w", name, content.Reason(err))
	}
	defer connection.Close()
	_ = connection.SetDeadline(deadline) // fails only if it is closed
	if certificate != nil {
		shaken := tls.Client(connection, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"http/1.1"}}) // it is compared
		if err = shaken.Handshake(); err == nil && !bytes.Equal(shaken.ConnectionState().PeerCertificates[0].Raw, certificate) {
			return errors.New("the certificate is not that of --tls-cert")
		}
		connection = shaken
	}
	path := cfg.Path
	if path == "" {
		path = "/"
	}
	var head fasthttp.ResponseHeader
	if err == nil {
		_, err = fmt.Fprintf(connection, "GET %s HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n", path)
	}
	if err == nil {
		err = receive(&head, connection)
	}
	switch {
	case err != nil && !time.Now().Before(deadline):
		return silent
	case err != nil:
		return errors.New("no response")
	case head.StatusCode() != int(cfg.Status):
		return fmt.Errorf("the response is %d", head.StatusCode())
	}
	return nil
}

// receive reads a head, with a large buffer only for a large head.
func receive(head *fasthttp.ResponseHeader, from io.Reader) error {
	for size := 4096; ; size *= 2 {
		reader := bufio.NewReaderSize(from, size) // from the previous reader, which has the beginning
		err := head.Read(reader)
		if tooSmall := new(*fasthttp.ErrSmallBuffer); !errors.As(err, tooSmall) || size >= longestHead {
			return err
		}
		from = reader
	}
}

// dial connects to the server, and returns its name in errors.
func dial(cfg *config.Config, deadline time.Time) (name string, connection net.Conn, err error) {
	if cfg.Unix != "" {
		connection, err = server.DialUnix(cfg.Unix, time.Until(deadline))
		return "unix:" + config.Escaped(cfg.Unix), connection, err
	}
	name = reachable(cfg).String()
	dialer := net.Dialer{Deadline: deadline}
	if at := reachable(cfg).Addr(); at.Is4() && at.IsLoopback() {
		dialer.Control = func(_, _ string, socket syscall.RawConn) error { return socket.Control(introduce) }
	}
	connection, err = dialer.Dial("tcp", name)
	return name, connection, err
}

// introduce gives a socket the address that has no line in the access log, if possible: otherwise the check is logged.
func introduce(fd uintptr) {
	_ = unix.Bind(int(fd), &unix.SockaddrInet4{Addr: accesslog.HealthCheck.As4()})
}

// reachable returns the address of a server that listens on cfg's host: "any" includes the loopback address.
func reachable(cfg *config.Config) netip.AddrPort {
	host := cfg.Host
	if host.IsUnspecified() {
		host = netip.AddrFrom4([4]byte{127, 0, 0, 1})
	}
	return netip.AddrPortFrom(host, cfg.Port)
}
