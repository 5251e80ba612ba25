package server

import (
	"net/netip"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"gitlab.com/kcup/kcup/kcup-go/internal/accesslog"
	"gitlab.com/kcup/kcup/kcup-go/internal/config"
	"gitlab.com/kcup/kcup/kcup-go/internal/respond"
	"gitlab.com/kcup/kcup/kcup-go/internal/server/guard"
)

// acquainted returns a worker with one connection, and its other end.
func acquainted(t *testing.T, access *accesslog.Log) (w *worker, slot int32, other int) {
	s := &common{}
	s.current.replace(newPipeline().responses)
	w = &worker{common: s, phases: newPhases(), lines: access.Lines(), peers: []netip.Addr{{}}, in: make([]byte, guard.MaxHead+2+readSize)}
	w.clock.Set(1767225600)
	slot, other = another(t, w)
	return w, slot, other
}

// another returns one more connection of it.
func another(t *testing.T, w *worker) (slot int32, other int) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK, 0)
	if err == nil {
		err = setLimits(pair[0])
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(pair[1]) })
	return w.add(int32(pair[0]), 1).slot, pair[1]
}

func TestAnAnswerIsCountedAndNothingIsAllocated(t *testing.T) {
	head := []byte("HEAD /a HTTP/1.1\r\nHost: a\r\n\r\n")
	for _, access := range []*accesslog.Log{nil, accesslog.New(&config.Config{AccessLog: "json"}, accesslog.NewStream(nil, 1))} {
		w, slot, other := acquainted(t, access)
		buffer := make([]byte, readSize)
		respondOnce := func() {
			var g guard.Guard
			g.Scan(head)
			w.respond(w.at(slot), &g, head, 0)
			_, _ = recv(int32(other), buffer)
		}
		respondOnce()
		length := w.counters.Bytes
		const enough = 20000 // nothing writes the log's lines: by then its buffers do not grow any more
		for range enough {
			respondOnce()
		}
		if allocated := testing.AllocsPerRun(100, respondOnce); allocated > 0 {
			t.Errorf("%v allocations", allocated)
		}
		const responses = 1 + enough + 1 + 100
		if n := w.counters.Responses[respond.Head][0]; n != responses || w.counters.Bytes != responses*length || length < 100 {
			t.Errorf("%d responses, %d bytes of %d", n, w.counters.Bytes, length)
		}
	}
}

func later(w *worker) {
	w.now += 100
	w.account.at(w.now)
	w.expire()
}

// K-119: why a connection ended is what was decided first.
func TestReasonsOfTheEnd(t *testing.T) {
	for want, end := range map[reason]func(w *worker, slot int32, other int){
		peerGone: func(w *worker, slot int32, other int) { _ = unix.Shutdown(other, unix.SHUT_WR); w.input(w.at(slot)) },
		answered: func(w *worker, slot int32, other int) {
			_, _ = unix.Write(other, []byte("GET / HTTP/1.0\r\n\r\n"))
			w.input(w.at(slot))
			_ = unix.Shutdown(other, unix.SHUT_WR)
			w.input(w.at(slot))
			later(w) // it has not read the response
			later(w)
		},
		refused: func(w *worker, slot int32, other int) {
			_, _ = unix.Write(other, []byte(strings.Repeat("x", 2*guard.MaxHead)))
			w.input(w.at(slot))
			for range 5 {
				w.input(w.at(slot))
			}
			later(w)
			later(w)
		},
		headerTimeout: func(w *worker, slot int32, other int) {
			_, _ = unix.Write(other, []byte("GET"))
			w.input(w.at(slot))
			later(w)
		},
		idleTimeout: func(w *worker, slot int32, other int) { later(w) },
		writeTimeout: func(w *worker, slot int32, other int) {
			w.out = make([]byte, 1<<22)
			w.send(w.at(slot), w.responses(), nil, stays)
			for range 20 {
				w.now += 5
				w.expire()
			}
		},
		evicted: func(w *worker, slot int32, other int) { w.evict(false) },
		drained: func(w *worker, slot int32, other int) { w.drain(); later(w) },
	} {
		w, slot, other := acquainted(t, nil)
		w.limits, w.stall = limits{idle: 50, inHead: 50, writing: 4, lingering: 50}, 50
		w.heldMost.Store(1 << 20)
		end(w, slot, other)
		if w.counters.Closed[want] != 1 || w.open != 0 {
			t.Errorf("not %s: %v, %d open", Reasons[want], w.counters.Closed, w.open)
		}
	}
}
