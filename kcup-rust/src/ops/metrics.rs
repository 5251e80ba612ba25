//! The text of `/metrics` (SPEC K-118): rendered from one table, so that both programs send the same bytes. Pure. See
//! docs/adr/0007. Sibling: kcup-go/ops/metrics.go.

use std::fmt::Write;

use super::process;
use crate::server::counters::{Counts, CODES, METHODS, REASONS};

/// All that is told.
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
    pub version: &'static str,
    pub implementation: &'static str,
    pub process: process::Numbers,
}

/// What stands behind a metric's name: labels in braces or nothing, and the value.
type Sample = (String, String);

/// Name, help, and samples. What ends in `_total` is a counter, all else a gauge.
type Metric = (&'static str, &'static str, fn(&Numbers) -> Vec<Sample>);

const METRICS: [Metric; 16] = [
    (
        "kcup_http_requests_total",
        "Answers begun, by method (other when the head was refused) and status code.",
        |numbers| answers(&numbers.counts),
    ),
    (
        "kcup_http_response_bytes_total",
        "Bytes of answers, heads included, that the kernel took.",
        |numbers| one(numbers.counts.bytes),
    ),
    ("kcup_connections", "Open connections: parked between requests, or hot.", |numbers| {
        let Counts { parked, .. } = numbers.counts;
        by("state", &["hot", "parked"], &[numbers.counts.open().saturating_sub(parked), parked])
    }),
    ("kcup_connections_accepted_total", "Connections accepted.", |numbers| one(numbers.counts.accepted)),
    ("kcup_connections_closed_total", "Connections closed, by reason.", |numbers| {
        by("reason", &REASONS, &numbers.counts.closed)
    }),
    (
        "kcup_access_log_lines_lost_total",
        "Lines of the access log that standard output did not take.",
        |numbers| one(numbers.lines_lost),
    ),
    ("kcup_reloads_total", "Reloads, by result.", |numbers| {
        by("result", &["ok", "failed"], &[numbers.reloads_ok, numbers.reloads_failed])
    }),
    ("kcup_content_bytes", "Size of the content, without its variants.", |numbers| one(numbers.content)),
    (
        "kcup_content_loaded_timestamp_seconds",
        "When the content was loaded, in seconds since 1970.",
        |numbers| one(numbers.loaded),
    ),
    ("kcup_build_info", "1, labelled with what runs.", |numbers| {
        let Numbers { version, implementation, .. } = numbers;
        vec![(format!("{{version=\"{version}\",implementation=\"{implementation}\"}}"), "1".into())]
    }),
    ("process_cpu_seconds_total", "User and system CPU time, in seconds.", |numbers| {
        hundredths(numbers.process.cpu)
    }),
    ("process_open_fds", "Open file descriptors.", |numbers| one(numbers.process.open_fds)),
    ("process_max_fds", "Limit on open file descriptors.", |numbers| one(numbers.process.max_fds)),
    ("process_virtual_memory_bytes", "Virtual memory, in bytes.", |numbers| {
        one(numbers.process.virtual_memory)
    }),
    ("process_resident_memory_bytes", "Resident memory, in bytes.", |numbers| {
        one(numbers.process.resident_memory)
    }),
    ("process_start_time_seconds", "When the process started, in seconds since 1970.", |numbers| {
        hundredths(numbers.process.start_time)
    }),
];

/// The whole text.
pub fn render(numbers: &Numbers) -> String {
    let mut text = String::new();
    for (name, help, samples) in METRICS {
        let kind = if name.ends_with("_total") { "counter" } else { "gauge" };
        // Writing to a String does not fail.
        _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
        for (labels, value) in samples(numbers) {
            _ = writeln!(text, "{name}{labels} {value}");
        }
    }
    text
}

fn one(value: impl ToString) -> Vec<Sample> {
    vec![(String::new(), value.to_string())]
}

fn hundredths(value: u64) -> Vec<Sample> {
    one(format!("{}.{:02}", value / 100, value % 100))
}

fn by(label: &str, names: &[&str], values: &[u64]) -> Vec<Sample> {
    let sample = |(name, value): (&&str, &u64)| (format!("{{{label}=\"{name}\"}}"), value.to_string());
    names.iter().zip(values).map(sample).collect()
}

/// Those that there were.
fn answers(counts: &Counts<u64>) -> Vec<Sample> {
    let mut samples = Vec::new();
    for (method, counts) in METHODS.iter().zip(&counts.answers) {
        for (code, count) in CODES.iter().zip(counts).filter(|(_, count)| **count > 0) {
            samples.push((format!("{{method=\"{method}\",code=\"{code}\"}}"), count.to_string()));
        }
    }
    samples
}

#[cfg(test)]
mod tests;
