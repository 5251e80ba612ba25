//! Content that is an MTA-STS policy: what is published, and what is said of it (K-92, K-93, K-97).
//! Sibling: kcup-go/content/policy.go.

use bytes::Bytes;

use super::load::{origin, read};
use crate::config::{LogFormat, Options, Question};
use crate::mta_sts::{self, Findings};

/// So many bytes of a policy are read: one more than it may have.
pub(super) const ENOUGH: u64 = mta_sts::MAX_SIZE as u64 + 1;

/// The bytes to serve. Logs what is to be known of them.
///
/// An error has a line for each finding.
pub fn publish(policy: &[u8], from: &str) -> Result<Bytes, String> {
    sound(policy, from)?.lines().for_each(|line| log::warn!("mta-sts: {line}"));
    log::info!("mta-sts: publish {} as the TXT record of _mta-sts.DOMAIN", mta_sts::record(policy));
    let mut served = mta_sts::served(policy);
    // As after loading: with room to spare `Bytes` counts references in one way only.
    served.reserve(1);
    Ok(served.into())
}

/// What to print, and the exit status. An error is likewise K-11's or K-92's lines without `kcup: ` before them.
pub fn answer(options: &Options, question: &Question) -> Result<(String, u8), String> {
    let policy = read(options, ENOUGH, &|_| true)?.bytes;
    match question {
        Question::Lint(format) => {
            let findings = mta_sts::lint(&policy);
            let text = match format {
                LogFormat::Text => findings.lines().map(|line| line + "\n").collect(),
                LogFormat::Json => findings.json() + "\n",
            };
            Ok((text, findings.has_error.into()))
        }
        Question::Txt(domain) => {
            sound(&policy, &origin(options))?;
            let record = mta_sts::record(&policy);
            let line = domain.as_ref().map(|domain| mta_sts::zone_line(domain, &record));
            Ok((line.unwrap_or(record) + "\n", 0))
        }
    }
}

/// The findings of a policy that may be published.
fn sound(policy: &[u8], from: &str) -> Result<Findings, String> {
    let findings = mta_sts::lint(policy);
    if !findings.has_error {
        return Ok(findings);
    }
    let lines = findings.lines().map(|line| format!("cannot publish the policy from {from}: {line}"));
    Err(lines.collect::<Vec<_>>().join("\n"))
}
