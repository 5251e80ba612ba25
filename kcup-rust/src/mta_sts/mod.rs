//! Owns: what an MTA-STS policy is: its findings, its TXT record, a new one (RFC 8461, SPEC section 9). Pure.
//! Must not: know the server, the command line, or where a policy comes from.
//! Sibling: kcup-go/mtasts/mtasts.go

mod finding;
mod host;
mod line;
mod lint;
mod new;
mod rules;
#[cfg(test)]
mod tests;
mod txt;

pub use finding::{Finding, Findings};
pub use host::{domain, wrong_with};
pub use lint::{lint, MAX_SIZE};
pub use new::{policy, Mode, MAX_MAX_AGE, MODES};
pub use rules::Severity;
pub use txt::{record, zone_line};

/// The bytes to serve: a line end of LF alone becomes CRLF (RFC 8461 section 3.2 has both).
pub fn served(policy: &[u8]) -> Vec<u8> {
    let mut served = Vec::with_capacity(policy.len());
    for &byte in policy {
        if byte == b'\n' && served.last() != Some(&b'\r') {
            served.push(b'\r');
        }
        served.push(byte);
    }
    served
}
