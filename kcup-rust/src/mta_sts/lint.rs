//! What is wrong with a policy: the rules of SPEC section 9, line by line and then as a whole.

use std::collections::HashSet;

use super::finding::Finding;
use super::host;
use super::line::{self, is_blank, Line, Pair};
use super::new::{MAX_MAX_AGE, MODES};
use super::rules::Rule;
use super::{served_length, Mode};

/// RFC 8461 section 3.3: receivers may stop reading behind 64 KiB.
const MAX_SIZE: usize = 65_536;
/// Behind this one receiver does.
const LARGE: usize = 10_240;
const DAY: u32 = 86_400;
const WEEK: u32 = 7 * DAY;

/// The findings in the order of lines, then of columns, then of rules.
pub fn lint(policy: &[u8]) -> Vec<Finding> {
    let mut judge = Judge::default();
    if line::has_byte_order_mark(policy) {
        judge.find(1, 1, Rule::ByteOrderMark);
    }
    for line in line::lines(policy) {
        judge.line(&line);
    }
    judge.whole(policy);
    judge.findings.sort_unstable();
    judge.findings
}

/// What is known of the lines read so far.
#[derive(Default)]
struct Judge<'a> {
    findings: Vec<Finding>,
    /// The keys that a later line may repeat.
    keys: HashSet<&'a [u8]>,
    /// The known keys that some line has, or nearly has.
    present: HashSet<&'static str>,
    /// Whether a line has a key, and another than `version`.
    other_key: bool,
    /// Whether a line cannot be read, so that what seems missing may stand there.
    unread: bool,
    mode: Option<At<Mode>>,
    /// Seconds.
    max_age: Option<At<u32>>,
}

struct At<T> {
    line: usize,
    column: usize,
    value: T,
}

/// What no line may be, in the order of precedence: the rule, and where it is broken, from 0.
type Form = (Rule, fn(&[u8]) -> Option<usize>);
const FORMS: [Form; 9] = [
    (Rule::BareCr, |line| find(line, |byte| byte == b'\r')),
    (Rule::Control, |line| find(line, |byte| byte.is_ascii_control() && byte != b'\t')),
    (Rule::BlankLine, |line| line.iter().all(|byte| is_blank(*byte)).then_some(0)),
    (Rule::Comment, |line| find(line, |byte| !is_blank(byte)).filter(|at| line[*at] == b'#')),
    (Rule::NonAscii, |line| not_ascii(line).filter(|_| !line.starts_with(b"mx:"))),
    (Rule::MxNonAscii, |line| not_ascii(line).and_then(|_| Some(line_value_at(line)?))),
    (Rule::LeadingSpace, |line| is_blank(line[0]).then_some(0)),
    (Rule::NoColon, |line| (!line.contains(&b':')).then_some(0)),
    (Rule::SpaceBeforeColon, |line| space_before_colon(line)),
];
