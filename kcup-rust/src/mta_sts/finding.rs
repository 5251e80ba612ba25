//! One fault of a policy, where it is, and the two ways to print it (K-93).

use std::fmt::{self, Display, Formatter};

use super::rules::{Rule, Severity};

/// A rule that a policy breaks, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// From 1.
    pub line: usize,
    /// From 1, in bytes of the policy as it was read.
    pub column: usize,
    rule: Rule,
    /// The known key that a near miss probably means.
    meant: Option<&'static str>,
}

impl Finding {
    pub(super) fn new(line: usize, column: usize, rule: Rule) -> Finding {
        Finding { line, column, rule, meant: None }
    }

    pub(super) fn meaning(self, key: &'static str) -> Finding {
        Finding { meant: Some(key), ..self }
    }

    pub fn severity(&self) -> Severity {
        self.rule.row().severity
    }

    fn message(&self) -> String {
        let message = self.rule.row().message;
        match self.meant {
            Some(key) => message.replace("\"mx\"", &format!("\"{key}\"")),
            None => message.into(),
        }
    }

    fn json(&self, file: &str) -> String {
        let row = self.rule.row();
        let breaks: Vec<_> = row.breaks.iter().map(|name| format!("\"{name}\"")).collect();
        format!(
            r#"{{"file":"{}","line":{},"column":{},"severity":"{}","rule":"{}","message":"{}","section":"{}","breaks":[{}]}}"#,
            escaped(file),
            self.line,
            self.column,
            row.severity,
            row.slug,
            escaped(&self.message()),
            row.section,
            breaks.join(",")
        )
    }
}

/// Text without control characters, as those of a message and of a file's name are, between JSON's quotes.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}

impl Display for Finding {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        let row = self.rule.row();
        write!(f, "{}:{}: {}: {}", self.line, self.column, row.severity, self.message())?;
        write!(f, " (RFC 8461 section {})", row.section)?;
        match row.breaks {
            [] => Ok(()),
            names => write!(f, "; breaks: {}", names.join(", ")),
        }
    }
}

/// This many findings are listed. Of the others only the number is given.
const MOST: usize = 100;

/// The faults of a policy, in the order of lines, then of columns, then of rules.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Findings {
    pub first: Vec<Finding>,
    /// The number of findings that are not listed.
    pub more: usize,
    /// Whether the policy must not be published.
    pub has_error: bool,
}

impl Findings {
    /// Adds a finding. Findings may come in any order.
    pub(super) fn add(&mut self, finding: Finding) {
        self.has_error |= finding.severity() == Severity::Error;
        let at = self.first.partition_point(|other| *other < finding);
        self.first.insert(at, finding);
        if self.first.len() > MOST {
            self.first.pop();
            self.more += 1;
        }
    }

    /// A line for each finding that is listed, and one for the others. Each begins with the file's name.
    pub fn lines(&self, file: &str) -> impl Iterator<Item = String> {
        let more = (self.more > 0).then(|| format!("{file}: and {} more", self.more));
        self.first.iter().map(move |finding| format!("{file}:{finding}")).chain(more)
    }

    /// As one JSON array, without a line end.
    pub fn json(&self, file: &str) -> String {
        let more = (self.more > 0).then(|| format!(r#"{{"more":{}}}"#, self.more));
        let all: Vec<_> = self.first.iter().map(|finding| finding.json(file)).chain(more).collect();
        format!("[{}]", all.join(","))
    }
}
