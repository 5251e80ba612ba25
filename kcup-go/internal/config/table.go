package config

// table is what can be asked for, as text. The library only splits the command line: a value gets its
// meaning and its checks afterwards, because the wording of an error is promised (K-04) and an empty
// variable counts as unset (K-02). `var` is the variable, `check` is read by check.go, `else` is what
// --help says where there is no literal default.
type table struct {
	File            string   `short:"f" long:"file" var:"FILE" value-name:"PATH" else:"standard input" check:"filled" unquote:"false" description:"file to serve; - is standard input"`
	StdinTimeout    string   `long:"stdin-read-timeout-seconds" var:"STDIN_READ_TIMEOUT_SECONDS" value-name:"N" default:"60" check:"whole 1 86400" unquote:"false" description:"how long to wait for the end of standard input"`
	Host            string   `short:"h" long:"host" var:"HOST" value-name:"ADDR" default:"127.0.0.1" check:"host" unquote:"false" description:"address to listen on, or unix:PATH"`
	Port            string   `short:"p" long:"port" var:"PORT" value-name:"N" default:"5000" check:"whole 0 65535" unquote:"false" description:"port to listen on; 0 picks a free one"`
	MaxContent      string   `long:"max-content-bytes" var:"MAX_CONTENT_BYTES" value-name:"N" default:"67108864" check:"whole 1 1099511627776" unquote:"false" description:"refuse content larger than this"`
	Path            string   `long:"path" var:"SERVE_PATH" value-name:"P" else:"any path" check:"path" unquote:"false" description:"serve only this exact path"`
	ContentType     string   `long:"content-type" var:"CONTENT_TYPE" value-name:"T" else:"by file name, else by content" check:"media-type" unquote:"false" description:"content-type to send, verbatim"`
	Header          []string `long:"header" var:"HEADERS" value-name:"'Name: value'" else:"none" check:"header" unquote:"false" description:"field to add to every answer with content (repeat; variable: one a line)"`
	Compression     string   `long:"compression" var:"COMPRESSION" value-name:"C" default:"auto" check:"one-of auto off" unquote:"false" description:"auto or off: br and gzip variants, made once"`
	ReloadInterval  string   `long:"reload-interval-seconds" var:"RELOAD_INTERVAL_SECONDS" value-name:"N" default:"0" check:"whole 0 86400" unquote:"false" description:"look at the file so often, and load it when it changed; 0 is never"`
	MaxConnections  string   `long:"max-connections" var:"MAX_CONNECTIONS" value-name:"N" default:"20000" check:"whole 1 1000000" unquote:"false" description:"at this many the longest silent one makes room"`
	HeaderTimeout   string   `long:"header-timeout-seconds" var:"HEADER_TIMEOUT_SECONDS" value-name:"N" default:"10" check:"whole 1 86400" unquote:"false" description:"first byte to end of a request head"`
	IdleTimeout     string   `long:"idle-timeout-seconds" var:"IDLE_TIMEOUT_SECONDS" value-name:"N" default:"75" check:"whole 1 86400" unquote:"false" description:"silence between requests"`
	WriteTimeout    string   `long:"write-timeout-seconds" var:"WRITE_TIMEOUT_SECONDS" value-name:"N" default:"30" check:"whole 1 86400" unquote:"false" description:"no byte of an answer accepted by the peer"`
	ShutdownTimeout string   `long:"shutdown-timeout-seconds" var:"SHUTDOWN_TIMEOUT_SECONDS" value-name:"N" default:"5" check:"whole 1 86400" unquote:"false" description:"how long a drain may take"`
	Threads         string   `long:"threads" var:"THREADS" value-name:"N" else:"the CPUs this cgroup grants" check:"whole 1 1024" unquote:"false" description:"workers"`
	Preset          string   `long:"preset" var:"PRESET" value-name:"P" else:"none" check:"one-of mta-sts" unquote:"false" description:"mta-sts: check the content, and serve it as a policy should be"`
	Sandbox         string   `long:"sandbox" var:"SANDBOX" value-name:"S" default:"auto" check:"one-of auto off required" unquote:"false" description:"auto, off, required: give up what serving does not need"`
	Admin           string   `long:"admin" var:"ADMIN" value-name:"ADDR:PORT" else:"none" check:"socket" unquote:"false" description:"listen there for /metrics, /healthz and /readyz"`
	AccessLog       string   `long:"access-log" var:"ACCESS_LOG" value-name:"F" default:"off" check:"one-of off common json" unquote:"false" description:"off, common, json: a line for each answer on standard output"`
	LogLevel        string   `long:"log-level" var:"LOG_LEVEL" value-name:"L" default:"info" check:"one-of error warn info debug trace" unquote:"false" description:"error, warn, info, debug or trace"`
	LogFormat       string   `long:"log-format" var:"LOG_FORMAT" value-name:"F" default:"text" check:"one-of text json" unquote:"false" description:"text or json, on standard error"`

	Health struct{} `command:"healthcheck"`
	MTASTS command  `command:"mta-sts" subcommands-optional:"true"`

	Help    func() error `long:"help" description:"print this"`
	Version func() error `long:"version" description:"print the version"`
}
