package ops

import (
	"os"
	"testing"
	"time"
)

func TestNobodyReadingDelaysTheEndBriefly(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	s := NewStream(write)
	start := time.Now()
	for range 2 * streamLines {
		_, _ = s.Write(make([]byte, 4096))
	}
	s.Settle()
	_, _ = s.Write([]byte("after the end\n")) // whoever still logs must not panic
	if took := time.Since(start); took > 5*settleTimeout {
		t.Errorf("%v", took)
	}
}
