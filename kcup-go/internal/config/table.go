package config

// option is a row of the table of options. Its value is text until all are checked.
type option struct {
	short    string
	name     string
	variable string
	standard string // the default; empty: there is none
	many     bool
	check    func(value string) (wrong string) // nil: it takes no value
}

// table has the options that may stand anywhere. share/options.toml has their words, which --help prints.
var table = []option{
	{short: "f", name: "file", variable: "FILE", check: checkFilled},
	{name: "text", variable: "TEXT", check: checkFilled},
	{name: "stdin-read-timeout-seconds", variable: "STDIN_READ_TIMEOUT_SECONDS", standard: "60", check: whole(1, 86400)},
	{short: "h", name: "host", variable: "HOST", standard: "127.0.0.1", check: checkHost},
	{short: "p", name: "port", variable: "PORT", standard: "5000", check: whole(0, 65535)},
	{name: "max-content-bytes", variable: "MAX_CONTENT_BYTES", standard: "67108864", check: whole(1, 1<<40)},
	{name: "path", variable: "SERVE_PATH", check: checkPath},
	{name: "status", variable: "STATUS", standard: "200", check: oneOf("200", "400", "401", "403", "404", "410", "421", "429", "451", "500", "501", "502", "503", "504")},
	{name: "content-type", variable: "CONTENT_TYPE", check: checkContentType},
	{name: "header", variable: "HEADERS", many: true, check: checkField},
	{name: "compression", variable: "COMPRESSION", standard: "auto", check: oneOf("auto", "off")},
	{name: "reload-interval-seconds", variable: "RELOAD_INTERVAL_SECONDS", standard: "0", check: whole(0, 86400)},
	{name: "max-connections", variable: "MAX_CONNECTIONS", standard: "20000", check: whole(1, 1000000)},
	{name: "header-timeout-seconds", variable: "HEADER_TIMEOUT_SECONDS", standard: "10", check: whole(1, 86400)},
	{name: "idle-timeout-seconds", variable: "IDLE_TIMEOUT_SECONDS", standard: "75", check: whole(1, 86400)},
	{name: "write-timeout-seconds", variable: "WRITE_TIMEOUT_SECONDS", standard: "30", check: whole(1, 86400)},
	{name: "shutdown-timeout-seconds", variable: "SHUTDOWN_TIMEOUT_SECONDS", standard: "5", check: whole(1, 86400)},
	{name: "threads", variable: "THREADS", check: whole(1, 1024)},
	{name: "preset", variable: "PRESET", check: oneOf("mta-sts")},
	{name: "sandbox", variable: "SANDBOX", standard: "auto", check: oneOf("auto", "off", "required")},
	{name: "admin", variable: "ADMIN", check: checkSocket},
	{name: "access-log", variable: "ACCESS_LOG", standard: "off", check: oneOf("off", "common", "json")},
	{name: "trusted-proxy", variable: "TRUSTED_PROXY", check: checkProxies},
	{name: "tls-cert", variable: "TLS_CERT", check: checkFilled},
	{name: "tls-key", variable: "TLS_KEY", check: checkFilled},
	{name: "log-level", variable: "LOG_LEVEL", standard: "info", check: oneOf("error", "warn", "info", "debug")},
	{name: "log-format", variable: "LOG_FORMAT", standard: "text", check: oneOf("text", "json")},
	{name: "help"},
	{name: "version"},
}
