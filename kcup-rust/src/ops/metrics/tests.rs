//! The vectors that both programs have.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::*;
use crate::conformance;

#[derive(Deserialize)]
struct Case {
    name: String,
    version: String,
    implementation: String,
    responses: Vec<(String, u16, u64)>,
    response_bytes: u64,
    hot: u64,
    parked: u64,
    accepted: u64,
    closed: BTreeMap<String, u64>,
    lines_lost: u64,
    reloads_ok: u64,
    reloads_failed: u64,
    content_bytes: u64,
    content_loaded: i64,
    tls: Option<Tls>,
    cpu: u64,
    open_fds: u64,
    max_fds: u64,
    virtual_memory: u64,
    resident_memory: u64,
    start_time: u64,
    text: String,
}

#[derive(Deserialize)]
struct Tls {
    certificate_expiry: i64,
    handshakes_ok: u64,
    handshakes_failed: u64,
    handshakes_timeout: u64,
}

impl Case {
    fn counts(&self) -> Counts<u64> {
        let mut counts = Counts {
            bytes: self.response_bytes,
            accepted: self.accepted,
            closed: REASONS.map(|reason| self.closed[reason]),
            parked: self.parked,
            ..Counts::default()
        };
        let place = |method: &str, code| {
            let method = METHODS.iter().position(|name| *name == method)?;
            Some((method, CODES.iter().position(|known| *known == code)?))
        };
        for (method, code, count) in &self.responses {
            let (method, code) = place(method, *code).unwrap();
            counts.responses[method][code] = *count;
        }
        counts
    }

    fn numbers(&self) -> Numbers {
        Numbers {
            counts: self.counts(),
            lines_lost: self.lines_lost,
            reloads_ok: self.reloads_ok,
            reloads_failed: self.reloads_failed,
            content: self.content_bytes,
            loaded: self.content_loaded,
            tls: self.tls.as_ref().map(|tls| super::Tls {
                expires: tls.certificate_expiry,
                ok: tls.handshakes_ok,
                failed: tls.handshakes_failed,
                timeout: tls.handshakes_timeout,
            }),
            version: self.version.clone().leak(),
            implementation: self.implementation.clone().leak(),
            process: process::Numbers {
                cpu: self.cpu,
                open_fds: self.open_fds,
                max_fds: self.max_fds,
                virtual_memory: self.virtual_memory,
                resident_memory: self.resident_memory,
                start_time: self.start_time,
            },
        }
    }
}

#[test]
fn the_text_is_that_of_the_vectors() {
    for case in conformance::cases::<Case>("metrics") {
        let numbers = case.numbers();
        assert_eq!(numbers.counts.open() - numbers.counts.parked, case.hot, "{}", case.name);
        assert_eq!(render(&numbers), case.text, "{}", case.name);
    }
}
