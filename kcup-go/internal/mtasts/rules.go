package mtasts

// The rules as data: SPEC section 9's table, which conformance/vectors/mta_sts.toml holds too.

// row is the fixed part of a rule's findings.
type row struct {
	slug     string // the rule's name for programs
	severity Severity
	section  string   // of RFC 8461
	breaks   []string // the sending mail servers known to reject such a policy, or to lose a part of it
	message  string
}

// Severity is whether a policy must not be published.
type Severity string

// The severities by their names.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
)

// rule is a row of the table. The order is that of precedence on a line.
type rule uint8

const (
	byteOrderMarked rule = iota
	bareCR
	control
	blankLine
	commented
	nonASCII
	mxNonASCII
	leadingSpace
	noColon
	spaceBeforeColon
	nearMiss
	badKey
	modeDuplicate
	duplicate
	noValue
	unknownKey
	versionValue
	versionNotFirst
	modeValue
	maxAgeValue
	maxAgeOver
	maxAgeDay
	maxAgeWeek
	mxPriority
	mxSeveral
	mxAddress
	mxPort
	mxTrailingDot
	mxWildcard
	mxHost
	mxOneLabel
	noneWithoutMX
	versionMissing
	modeMissing
	maxAgeMissing
	mxMissing
	sizeOver
	sizeLarge
	ruleCount
)

const (
	resolver = "postfix-mta-sts-resolver"
	goMTASTS = "go-mtasts"
	tlspol   = "postfix-tlspol"
	mox      = "mox"
	chasquid = "chasquid"
	kumoMTA  = "KumoMTA"
	stalwart = "Stalwart"
)

var table = [ruleCount]row{
	byteOrderMarked: {"byte-order-mark", Error, "3.2", []string{resolver, goMTASTS, tlspol, mox, chasquid, kumoMTA},
		"the policy begins with a byte-order mark"},
	bareCR: {"bare-cr", Error, "3.2", []string{goMTASTS, tlspol, mox, chasquid, kumoMTA, stalwart},
		"a CR that no LF follows"},
	control: {"control", Error, "3.2", nil,
		"a control byte"},
	blankLine: {"blank-line", Error, "3.2", []string{goMTASTS, tlspol, mox},
		"a blank line"},
	commented: {"comment", Error, "3.2", []string{goMTASTS, tlspol, mox, kumoMTA, stalwart},
		"a comment"},
	nonASCII: {"non-ascii", Error, "3.2", []string{resolver},
		"a byte outside ASCII"},
	mxNonASCII: {"mx-non-ascii", Error, "3.2", []string{resolver, tlspol, mox},
		`"mx" is not in ASCII: write the A-label, which begins with xn--`},
	leadingSpace: {"leading-space", Error, "3.2", nil,
		"white space before the key"},
	noColon: {"no-colon", Error, "3.2", nil,
		"a line without a colon"},
	spaceBeforeColon: {"space-before-colon", Error, "3.2", nil,
		"white space before the colon"},
	nearMiss: {"near-miss", Error, "3.2", nil,
		`a key that sending mail servers ignore: "mx" is probably meant`},
	badKey: {"bad-key", Error, "3.2", nil,
		`a key is a letter or digit, then at most 31 letters, digits, "_", "-" and "."`},
	modeDuplicate: {"mode-duplicate", Error, "3.2", []string{kumoMTA},
		"a repeated key: sending mail servers disagree on which value counts"},
	duplicate: {"duplicate", Error, "3.2", nil,
		"a repeated key: sending mail servers disagree on which value counts"},
	noValue: {"no-value", Error, "3.2", nil,
		"a key without a value"},
	unknownKey: {"unknown-key", Warning, "3.2", nil,
		"an unknown key"},
	versionValue: {"version-value", Error, "3.2", nil,
		`"version" is not STSv1`},
	versionNotFirst: {"version-not-first", Error, "3.2", nil,
		`"version" is not the first key`},
	modeValue: {"mode-value", Error, "3.2", nil,
		`"mode" is not one of enforce, testing, none`},
	maxAgeValue: {"max-age-value", Error, "3.2", nil,
		`"max_age" is not 1 to 10 digits`},
	maxAgeOver: {"max-age-over", Error, "3.2", []string{resolver, chasquid},
		`"max_age" is over 31557600`},
	maxAgeDay: {"max-age-day", Warning, "3.2", nil,
		`"max_age" is under 86400: Google ignores the policy`},
	maxAgeWeek: {"max-age-week", Warning, "10.2", nil,
		`"max_age" is under 604800 while "mode" is enforce`},
	mxPriority: {"mx-priority", Error, "3.2", nil,
		`"mx" begins with a priority, which a policy does not have: name the host alone`},
	mxSeveral: {"mx-several", Error, "3.2", nil,
		`"mx" is more than one host`},
	mxAddress: {"mx-address", Error, "3.2", nil,
		`"mx" is an address, not a host name`},
	mxPort: {"mx-port", Error, "3.2", nil,
		`"mx" has a port`},
	mxTrailingDot: {"mx-trailing-dot", Error, "3.2", nil,
		`"mx" ends in a dot`},
	mxWildcard: {"mx-wildcard", Error, "4.1", nil,
		`"mx" has a "*" that is not a whole label before a host name`},
	mxHost: {"mx-host", Error, "3.2", nil,
		`"mx" is not a host name`},
	mxOneLabel: {"mx-one-label", Warning, "4.1", nil,
		`"mx" is a single label, which no public certificate names`},
	noneWithoutMX: {"none-without-mx", Warning, "8.3", []string{chasquid, stalwart},
		`"mode" is none without an "mx": legal, but some sending mail servers reject it`},
	versionMissing: {"version-missing", Error, "3.2", nil,
		`there is no "version"`},
	modeMissing: {"mode-missing", Error, "3.2", nil,
		`there is no "mode"`},
	maxAgeMissing: {"max-age-missing", Error, "3.2", nil,
		`there is no "max_age"`},
	mxMissing: {"mx-missing", Error, "3.2", nil,
		`there is no "mx"`},
	sizeOver: {"size-over", Error, "3.3", []string{resolver, tlspol, mox, chasquid},
		"the policy is over 65536 bytes"},
	sizeLarge: {"size-large", Warning, "3.3", []string{chasquid},
		"the policy is over 10240 bytes"},
}
