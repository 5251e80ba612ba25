//! Content that is an MTA-STS policy: what is published, and what is said of it (K-92, K-93, K-97).
//! Sibling: kcup-go/content/policy.go.

use bytes::Bytes;

use super::load::{origin, read};
use crate::config::{LogFormat, Options, Question};
use crate::mta_sts::{self, Finding};

/// The bytes to serve. Logs what is to be known of them.
///
/// An error has a line for each finding.
pub fn publish(policy: &[u8], from: &str) -> Result<Bytes, String> {
    for finding in sound(policy, from)? {
        log::warn!("mta-sts: {finding}");
    }
    log::info!("mta-sts: publish {} as the TXT record of _mta-sts.DOMAIN", mta_sts::record(policy));
    let mut served = mta_sts::served(policy);
    // As after loading: with room to spare `Bytes` counts references in one way only.
    served.reserve(1);
    Ok(served.into())
}

/// What to print, and the exit status. An error is likewise K-11's or K-92's lines without `kcup: ` before them.
pub fn answer(options: &Options, question: &Question) -> Result<(String, u8), String> {
    let policy = read(options)?.bytes;
    match question {
        Question::Lint(format) => {
            let findings = mta_sts::lint(&policy);
            let text = match format {
                LogFormat::Text => findings.iter().map(|finding| format!("{finding}\n")).collect(),
                LogFormat::Json => mta_sts::json(&findings) + "\n",
            };
            Ok((text, mta_sts::has_error(&findings).into()))
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
fn sound(policy: &[u8], from: &str) -> Result<Vec<Finding>, String> {
    let findings = mta_sts::lint(policy);
    if !mta_sts::has_error(&findings) {
        return Ok(findings);
    }
    let lines = findings.iter().map(|finding| format!("cannot publish the policy from {from}: {finding}"));
    Err(lines.collect::<Vec<_>>().join("\n"))
}
