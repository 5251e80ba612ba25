use std::os::unix::ffi::OsStringExt;
use std::sync::Mutex;
use std::time::Duration;

use log::LevelFilter;

use super::*;

/// The environment is one for all tests.
static ENVIRONMENT: Mutex<()> = Mutex::new(());

pub(super) fn parse_with(variables: &[(&str, &str)], args: &[&str]) -> Result<Parsed, String> {
    let args = args.iter().map(|arg| OsString::from(*arg)).collect();
    parse_raw(variables, args)
}

fn parse_raw(variables: &[(&str, &str)], args: Vec<OsString>) -> Result<Parsed, String> {
    let _alone = ENVIRONMENT.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    for row in table::rows() {
        // SAFETY: only these tests use the environment, one at a time.
        unsafe { std::env::remove_var(row.variable) };
    }
    for (name, value) in variables {
        // SAFETY: as above.
        unsafe { std::env::set_var(name, value) };
    }
    parse(std::iter::once("kcup".into()).chain(args))
}

/// The options of a command line that has no fault.
pub(crate) fn options(variables: &[(&str, &str)], args: &[&str]) -> Options {
    match parse_with(variables, args) {
        Ok(Parsed::Serve(options)) => options,
        other => panic!("{args:?}: {other:?}"),
    }
}

fn fault(args: &[&str]) -> String {
    parse_with(&[], args).expect_err("a usage error")
}

fn printed(args: &[&str]) -> String {
    match parse_with(&[], args) {
        Ok(Parsed::Print(text)) => text,
        other => panic!("{args:?}: {other:?}"),
    }
}

#[test]
fn defaults_are_those_of_the_contract() {
    let options = options(&[], &[]);
    assert_eq!(options.file, None);
    assert_eq!(options.stdin_read_timeout, Duration::from_secs(60));
    assert_eq!(options.host.to_string(), "127.0.0.1");
    assert_eq!(options.port, 5000);
    assert_eq!(options.max_content_bytes, 67108864);
    assert!(options.path.is_none() && options.content_type.is_none() && options.headers.is_empty());
    assert_eq!(options.compression, Compression::Auto);
    assert_eq!(options.max_connections, 20000);
    assert_eq!(options.header_timeout, Duration::from_secs(10));
    assert_eq!(options.idle_timeout, Duration::from_secs(75));
    assert_eq!(options.write_timeout, Duration::from_secs(30));
    assert_eq!(options.shutdown_timeout, Duration::from_secs(5));
    assert!(options.threads >= 1);
    assert_eq!((options.sandbox, options.admin, options.access_log), (Sandbox::Auto, None, None));
    assert_eq!(options.log_level, LevelFilter::Info);
    assert_eq!(options.log_format, LogFormat::Text);
}

#[test]
fn a_value_follows_its_option_in_four_ways() {
    for args in [&["--port", "80"][..], &["--port=80"], &["-p", "80"], &["-p80"], &["-p=80"]] {
        assert_eq!(options(&[], args).port, 80, "{args:?}");
    }
    assert_eq!(options(&[], &["-h", "::1"]).host.to_string(), "::1");
    assert_eq!(options(&[], &["-fa b"]).file, Some("a b".into()));
    assert_eq!(options(&[], &["--file==x"]).file, Some("=x".into()));
    assert_eq!(options(&[], &["--file=--"]).file, Some("--".into()));
    assert_eq!(options(&[], &["--file=--port"]).file, Some("--port".into()));
    assert_eq!(options(&[], &["--file=---x", "--"]).file, Some("---x".into()));
    assert_eq!(options(&[], &["--file=a,b"]).file, Some("a,b".into()));
}

#[test]
fn an_option_beats_its_variable_and_an_empty_variable_is_unset() {
    assert_eq!(options(&[("PORT", "81")], &[]).port, 81);
    assert_eq!(options(&[("PORT", "81")], &["--port", "5000"]).port, 5000);
    assert_eq!(options(&[("PORT", "")], &[]).port, 5000);
    assert_eq!(options(&[("FILE", "")], &[]).file, None);
    assert_eq!(options(&[("FILE", "x")], &["-f", "-"]).file, None);
    assert_eq!(options(&[("SERVE_PATH", "/x")], &[]).path.as_deref(), Some("/x"));
    assert_eq!(options(&[("PORT", "x")], &["-p1"]).port, 1);
}

