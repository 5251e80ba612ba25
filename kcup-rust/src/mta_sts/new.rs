//! A new policy (RFC 8461 section 3.2, SPEC K-98).

use super::lint::MAX_SIZE;
use super::rules::Rule;

/// RFC 8461 section 3.2: the most that `max_age` may be, in seconds; a year and a day.
pub const MAX_MAX_AGE: u32 = 31_557_600;

/// The modes by their names.
pub const MODES: [(&str, Mode); 3] =
    [("enforce", Mode::Enforce), ("testing", Mode::Testing), ("none", Mode::None)];

/// What a sender does when a host fails validation (RFC 8461 section 5).
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

/// A policy with CRLF line ends, of hosts that `wrong_with` finds nothing wrong with and a `max_age` of at most `MAX_MAX_AGE`
/// seconds. An error says what is wrong with the whole.
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
