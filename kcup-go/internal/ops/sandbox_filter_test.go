package ops

import (
	"fmt"
	"os"
	"reflect"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"gitlab.com/kcup/kcup/kcup-go/conformance"
)

func TestWhatIsLeftIsWhatTheVectorsSay(t *testing.T) {
	type call struct {
		X86_64, Aarch64       *uint32
		Argument, Mask, Value *uint32
		TLS                   bool
	}
	for _, tls := range []bool{false, true} {
		want := map[uint32][]where{}
		for _, row := range conformance.Vectors[call](t, "system_calls", "call") {
			number := row.X86_64
			if runtime.GOARCH == "arm64" {
				number = row.Aarch64
			}
			if number == nil || row.TLS && !tls {
				continue
			}
			if row.Argument == nil {
				want[*number] = nil
				continue
			}
			value := uint32(os.Getpid())
			if row.Value != nil {
				value = *row.Value
			}
			want[*number] = append(want[*number], where{*row.Argument, *row.Mask, value})
		}
		if got := calls(tls); !reflect.DeepEqual(got, want) {
			t.Errorf("%v: %v, want %v", tls, got, want)
		}
	}
}

// unexpected tries every call in a sealed process, and returns those that exist and should not, or the other way round.
func unexpected() (text string) {
	left := calls(false)
	for call := range uint32(1024) {
		// amd64's uretprobe and uprobe are the kernel's own: it exempts them from any filter, and kills the caller.
		if _, is := left[call]; !is && call != 335 && call != 336 && !isMissing(call, 0, allBits) {
			text += fmt.Sprintf("%d is there; ", call)
		}
	}
	for _, part := range partCalls {
		if !isMissing(part.call, part.where.argument, part.where.value^part.where.mask) {
			text += fmt.Sprintf("all of %d is there; ", part.call)
		}
		if isMissing(part.call, part.where.argument, part.where.value) {
			text += fmt.Sprintf("%d is not there; ", part.call)
		}
	}
	for _, call := range wholeCalls {
		switch call {
		case unix.SYS_EXIT, unix.SYS_EXIT_GROUP, unix.SYS_RT_SIGRETURN: // they never return
		case unix.SYS_FUTEX: // it returns ENOSYS for unknown operations itself
		default:
			if isMissing(call, 0, allBits) {
				text += fmt.Sprintf("%d is not there; ", call)
			}
		}
	}
	return text
}

// isMissing reports whether a call does not exist. These arguments have no effect if it does.
func isMissing(call, argument, value uint32) bool {
	all := ^uintptr(0)
	a := [6]uintptr{all, all, all, all, all, all}
	a[argument] = uintptr(value)
	_, _, errno := unix.RawSyscall6(uintptr(call), a[0], a[1], a[2], a[3], a[4], a[5])
	return errno == unix.ENOSYS
}
