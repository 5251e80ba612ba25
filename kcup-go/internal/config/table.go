package config

import "gitlab.com/kcup/kcup/kcup-go/internal/mtasts"

// option is a row of the table of options. Its value is text until all are checked.
type option struct {
	short    string
	name     string
	variable string
	argument string // the value, as --help calls it; empty: there is none
	standard string // the default
	unset    string // what --help calls the default where there is none
	many     bool
	check    func(value string) (wrong string)
	help     string
}

// table is everything that can be asked for, in the order of --help.
var table = []option{
	{short: "f", name: "file", variable: "FILE", argument: "PATH", unset: "standard input", check: checkFilled,
		help: "file to serve; - is standard input"},
	{name: "text", variable: "TEXT", argument: "T", unset: "none", check: checkFilled,
		help: "serve this text instead of a file"},
	{name: "stdin-read-timeout-seconds", variable: "STDIN_READ_TIMEOUT_SECONDS", argument: "N", standard: "60", check: whole(1, 86400),
		help: "seconds to wait for the end of standard input"},
	{short: "h", name: "host", variable: "HOST", argument: "ADDR", standard: "127.0.0.1", check: checkHost,
		help: "address to listen on, or unix:PATH"},
	{short: "p", name: "port", variable: "PORT", argument: "N", standard: "5000", check: whole(0, 65535),
		help: "port to listen on; 0 picks a free one"},
	{name: "max-content-bytes", variable: "MAX_CONTENT_BYTES", argument: "N", standard: "67108864", check: whole(1, 1<<40),
		help: "largest content to serve, in bytes"},
	{name: "path", variable: "SERVE_PATH", argument: "P", unset: "any path", check: checkPath,
		help: "serve only this exact path"},
	{name: "status", variable: "STATUS", argument: "N", standard: "200",
		check: oneOf("200", "400", "401", "403", "404", "410", "421", "429", "451", "500", "501", "502", "503", "504"),
		help:  "status code of the response that has the content"},
	{name: "content-type", variable: "CONTENT_TYPE", argument: "T", unset: "by file name, otherwise by content", check: checkContentType,
		help: "content-type to send, verbatim"},
	{name: "header", variable: "HEADERS", argument: "'Name: value'", unset: "none", many: true, check: checkField,
		help: "field to add to every response for the content (repeatable; variable: one per line)"},
	{name: "compression", variable: "COMPRESSION", argument: "C", standard: "auto", check: oneOf("auto", "off"),
		help: "auto or off: br and gzip variants, made when the content is loaded"},
	{name: "reload-interval-seconds", variable: "RELOAD_INTERVAL_SECONDS", argument: "N", standard: "0", check: whole(0, 86400),
		help: "check the file every N seconds and reload it if it has changed; 0 disables this"},
	{name: "max-connections", variable: "MAX_CONNECTIONS", argument: "N", standard: "20000", check: whole(1, 1000000),
		help: "most connections open at once; at the limit the longest-idle one is closed"},
	{name: "header-timeout-seconds", variable: "HEADER_TIMEOUT_SECONDS", argument: "N", standard: "10", check: whole(1, 86400),
		help: "seconds from the first to the last byte of a request head"},
	{name: "idle-timeout-seconds", variable: "IDLE_TIMEOUT_SECONDS", argument: "N", standard: "75", check: whole(1, 86400),
		help: "seconds until an idle connection is closed"},
	{name: "write-timeout-seconds", variable: "WRITE_TIMEOUT_SECONDS", argument: "N", standard: "30", check: whole(1, 86400),
		help: "seconds until a client that accepts hardly any data is disconnected"},
	{name: "shutdown-timeout-seconds", variable: "SHUTDOWN_TIMEOUT_SECONDS", argument: "N", standard: "5", check: whole(1, 86400),
		help: "seconds that a drain may take"},
	{name: "threads", variable: "THREADS", argument: "N", unset: "the CPUs this cgroup grants", check: whole(1, 1024),
		help: "worker threads"},
	{name: "preset", variable: "PRESET", argument: "P", unset: "none", check: oneOf("mta-sts"),
		help: "mta-sts: check the content and serve it as an MTA-STS policy"},
	{name: "sandbox", variable: "SANDBOX", argument: "S", standard: "auto", check: oneOf("auto", "off", "required"),
		help: "auto, off or required: restrict the process with Landlock and seccomp"},
	{name: "admin", variable: "ADMIN", argument: "ADDR:PORT", unset: "none", check: checkSocket,
		help: "second address to listen on, for /metrics, /healthz and /readyz"},
	{name: "access-log", variable: "ACCESS_LOG", argument: "F", standard: "off", check: oneOf("off", "common", "json"),
		help: "off, common or json: one line per response on standard output"},
	{name: "log-level", variable: "LOG_LEVEL", argument: "L", standard: "info", check: oneOf("error", "warn", "info", "debug", "trace"),
		help: "error, warn, info, debug or trace"},
	{name: "log-format", variable: "LOG_FORMAT", argument: "F", standard: "text", check: oneOf("text", "json"),
		help: "text or json, on standard error"},
	{name: "help", help: "print this help"},
	{name: "version", help: "print the version"},
}

// verbs are the words that may follow mta-sts, with their own options, which have no variables.
var verbs = map[string][]option{
	"lint": {{name: "format", argument: "F", standard: "text", check: oneOf("text", "json")}},
	"txt":  {{name: "domain", argument: "D", check: checkDomain}},
	"new": {
		{name: "mode", argument: "M", check: oneOf("enforce", "testing", "none")},
		{name: "mx", argument: "HOST", many: true, check: mtasts.WrongWith},
		{name: "max-age", argument: "N", check: whole(0, mtasts.MaxMaxAge)},
	},
}
