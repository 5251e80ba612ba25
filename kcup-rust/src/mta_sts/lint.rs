//! The linter: the rules of SPEC section 9, applied line by line and then to the whole.

use std::collections::HashSet;

use super::finding::{Finding, Findings};
use super::host;
use super::line::{self, Line, Pair, is_blank};
use super::policy::{MAX_MAX_AGE, MAX_SIZE, Mode};
use super::rules::Rule;

/// One sending mail server stops reading after this.
const LARGE: usize = 10_240;
const DAY: u32 = 86_400;
const WEEK: u32 = 7 * DAY;

/// Of a policy that is too long its first `MAX_SIZE + 1` bytes are enough.
pub fn lint(policy: &[u8]) -> Findings {
    let mut judge = Judge::default();
    let mut size = 0;
    if let Some(over) = line::lines(policy).find(|line| {
        size += line.served();
        size > MAX_SIZE
    }) {
        judge.findings.add(Finding::new(over.number, over.start, Rule::SizeOver));
        return judge.findings;
    }
    if line::has_byte_order_mark(policy) {
        judge.findings.add(Finding::new(1, 1, Rule::ByteOrderMark));
    }
    for line in line::lines(policy) {
        judge.line(&line);
    }
    judge.whole(policy, size);
    judge.findings
}

/// The state after the lines read so far.
#[derive(Default)]
struct Judge<'a> {
    findings: Findings,
    /// The keys that a later line may repeat.
    keys: HashSet<&'a [u8]>,
    /// The known keys that some line has, or nearly has.
    present: HashSet<&'static str>,
    /// Whether some line has a key other than `version`.
    other_key: bool,
    /// Whether a line cannot be read, and so may hold a key that seems missing.
    unread: bool,
    /// The value, and a finding in case a rule about it is broken.
    mode: Option<(Mode, Finding)>,
    max_age: Option<(u32, Finding)>,
}

/// Finds the place where a line breaks a rule, from 0.
type Place = fn(&[u8]) -> Option<usize>;

/// The rules for the form of a line, in the order of precedence.
const FORMS: [(Rule, Place); 9] = [
    (Rule::BareCr, |line| find(line, |byte| byte == b'\r')),
    (Rule::Control, |line| find(line, |byte| byte.is_ascii_control() && byte != b'\t')),
    (Rule::BlankLine, |line| line.iter().all(|byte| is_blank(*byte)).then_some(0)),
    (Rule::Comment, line::comment),
    (Rule::NonAscii, |line| not_ascii(line).filter(|_| !line.starts_with(b"mx:"))),
    (Rule::MxNonAscii, not_ascii),
    (Rule::LeadingSpace, |line| is_blank(line[0]).then_some(0)),
    (Rule::NoColon, |line| (!line.contains(&b':')).then_some(0)),
    (Rule::SpaceBeforeColon, space_before_colon),
];

fn find(line: &[u8], wanted: impl Fn(u8) -> bool) -> Option<usize> {
    line.iter().position(|byte| wanted(*byte))
}

fn not_ascii(line: &[u8]) -> Option<usize> {
    find(line, |byte| !byte.is_ascii())
}

fn space_before_colon(line: &[u8]) -> Option<usize> {
    let key = &line[..find(line, |byte| byte == b':')?];
    let end = key.iter().rposition(|byte| !is_blank(*byte)).map_or(0, |last| last + 1);
    (end < key.len()).then_some(end)
}

impl<'a> Judge<'a> {
    fn line(&mut self, line: &Line<'a>) {
        let at = |rule, place| Finding::new(line.number, line.start + place, rule);
        let form = FORMS.iter().find_map(|(rule, broken)| Some((*rule, broken(line.bytes)?)));
        let rule = form.map(|(rule, _)| rule);
        self.unread |= matches!(rule, Some(Rule::BareCr | Rule::NoColon));
        let pair = line.pair();
        let behind_other_key = self.other_key;
        if let Some(pair) = &pair {
            self.present.extend(line::near(pair.key));
            self.other_key |= pair.key != b"version";
        }
        let finding = match (form, &pair) {
            (Some((rule, place)), _) => Some(at(rule, place)),
            (None, Some(pair)) => self.pair(pair, behind_other_key, at),
            (None, None) => None,
        };
        finding.into_iter().for_each(|finding| self.findings.add(finding));
    }

