// kcup healthcheck.

package ops

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"syscall"
	"time"

	"github.com/valyala/fasthttp"

	"gitlab.com/kcup/kcup/kcup-go/internal/config"
	"gitlab.com/kcup/kcup/kcup-go/internal/content"
	"gitlab.com/kcup/kcup/kcup-go/internal/server"
)

const (
	healthTimeout = 2 * time.Second
	// --header can make a head large, but the kernel bounds what a command line holds.
	longestHead = 4 << 20
)

// Health asks the server that cfg would make; an error says why it is not healthy (K-110).
func Health(cfg *config.Config) error {
	if err := ask(cfg, time.Now().Add(healthTimeout)); err != nil {
		return fmt.Errorf("unhealthy: %w", err)
	}
	return nil
}

func ask(cfg *config.Config, deadline time.Time) error {
	silent := fmt.Errorf("no response within %d seconds", healthTimeout/time.Second)
	name, connection, err := dial(cfg, deadline)
	if errors.Is(err, syscall.EAGAIN) || err != nil && !time.Now().Before(deadline) {
		return silent
	}
	if err != nil {
		return fmt.Errorf("cannot connect to %s: %w", name, content.Reason(err))
	}
	defer connection.Close()
	_ = connection.SetDeadline(deadline) // only a closed one has none
	path := cfg.Path
	if path == "" {
		path = "/"
	}
	var head fasthttp.ResponseHeader
	_, err = fmt.Fprintf(connection, "GET %s HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n", path)
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

// receive reads a head, and needs a large buffer for none but a large one.
func receive(head *fasthttp.ResponseHeader, from io.Reader) error {
	for size := 4096; ; size *= 2 {
		reader := bufio.NewReaderSize(from, size) // from the one before, which has the beginning
		err := head.Read(reader)
		if tooSmall := new(*fasthttp.ErrSmallBuffer); !errors.As(err, tooSmall) || size >= longestHead {
			return err
		}
		from = reader
	}
}

// dial connects to the server, and says what it is called.
func dial(cfg *config.Config, deadline time.Time) (name string, connection net.Conn, err error) {
	if cfg.Unix != "" {
		connection, err = server.DialUnix(cfg.Unix, time.Until(deadline))
		return "unix:" + config.Escaped(cfg.Unix), connection, err
	}
	name = reachable(cfg).String()
	connection, err = (&net.Dialer{Deadline: deadline}).Dial("tcp", name)
	return name, connection, err
}

// reachable is where a server is that listens on cfg's host: "any" means this one.
func reachable(cfg *config.Config) netip.AddrPort {
	host := cfg.Host
	switch {
	case host == netip.IPv4Unspecified():
		host = netip.AddrFrom4([4]byte{127, 0, 0, 1})
	case host == netip.IPv6Unspecified():
		host = netip.IPv6Loopback()
	}
	return netip.AddrPortFrom(host, cfg.Port)
}
