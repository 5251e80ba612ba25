//! The rules as data: SPEC section 9's table, which `conformance/vectors/mta_sts.toml` holds too.

use std::fmt::{self, Display, Formatter};

/// The fixed part of a rule's findings.
pub struct Row {
    /// The rule's name for programs.
    pub slug: &'static str,
    pub severity: Severity,
    /// Of RFC 8461.
    pub section: &'static str,
    /// The sending mail servers known to reject such a policy, or to lose a part of it.
    pub breaks: &'static [&'static str],
    pub message: &'static str,
}

/// Whether a policy must not be published.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    Error,
    Warning,
}

impl Display for Severity {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        f.write_str(match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
        })
    }
}

/// Makes the rules and their table from one list, so that neither can be without the other.
macro_rules! rules {
    ($($rule:ident $slug:literal $severity:ident $section:literal [$($breaks:ident),*] $message:literal;)*) => {
        /// In the order of the table, which is that of precedence on a line.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Rule { $($rule),* }

        #[cfg(test)]
        pub const ALL: &[Rule] = &[$(Rule::$rule),*];

        const TABLE: &[Row] = &[$(Row {
            slug: $slug,
            severity: Severity::$severity,
            section: $section,
            breaks: &[$($breaks),*],
            message: $message,
        }),*];
    };
}

impl Rule {
    pub fn row(self) -> &'static Row {
        &TABLE[self as usize]
    }
}

const PMSR: &str = "postfix-mta-sts-resolver";
const GO_MTASTS: &str = "go-mtasts";
const TLSPOL: &str = "postfix-tlspol";
const MOX: &str = "mox";
const CHASQUID: &str = "chasquid";
const KUMOMTA: &str = "KumoMTA";
const STALWART: &str = "Stalwart";

rules! {
    ByteOrderMark "byte-order-mark" Error "3.2" [PMSR, GO_MTASTS, TLSPOL, MOX, CHASQUID, KUMOMTA]
        "the policy begins with a byte-order mark";
    BareCr "bare-cr" Error "3.2" [GO_MTASTS, TLSPOL, MOX, CHASQUID, KUMOMTA, STALWART]
        "a CR that no LF follows";
    Control "control" Error "3.2" []
        "a control byte";
    BlankLine "blank-line" Error "3.2" [GO_MTASTS, TLSPOL, MOX]
        "a blank line";
    Comment "comment" Error "3.2" [GO_MTASTS, TLSPOL, MOX, KUMOMTA, STALWART]
        "a comment";
    NonAscii "non-ascii" Error "3.2" [PMSR]
        "a byte outside ASCII";
    MxNonAscii "mx-non-ascii" Error "3.2" [PMSR, TLSPOL, MOX]
        "\"mx\" is not in ASCII: write the A-label, which begins with xn--";
    LeadingSpace "leading-space" Error "3.2" []
        "white space before the key";
    NoColon "no-colon" Error "3.2" []
        "a line without a colon";
    SpaceBeforeColon "space-before-colon" Error "3.2" []
        "white space before the colon";
    NearMiss "near-miss" Error "3.2" []
        "a key that sending mail servers ignore: \"mx\" is probably meant";
    BadKey "bad-key" Error "3.2" []
        "a key is a letter or digit, then at most 31 letters, digits, \"_\", \"-\" and \".\"";
    ModeDuplicate "mode-duplicate" Error "3.2" [KUMOMTA]
        "a repeated key: sending mail servers disagree on which value counts";
    Duplicate "duplicate" Error "3.2" []
        "a repeated key: sending mail servers disagree on which value counts";
    NoValue "no-value" Error "3.2" []
        "a key without a value";
    UnknownKey "unknown-key" Warning "3.2" []
        "an unknown key";
    VersionValue "version-value" Error "3.2" []
        "\"version\" is not STSv1";
    VersionNotFirst "version-not-first" Error "3.2" []
        "\"version\" is not the first key";
    ModeValue "mode-value" Error "3.2" []
        "\"mode\" is not one of enforce, testing, none";
    MaxAgeValue "max-age-value" Error "3.2" []
        "\"max_age\" is not 1 to 10 digits";
    MaxAgeOver "max-age-over" Error "3.2" [PMSR, CHASQUID]
        "\"max_age\" is over 31557600";
    MaxAgeDay "max-age-day" Warning "3.2" []
        "\"max_age\" is under 86400: Google ignores the policy";
    MaxAgeWeek "max-age-week" Warning "10.2" []
        "\"max_age\" is under 604800 while \"mode\" is enforce";
    MxPriority "mx-priority" Error "3.2" []
        "\"mx\" begins with a priority, which a policy does not have: name the host alone";
    MxSeveral "mx-several" Error "3.2" []
        "\"mx\" is more than one host";
    MxAddress "mx-address" Error "3.2" []
        "\"mx\" is an address, not a host name";
    MxPort "mx-port" Error "3.2" []
        "\"mx\" has a port";
    MxTrailingDot "mx-trailing-dot" Error "3.2" []
        "\"mx\" ends in a dot";
    MxWildcard "mx-wildcard" Error "4.1" []
        "\"mx\" has a \"*\" that is not a whole label before a host name";
    MxHost "mx-host" Error "3.2" []
        "\"mx\" is not a host name";
    MxOneLabel "mx-one-label" Warning "4.1" []
        "\"mx\" is a single label, which no public certificate names";
    NoneWithoutMx "none-without-mx" Warning "8.3" [CHASQUID, STALWART]
        "\"mode\" is none without an \"mx\": legal, but some sending mail servers reject it";
    VersionMissing "version-missing" Error "3.2" []
        "there is no \"version\"";
    ModeMissing "mode-missing" Error "3.2" []
        "there is no \"mode\"";
    MaxAgeMissing "max-age-missing" Error "3.2" []
        "there is no \"max_age\"";
    MxMissing "mx-missing" Error "3.2" []
        "there is no \"mx\"";
    SizeOver "size-over" Error "3.3" [PMSR, TLSPOL, MOX, CHASQUID]
        "the policy is over 65536 bytes";
    SizeLarge "size-large" Warning "3.3" [CHASQUID]
        "the policy is over 10240 bytes";
}
