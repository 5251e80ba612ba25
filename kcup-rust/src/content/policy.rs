//! Content that is an MTA-STS policy (K-92, K-93, K-97).

use bytes::Bytes;

use super::source::{ENOUGH_OF_A_POLICY, read};
use crate::config::{LogFormat, Options, Question};
use crate::mta_sts::{self, Findings};

/// The bytes to serve. Logs warnings.
///
/// An error has a line for each finding after its first.
pub fn publish(policy: &[u8], options: &Options) -> Result<Bytes, String> {
    sound(policy, options)?.lines(&options.file_name()).for_each(|line| log::warn!("{line}"));
    Ok(mta_sts::served(policy).into())
}

/// What to do elsewhere once this policy is served.
pub fn advice(policy: &[u8]) -> String {
    format!("mta-sts: publish {} as the TXT record of _mta-sts.DOMAIN", mta_sts::record(policy))
}

/// The output of `kcup mta-sts lint` or `txt`, and the exit status. An error has the lines of K-11 or K-92.
pub fn answer(options: &Options, question: &Question) -> Result<(String, u8), String> {
    let policy = read(options, ENOUGH_OF_A_POLICY, &|_| true)?.bytes;
    match question {
        Question::Lint(format) => {
            let (findings, file) = (mta_sts::lint(&policy), options.file_name());
            let text = match format {
                LogFormat::Text => findings.lines(&file).map(|line| line + "\n").collect(),
                LogFormat::Json => findings.json(&file) + "\n",
            };
            Ok((text, findings.has_error.into()))
        }
        Question::Txt(domain) => {
            sound(&policy, options)?;
            let record = mta_sts::record(&policy);
            let line = domain.as_ref().map(|domain| mta_sts::zone_line(domain, &record));
            Ok((line.unwrap_or(record) + "\n", 0))
        }
    }
}

/// The findings of a policy that may be published.
fn sound(policy: &[u8], options: &Options) -> Result<Findings, String> {
    let findings = mta_sts::lint(policy);
    if !findings.has_error {
        return Ok(findings);
    }
    let refused = format!("cannot publish the policy from {}", options.origin());
    Err(findings.lines(&options.file_name()).fold(refused, |all, line| all + "\n" + &line))
}
