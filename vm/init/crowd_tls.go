package main

import (
	"crypto/tls"
	"io"
	"net"
	"time"
)

// How many handshakes are under way at the same time: they are most of the work here, and fresh requests wait behind them.
const unshakenMost = 16

// assembleTLS is assemble over TLS, with a goroutine for each handshake. Peers whose handshake fails try again.
func (c *crowd) assembleTLS(count int, deadline time.Time) {
	came := make(chan *tls.Conn)
	for begun, unsettled := 0, 0; c.opened < count && time.Now().Before(deadline) || unsettled > 0; c.turn(0) {
		for ; begun < count && unsettled < unshakenMost && time.Now().Before(deadline) && !c.server.dead(); begun++ {
			unsettled++
			go func() { came <- c.shake(time.Until(deadline)) }()
		}
		select {
		case connection := <-came:
			unsettled--
			if connection == nil {
				begun--
			} else {
				c.opened++
				c.keep(connection)
			}
		case <-time.After(10 * time.Millisecond):
			if unsettled == 0 && c.server.dead() {
				return
			}
		}
	}
}

// shake returns a connection on which a peer has done its part, or nil.
func (c *crowd) shake(within time.Duration) *tls.Conn {
	connection, err := dial("tls", c.server.addr, within)
	if err != nil {
		return nil
	}
	if _, err = connection.Write(c.request); err == nil {
		_, err = io.ReadFull(connection, make([]byte, c.await))
	}
	if err != nil {
		connection.Close()
		return nil
	}
	return connection.(*tls.Conn)
}

// keep watches for the end of a connection.
func (c *crowd) keep(connection *tls.Conn) {
	raw, err := connection.NetConn().(*net.TCPConn).SyscallConn()
	if err == nil {
		err = raw.Control(func(fd uintptr) { c.add(&peer{fd: int(fd), tls: connection, settled: true}, 0) })
	}
	if err != nil {
		panic(err)
	}
}
