//! A policy: a new one, the bytes to serve, and the TXT record (RFC 8461 sections 3.1 and 3.2, K-97 and K-98).

use sha2::{Digest, Sha256};

use super::rules::Rule;

/// RFC 8461 section 3.3: sending mail servers may stop reading after 64 KiB.
pub const MAX_SIZE: usize = 65_536;
/// RFC 8461 section 3.2: the greatest `max_age`, in seconds; a year and a day.
pub const MAX_MAX_AGE: u32 = 31_557_600;

/// The modes by their names.
pub const MODES: [(&str, Mode); 3] =
    [("enforce", Mode::Enforce), ("testing", Mode::Testing), ("none", Mode::None)];

/// What a sending mail server does if a host fails validation (RFC 8461 section 5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    Enforce,
    Testing,
    None,
}

impl Mode {
    pub(super) fn of(name: &[u8]) -> Option<Mode> {
        MODES.into_iter().find(|(known, _)| known.as_bytes() == name).map(|(_, mode)| mode)
    }

    fn name(self) -> &'static str {
        MODES.into_iter().find(|(_, mode)| *mode == self).map_or("", |(name, _)| name)
    }
}

/// Makes a policy with CRLF line ends, of hosts that `wrong_with` accepts and a `max_age` of at most `MAX_MAX_AGE` seconds.
pub fn policy(mode: Mode, hosts: &[String], max_age: u32) -> Result<String, &'static str> {
    let mut policy = format!("version: STSv1\r\nmode: {}\r\n", mode.name());
    for host in hosts {
        policy.extend(["mx: ", host, "\r\n"]);
    }
    policy.push_str(&format!("max_age: {max_age}\r\n"));
    match policy.len() {
        ..=MAX_SIZE => Ok(policy),
        _ => Err(Rule::SizeOver.row().message),
    }
}

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

/// `v=STSv1; id=…;`, with the same id for a policy whatever its line ends, and another when anything else changes.
pub fn record(policy: &[u8]) -> String {
    // 32 characters are the most that an id may have.
    let digest = &Sha256::digest(served(policy))[..16];
    let id: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("v=STSv1; id={id};")
}

/// The record as a line of a zone file, for a domain as `domain` returns it.
pub fn zone_line(domain: &str, record: &str) -> String {
    format!("_mta-sts.{domain}. IN TXT \"{record}\"")
}