#[test]
fn the_last_of_an_option_given_twice_wins_except_header() {
    assert_eq!(options(&[], &["-p1", "--port=2", "-p", "3"]).port, 3);
    assert_eq!(options(&[], &["--port=x", "--port=2"]).port, 2);
    let fields =
        options(&[("HEADERS", "Z: 9")], &["--header", "B: 1, 2", "--header=a:  x\ty ", "--header", "B:"])
            .headers;
    let fields: Vec<_> =
        fields.iter().map(|(name, value)| (name.as_str(), value.to_str().unwrap())).collect();
    assert_eq!(fields, [("b", "1, 2"), ("a", "x\ty"), ("b", "")]);
}

#[test]
fn a_host_may_be_a_unix_socket() {
    let longest = "x".repeat(107);
    for path in ["/run/kcup.sock", "x", "unix:x", &longest] {
        let host = format!("unix:{path}");
        match parse_with(&[("PORT", "0")], &["-h", &host, "healthcheck"]) {
            Ok(Parsed::CheckHealth(options)) => assert_eq!(options.host, Host::Unix(path.into())),
            other => panic!("{other:?}"),
        }
    }
    let host = format!("unix:{longest}x");
    assert_eq!(fault(&["--host", &host]), format!("--host: \"{host}\" is too long for a unix socket"));
}

#[test]
fn an_interval_of_zero_is_never() {
    assert_eq!(options(&[], &["--reload-interval-seconds=0"]).reload_interval, None);
    let day = options(&[("RELOAD_INTERVAL_SECONDS", "86400")], &[]).reload_interval;
    assert_eq!(day, Some(Duration::from_secs(86400)));
}

#[test]
fn the_variable_of_header_holds_one_a_line() {
    let fields = options(&[("HEADERS", "\nA: 1, 2\n\nB: 3\n")], &[]).headers;
    assert_eq!(fields.len(), 2);
    assert_eq!(fields[0].1, "1, 2");
    let fault = parse_with(&[("HEADERS", "A: 1\nb")], &[]).unwrap_err();
    assert_eq!(fault, "HEADERS: \"b\" is not \"Name: value\"");
}

#[test]
fn every_row_names_itself_when_its_value_is_bad() {
    let bad = "\u{7f}";
    for row in table::rows().iter().filter(|row| !["file", "text", "tls-cert", "tls-key"].contains(&row.name))
    {
        let by_option = fault(&[&format!("--{}={bad}", row.name)]);
        assert!(by_option.starts_with(&format!("--{}: \"\\u{{7f}}\" ", row.name)), "{by_option}");
        let by_variable = parse_with(&[(row.variable, bad)], &[]).unwrap_err();
        assert!(by_variable.starts_with(&format!("{}: \"\\u{{7f}}\" ", row.variable)), "{by_variable}");
        assert_eq!(fault(&[&format!("--{}", row.name)]), format!("--{} needs a value", row.name));
    }
}

