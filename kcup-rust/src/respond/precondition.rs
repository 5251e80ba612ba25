//! Lists of entity tags, and the preconditions of RFC 9110 section 13.1 (K-47). Pure.

use httparse::Header;

use super::{date, only, trim, values};

/// The validators that a request's are compared with.
pub struct Validators<'c> {
    /// The tag of the identity bytes, which is strong.
    pub identity_tag: &'c [u8],
    pub selected_tag: &'c [u8],
    /// In seconds since 1970, and not later than now.
    pub modified: i64,
}

/// A response that a precondition decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    Failed,
    NotModified,
}

/// Evaluates in the order of RFC 9110 section 13.2.2.
pub fn evaluate(fields: &[Header], ours: &Validators) -> Option<Ending> {
    let date = |name| date::parse(only(fields, name)?);
    let given = |name| values(fields, name).next().is_some();
    if given("if-match") {
        // A variant's tag is weak: it never matches strongly.
        if !matches(values(fields, "if-match"), ours.identity_tag, same_strongly) {
            return Some(Ending::Failed);
        }
    } else if date("if-unmodified-since").is_some_and(|date| ours.modified > date) {
        return Some(Ending::Failed);
    }
    if given("if-none-match") {
        if matches(values(fields, "if-none-match"), ours.selected_tag, same_weakly) {
            return Some(Ending::NotModified);
        }
    } else if date("if-modified-since").is_some_and(|date| ours.modified <= date) {
        return Some(Ending::NotModified);
    }
    None
}

/// Whether a list of tags, over all its lines, contains `ours`. A list that is not well formed contains nothing.
pub fn matches<'r>(
    lines: impl Iterator<Item = &'r [u8]>,
    ours: &[u8],
    same: fn(&[u8], &[u8]) -> bool,
) -> bool {
    let mut lines = lines.peekable();
    if lines.next_if(|line| trim(line) == b"*").is_some() {
        return lines.peek().is_none();
    }
    let mut found = false;
    for line in lines {
        let mut rest = next_member(line);
        while !rest.is_empty() {
            let Some((tag, after)) = split_tag(rest) else {
                return false;
            };
            let after = trim(after);
            if !after.is_empty() && after[0] != b',' {
                return false;
            }
            found |= same(tag, ours);
            rest = next_member(after);
        }
    }
    found
}

/// Members of a list may be empty (RFC 9110 section 5.6.1.2).
fn next_member(list: &[u8]) -> &[u8] {
    let skipped = list.iter().take_while(|byte| b" \t,".contains(byte)).count();
    &list[skipped..]
}

/// The entity tag that `text` begins with (RFC 9110 section 8.8.3), and the rest.
fn split_tag(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let opaque = text.strip_prefix(b"W/").unwrap_or(text);
    let inside = opaque.strip_prefix(b"\"")?;
    let length = inside.iter().position(|&byte| byte == b'"')?;
    let is_etagc = |byte: &u8| *byte > b' ' && *byte != 0x7f;
    let end = text.len() - inside.len() + length + 1;
    inside[..length].iter().all(is_etagc).then(|| text.split_at(end))
}

/// Strong comparison (RFC 9110 section 8.8.3.2).
pub fn same_strongly(theirs: &[u8], ours: &[u8]) -> bool {
    theirs == ours && ours.starts_with(b"\"")
}

/// Weak comparison.
pub fn same_weakly(theirs: &[u8], ours: &[u8]) -> bool {
    fn opaque(tag: &[u8]) -> &[u8] {
        tag.strip_prefix(b"W/").unwrap_or(tag)
    }
    opaque(theirs) == opaque(ours)
}
