//! The text of `/metrics` (K-118), which is the same in both programs. Pure. See docs/adr/0007.

use std::fmt::Write;

use super::process;
use crate::server::counters::{CODES, Counts, METHODS, REASONS};

/// The values of all metrics.
#[derive(Debug)]
pub struct Numbers {
    pub counts: Counts<u64>,
    pub lines_lost: u64,
    pub reloads_ok: u64,
    pub reloads_failed: u64,
    /// Bytes, without the variants.
    pub content: u64,
    /// Seconds since 1970.
    pub loaded: i64,
    pub tls: Option<Tls>,
    pub version: &'static str,
    pub implementation: &'static str,
    pub process: process::Numbers,
}

/// The values of the metrics `kcup_tls_*` (K-154).
#[derive(Debug)]
pub struct Tls {
    /// Seconds since 1970.
    pub expires: i64,
    /// Handshakes by their result.
    pub ok: u64,
    pub failed: u64,
    pub timeout: u64,
}

/// The text of a page.
struct Text(String);

/// Labels in braces, or nothing, and the value.
type Sample = (String, String);

impl Text {
    /// Appends a metric. A name that ends in `_total` is that of a counter, any other that of a gauge.
    fn metric(&mut self, name: &str, help: &str, samples: impl IntoIterator<Item = Sample>) {
        let kind = if name.ends_with("_total") { "counter" } else { "gauge" };
        // Writing to a String does not fail.
        _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
        for (labels, value) in samples {
            _ = writeln!(self.0, "{name}{labels} {value}");
        }
    }

    fn number(&mut self, name: &str, help: &str, value: impl ToString) {
        self.metric(name, help, [(String::new(), value.to_string())]);
    }

    fn hundredths(&mut self, name: &str, help: &str, value: u64) {
        self.number(name, help, format!("{}.{:02}", value / 100, value % 100));
    }

    fn labelled(&mut self, name: &str, help: &str, label: &str, values: &[(&str, u64)]) {
        let sample = |(of, value): &(&str, u64)| (format!("{{{label}=\"{of}\"}}"), value.to_string());
        self.metric(name, help, values.iter().map(sample));
    }
}

/// The whole page.
pub fn render(numbers: &Numbers) -> String {
    let Numbers { counts, process, version, implementation, .. } = numbers;
    let mut text = Text(String::new());
    text.metric(
        "kcup_http_requests_total",
        "Responses begun, by method (other if the head was refused) and status code.",
        requests(counts),
    );
    let help = "Bytes of responses, heads included, that the kernel accepted.";
    text.number("kcup_http_response_bytes_total", help, counts.bytes);
    let states = [("hot", counts.open().saturating_sub(counts.parked)), ("parked", counts.parked)];
    let help = "Open connections: parked between requests, or hot.";
    text.labelled("kcup_connections", help, "state", &states);
    text.number("kcup_connections_accepted_total", "Connections accepted.", counts.accepted);
    let closed = Vec::from_iter(REASONS.into_iter().zip(counts.closed));
    text.labelled("kcup_connections_closed_total", "Connections closed, by reason.", "reason", &closed);
    let help = "Lines of the access log that standard output did not accept.";
    text.number("kcup_access_log_lines_lost_total", help, numbers.lines_lost);
    let results = [("ok", numbers.reloads_ok), ("failed", numbers.reloads_failed)];
    text.labelled("kcup_reloads_total", "Reloads, by result.", "result", &results);
    text.number("kcup_content_bytes", "Size of the content, without its variants.", numbers.content);
    let help = "When the content was loaded, in seconds since 1970.";
    text.number("kcup_content_loaded_timestamp_seconds", help, numbers.loaded);
    if let Some(Tls { expires, ok, failed, timeout }) = numbers.tls {
        let help = "When the certificate expires, in seconds since 1970.";
        text.number("kcup_tls_certificate_expiry_timestamp_seconds", help, expires);
        let results = [("ok", ok), ("failed", failed), ("timeout", timeout)];
        text.labelled("kcup_tls_handshakes_total", "TLS handshakes, by result.", "result", &results);
    }
    let labels = format!("{{version=\"{version}\",implementation=\"{implementation}\"}}");
    text.metric("kcup_build_info", "1, labelled with what runs.", [(labels, "1".into())]);
    text.hundredths("process_cpu_seconds_total", "User and system CPU time, in seconds.", process.cpu);
    text.number("process_open_fds", "Open file descriptors.", process.open_fds);
    text.number("process_max_fds", "Limit on open file descriptors.", process.max_fds);
    text.number("process_virtual_memory_bytes", "Virtual memory, in bytes.", process.virtual_memory);
    text.number("process_resident_memory_bytes", "Resident memory, in bytes.", process.resident_memory);
    let help = "When the process started, in seconds since 1970.";
    text.hundredths("process_start_time_seconds", help, process.start_time);
    text.0
}

/// The counts above 0, by method and code.
fn requests(counts: &Counts<u64>) -> impl Iterator<Item = Sample> {
    METHODS.iter().zip(&counts.responses).flat_map(|(method, counts)| {
        let begun = CODES.iter().zip(counts).filter(|(_, count)| **count > 0);
        begun
            .map(move |(code, count)| (format!("{{method=\"{method}\",code=\"{code}\"}}"), count.to_string()))
    })
}

#[cfg(test)]
mod tests;
