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

    fn json(&self) -> String {
        let row = self.rule.row();
        let breaks: Vec<_> = row.breaks.iter().map(|name| format!("\"{name}\"")).collect();
        format!(
            r#"{{"line":{},"column":{},"severity":"{}","rule":"{}","message":"{}","section":"{}","breaks":[{}]}}"#,
            self.line,
            self.column,
            row.severity,
            row.slug,
            // A message contains nothing of the policy, so only quotes need to be escaped.
            self.message().replace('"', "\\\""),
            row.section,
            breaks.join(",")
        )
    }
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

    /// A line for each finding that is listed, and one for the others.
    pub fn lines(&self) -> impl Iterator<Item = String> + '_ {
        let more = (self.more > 0).then(|| format!("and {} more", self.more));
        self.first.iter().map(Finding::to_string).chain(more)
    }

    /// As one JSON array, without a line end.
    pub fn json(&self) -> String {
        let more = (self.more > 0).then(|| format!(r#"{{"more":{}}}"#, self.more));
        let all: Vec<_> = self.first.iter().map(Finding::json).chain(more).collect();
        format!("[{}]", all.join(","))
    }
}
