package ops

import (
	"os"
	"os/signal"
	"syscall"
)

// Signals delivers what ends us: SIGTERM from a supervisor, SIGINT and SIGQUIT from a terminal. As process 1 we would not
// even be ended by them. SIGUSR1, SIGUSR2 and SIGALRM are nothing to Go.
func Signals() <-chan os.Signal {
	// A write to a closed standard output or error would kill the process; now it is an error like any other.
	signal.Ignore(syscall.SIGPIPE)
	// Nor is a hangup the end; until somebody asks for hangups it is nothing (K-100).
	signal.Ignore(syscall.SIGHUP)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGQUIT)
	return signals
}

// hangups delivers SIGHUP. However many come while one is dealt with, they are one (K-100).
func hangups() <-chan os.Signal {
	one := make(chan os.Signal, 1)
	signal.Notify(one, syscall.SIGHUP)
	return one
}
