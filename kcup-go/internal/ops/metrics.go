// The text of /metrics (K-118), which is the same in both programs. Pure. See docs/adr/0007.

package ops

import (
	"fmt"
	"slices"
	"strconv"

	"gitlab.com/kcup/kcup/kcup-go/internal/respond"
	"gitlab.com/kcup/kcup/kcup-go/internal/server"
)

// Numbers are the values of all metrics.
type Numbers struct {
	Version, Implementation string
	server.Counters
	LinesLost                   uint64
	ReloadsOK, ReloadsFailed    uint64
	ContentBytes, ContentLoaded uint64
	TLS                         *TLSNumbers // nil without it
	Usage
}

// TLSNumbers are those that there are only with TLS (K-154).
type TLSNumbers struct{ Expires, OK, Failed, Timeout uint64 }

// metric is a row of the table in K-118, with its samples.
type metric struct {
	name, kind, help string
	samples          []sample
}

type sample struct{ labels, value string }

func (n *Numbers) table() []metric {
	return slices.Concat([]metric{
		{"kcup_http_requests_total", "counter", "Responses begun, by method (other if the head was refused) and status code.", n.responses()},
		{"kcup_http_response_bytes_total", "counter", "Bytes of responses, heads included, that the kernel accepted.", only(n.Bytes)},
		{"kcup_connections", "gauge", "Open connections: parked between requests, or hot.", by("state", []string{"hot", "parked"}, n.Hot, n.Parked)},
		{"kcup_connections_accepted_total", "counter", "Connections accepted.", only(n.Accepted)},
		{"kcup_connections_closed_total", "counter", "Connections closed, by reason.", by("reason", server.Reasons[:], n.Closed[:]...)},
		{"kcup_access_log_lines_lost_total", "counter", "Lines of the access log that standard output did not accept.", only(n.LinesLost)},
		{"kcup_reloads_total", "counter", "Reloads, by result.", by("result", []string{"ok", "failed"}, n.ReloadsOK, n.ReloadsFailed)},
		{"kcup_content_bytes", "gauge", "Size of the content, without its variants.", only(n.ContentBytes)},
		{"kcup_content_loaded_timestamp_seconds", "gauge", "When the content was loaded, in seconds since 1970.", only(n.ContentLoaded)},
	}, n.TLS.table(), []metric{
		{"kcup_build_info", "gauge", "1, labelled with what runs.", []sample{{fmt.Sprintf(`{version="%s",implementation="%s"}`, n.Version, n.Implementation), "1"}}},
		{"process_cpu_seconds_total", "counter", "User and system CPU time, in seconds.", hundredths(n.CPU)},
		{"process_open_fds", "gauge", "Open file descriptors.", only(n.OpenFDs)},
		{"process_max_fds", "gauge", "Limit on open file descriptors.", only(n.MaxFDs)},
		{"process_virtual_memory_bytes", "gauge", "Virtual memory, in bytes.", only(n.VirtualMemory)},
		{"process_resident_memory_bytes", "gauge", "Resident memory, in bytes.", only(n.ResidentMemory)},
		{"process_start_time_seconds", "gauge", "When the process started, in seconds since 1970.", hundredths(n.StartTime)},
	})
}

func (n *TLSNumbers) table() []metric {
	if n == nil {
		return nil
	}
	return []metric{
		{"kcup_tls_certificate_expiry_timestamp_seconds", "gauge", "When the certificate expires, in seconds since 1970.", only(n.Expires)},
		{"kcup_tls_handshakes_total", "counter", "TLS handshakes, by result.", by("result", []string{"ok", "failed", "timeout"}, n.OK, n.Failed, n.Timeout)},
	}
}

// AppendText renders the whole page in Prometheus' text format 0.0.4.
func (n *Numbers) AppendText(b []byte) []byte {
	for _, m := range n.table() {
		b = fmt.Appendf(b, "# HELP %s %s\n# TYPE %s %s\n", m.name, m.help, m.name, m.kind)
		for _, s := range m.samples {
			b = fmt.Appendf(b, "%s%s %s\n", m.name, s.labels, s.value)
		}
	}
	return b
}

// responses has one series for each method and status seen.
func (n *Numbers) responses() (samples []sample) {
	for method, name := range [respond.Methods]string{"GET", "HEAD", "other"} {
		for i, count := range n.Responses[method] {
			if count > 0 {
				labels := fmt.Sprintf(`{method="%s",code="%d"}`, name, respond.Statuses[i])
				samples = append(samples, sample{labels, decimal(count)})
			}
		}
	}
	return samples
}

func only(value uint64) []sample { return []sample{{"", decimal(value)}} }

func by(label string, names []string, values ...uint64) (samples []sample) {
	for i, value := range values {
		samples = append(samples, sample{fmt.Sprintf(`{%s="%s"}`, label, names[i]), decimal(value)})
	}
	return samples
}

func decimal(value uint64) string { return strconv.FormatUint(value, 10) }

func hundredths(value uint64) []sample {
	return []sample{{"", fmt.Sprintf("%d.%02d", value/100, value%100)}}
}