    fn pair(
        &mut self,
        pair: &Pair<'a>,
        behind_other_key: bool,
        at: impl Fn(Rule, usize) -> Finding,
    ) -> Option<Finding> {
        let value = |rule| at(rule, pair.value_at);
        match line::near(pair.key) {
            Some(known) if known.as_bytes() != pair.key => return Some(at(Rule::NearMiss, 0).meaning(known)),
            None if !is_extension_name(pair.key) => return Some(at(Rule::BadKey, 0)),
            _ => {}
        }
        let stood_before = !self.keys.insert(pair.key);
        match pair.key {
            b"mode" if stood_before => Some(at(Rule::ModeDuplicate, 0)),
            key if stood_before && key != b"mx" => Some(at(Rule::Duplicate, 0)),
            _ if pair.value.is_empty() => Some(at(Rule::NoValue, pair.colon)),
            b"version" if pair.value != b"STSv1" => Some(value(Rule::VersionValue)),
            b"version" => behind_other_key.then(|| at(Rule::VersionNotFirst, 0)),
            b"mode" => match Mode::of(pair.value) {
                None => Some(value(Rule::ModeValue)),
                Some(mode) => {
                    self.mode = Some((mode, value(Rule::NoneWithoutMx)));
                    None
                }
            },
            b"max_age" => match max_age(pair.value) {
                Err(rule) => Some(value(rule)),
                Ok(seconds) => {
                    self.max_age = Some((seconds, value(Rule::MaxAgeWeek)));
                    None
                }
            },
            b"mx" => host::fault(pair.value).map(value),
            _ => Some(at(Rule::UnknownKey, 0)),
        }
    }

    /// Applies the rules that need the whole policy.
    fn whole(&mut self, policy: &[u8], size: usize) {
        let mode = self.mode.as_ref().map(|(mode, _)| *mode);
        if let (Some(Mode::Enforce), Some((..WEEK, finding))) = (mode, self.max_age) {
            self.findings.add(finding);
        }
        let (line, column) = line::end(policy);
        let at_end = |rule| Finding::new(line, column, rule);
        let missing = |key| !self.unread && !self.present.contains(key);
        for (key, rule) in
            [("version", Rule::VersionMissing), ("mode", Rule::ModeMissing), ("max_age", Rule::MaxAgeMissing)]
        {
            if missing(key) {
                self.findings.add(at_end(rule));
            }
        }
        match self.mode {
            _ if !missing("mx") => {}
            Some((Mode::None, legal)) => self.findings.add(legal),
            _ => self.findings.add(at_end(Rule::MxMissing)),
        }
        if size > LARGE {
            self.findings.add(at_end(Rule::SizeLarge));
        }
    }
}

/// RFC 8461 section 3.2: sts-policy-ext-name.
fn is_extension_name(key: &[u8]) -> bool {
    let also = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-.".contains(byte);
    key.len() <= 32 && key.first().is_some_and(u8::is_ascii_alphanumeric) && key.iter().all(also)
}

/// RFC 8461 section 3.2: 1 to 10 digits, and no more than a year and a day.
fn max_age(value: &[u8]) -> Result<u32, Rule> {
    let text = std::str::from_utf8(value).ok().filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
    let seconds: u64 = match text.filter(|text| text.len() <= 10).map(str::parse) {
        Some(Ok(seconds)) => seconds,
        _ => return Err(Rule::MaxAgeValue),
    };
    match u32::try_from(seconds) {
        Ok(seconds) if seconds < DAY => Err(Rule::MaxAgeDay),
        Ok(seconds) if seconds <= MAX_MAX_AGE => Ok(seconds),
        _ => Err(Rule::MaxAgeOver),
    }
}
