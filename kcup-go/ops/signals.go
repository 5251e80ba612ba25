package ops

import (
	"os"
	"os/signal"
	"syscall"
)

// Signals delivers what ends us: SIGTERM from a supervisor, SIGINT from a terminal. As process 1 we would not
// even be ended by them.
func Signals() <-chan os.Signal {
	// A write to a closed standard output or error would kill the process; now it is an error like any other.
	signal.Ignore(syscall.SIGPIPE)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	return signals
}
