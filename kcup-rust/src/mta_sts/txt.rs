//! The TXT record that tells sending mail servers of a policy (RFC 8461 section 3.1, SPEC K-97).

use sha2::{Digest, Sha256};

use super::served;

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
