//! Diagnostics on standard error: one event a line, text or JSON (K-20).

use std::io::{self, Write};
use std::time::SystemTime;

use env_logger::{Builder, Target};
use log::{LevelFilter, Record};

use super::stream;
use crate::access_log::{JSON, escape};
use crate::config::LogFormat;
use crate::content::seconds;
use crate::respond::date;

/// Sends the events of `log`'s macros to standard error. Call it once.
pub fn init(level: LevelFilter, format: LogFormat) {
    Builder::new()
        // Events of libraries are not part of the contract.
        .filter_module(env!("CARGO_CRATE_NAME"), level)
        .format(move |out, record| out.write_all(&line(record, SystemTime::now(), format)))
        .target(Target::Pipe(Box::new(Stderr)))
        .init();
}

/// Standard error for env_logger.
struct Stderr;

impl Write for Stderr {
    /// `line` is a whole line, since env_logger writes each event at once.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        stream::offer(&io::stderr(), line);
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn line(record: &Record, now: SystemTime, format: LogFormat) -> Vec<u8> {
    let time = date::rfc3339(seconds(now));
    let level = record.level().as_str().to_lowercase();
    let (start, escapes, end) = match format {
        LogFormat::Text => (format!("{time} {level} "), ["\"", "\\"], "\n"),
        LogFormat::Json => (format!("{{\"time\":\"{time}\",\"level\":\"{level}\",\"msg\":\""), JSON, "\"}\n"),
    };
    let mut line = start.into_bytes();
    escape(&mut line, &record.args().to_string(), escapes);
    line.extend_from_slice(end.as_bytes());
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use log::Level;
    use std::time::{Duration, UNIX_EPOCH};

    fn logged(message: &str, level: Level, format: LogFormat) -> String {
        let now = UNIX_EPOCH + Duration::from_secs(1_795_244_400);
        let line = line(&Record::builder().level(level).args(format_args!("{message}")).build(), now, format);
        String::from_utf8(line).unwrap()
    }

    #[test]
    fn an_event_is_one_line() {
        assert_eq!(
            logged("a \"b\"\nc\u{1b}\\", Level::Info, LogFormat::Text),
            "2026-11-21T07:00:00Z info a \"b\"\\u000ac\\u001b\\\n"
        );
        assert_eq!(
            logged("a \"b\"\nc\u{1b}\\", Level::Warn, LogFormat::Json),
            "{\"time\":\"2026-11-21T07:00:00Z\",\"level\":\"warn\",\"msg\":\"a \\\"b\\\"\\u000ac\\u001b\\\\\"}\n"
        );
    }

    #[derive(serde::Deserialize)]
    struct Value {
        msg: String,
    }

    proptest::proptest! {
        #[test]
        fn json_is_read_as_it_was_said(message in "[\\PC\\x00-\\x1f\\x7f-\\x9f\"\\\\]{0,200}") {
            let line = logged(&message, Level::Info, LogFormat::Json);
            proptest::prop_assert_eq!(line.lines().count(), 1);
            let value: Value = serde_json::from_str(&line).unwrap();
            proptest::prop_assert_eq!(value.msg, message);
        }
    }
}