#[test]
fn faults_are_worded_as_promised() {
    for (args, want) in [
        (&["--port", "70000"][..], "--port: \"70000\" is not a whole number from 0 to 65535"),
        (&["-p", ""], "--port: \"\" is not a whole number from 0 to 65535"),
        (&["--port=+5"], "--port: \"+5\" is not a whole number from 0 to 65535"),
        (
            &["--port=99999999999999999999999"],
            "--port: \"99999999999999999999999\" is not a whole number from 0 to 65535",
        ),
        (&["--threads=0"], "--threads: \"0\" is not a whole number from 1 to 1024"),
        (
            &["--max-content-bytes=0"],
            "--max-content-bytes: \"0\" is not a whole number from 1 to 1099511627776",
        ),
        (&["--file="], "--file: \"\" is empty"),
        (
            &["-h", "Localhost"],
            "--host: \"Localhost\" is not an IPv4 or IPv6 address, localhost or unix:PATH",
        ),
        (&["-h", "unix:"], "--host: \"unix:\" is not an IPv4 or IPv6 address, localhost or unix:PATH"),
        (&["-p", "0", "healthcheck"], "healthcheck needs a port"),
        (&["healthcheck", "x"], "unexpected argument \"x\" (see kcup --help)"),
        (&["--path", "x"], "--path: \"x\" does not start with \"/\""),
        (&["--path", "/a?b"], "--path: \"/a?b\" is not a path"),
        (&["--content-type", "text"], "--content-type: \"text\" is not a media type"),
        (&["--header", "x"], "--header: \"x\" is not \"Name: value\""),
        (&["--header", "Date: x"], "--header: \"Date: x\" sets a field that kcup sets itself"),
        (&["--compression", "gzip"], "--compression: \"gzip\" is not one of auto, off"),
        (&["--log-level", "Info"], "--log-level: \"Info\" is not one of error, warn, info, debug"),
        (&["--log-format", "a\nb"], "--log-format: \"a\\nb\" is not one of text, json"),
    ] {
        assert_eq!(fault(args), want);
    }
}

#[test]
fn bytes_that_are_not_utf8_are_a_file_or_a_fault() {
    let raw = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
    for args in [vec!["-f".into(), raw(b"\xff")], vec![raw(b"\xff")]] {
        match parse_raw(&[], args) {
            Ok(Parsed::Serve(options)) => assert_eq!(options.file, Some(raw(b"\xff").into())),
            other => panic!("{other:?}"),
        }
    }
    for args in [vec![raw(b"--\xff")], vec![raw(b"-\xff")], vec!["--x".into(), raw(b"\xff")]] {
        assert!(parse_raw(&[], args).is_err());
    }
    let fault = parse_raw(&[], vec![raw(b"--path=/\xff")]).unwrap_err();
    assert_eq!(fault, "--path: \"/\u{fffd}\" is not a path");
}

#[test]
fn help_names_every_row_and_beats_what_follows() {
    let help = printed(&["--help", "--x"]);
    for row in table::rows() {
        let short = row.short.map_or("    ".into(), |short| format!("-{short}, "));
        assert!(help.contains(&format!("\n  {short}--{} ", row.name)), "{}", row.name);
        assert!(help.contains(&format!("[env: {}]", row.variable)), "{}", row.variable);
    }
    assert!(!table::rows().is_empty());
    assert_eq!(printed(&["--version"]), format!("kcup {} (rust)\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn each_command_has_its_own_help() {
    let texts: Vec<_> =
        [&["--help"][..], &["healthcheck", "--help"], &["mta-sts", "-p1", "lint", "x", "--help"]]
            .map(printed)
            .into();
    assert!(texts[1].contains("Usage: kcup healthcheck"));
    assert!(texts[2].contains("--format F") && !texts[0].contains("--format F"));
}

#[test]
fn localhost_is_an_address_and_needs_no_resolver() {
    assert_eq!(options(&[("HOST", "localhost")], &[]).host.to_string(), "127.0.0.1");
    assert_eq!(options(&[], &["--admin=:9000"]).admin.unwrap().to_string(), "[::]:9000");
}

#[test]
fn a_certificate_takes_a_key() {
    let both = options(&[("TLS_KEY", "k")], &["--tls-cert", "c"]).tls.unwrap();
    assert_eq!((both.certificate.to_str(), both.key.to_str()), (Some("c"), Some("k")));
    assert!(options(&[("TLS_KEY", "")], &[]).tls.is_none());
    assert_eq!(fault(&["--tls-cert=c"]), "--tls-cert needs --tls-key (or TLS_KEY)");
    assert_eq!(fault(&["--tls-key=k"]), "--tls-key needs --tls-cert (or TLS_CERT)");
    assert_eq!(fault(&["--tls-key="]), "--tls-key: \"\" is empty");
}
