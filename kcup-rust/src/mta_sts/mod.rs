//! Owns: what an MTA-STS policy is: its findings, its TXT record, a new one (RFC 8461, SPEC section 9). Pure.
//! Must not: know the server, the command line, or where a policy comes from.

mod finding;
mod host;
mod line;
mod lint;
mod policy;
mod rules;
#[cfg(test)]
mod tests;

pub use finding::{Finding, Findings};
pub use host::{domain, wrong_with};
pub use lint::lint;
pub use policy::{MAX_MAX_AGE, MAX_SIZE, MODES, Mode, policy, record, served, zone_line};
pub use rules::Severity;
