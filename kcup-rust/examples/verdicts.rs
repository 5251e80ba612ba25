//! Writes what the guard and the parsers say of the fuzzers' corpus, for `make verdicts` to compare with the other
//! program's: `verdicts CORPUS OUT`, one file for each target, one line for each input.

use std::ffi::OsString;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

use kcup_rust::access_log::{self, Peer};
use kcup_rust::config::{self, Parsed};
use kcup_rust::respond::encoding::{self, Coding};
use kcup_rust::respond::precondition::{matches, same_strongly, same_weakly};
use kcup_rust::respond::range::{self, Selected};
use kcup_rust::respond::trim;
use kcup_rust::server::guard::{Guard, Verdict};

type Judge = fn(&[u8]) -> String;

fn main() -> io::Result<()> {
    let mut arguments = env::args_os().skip(1).map(PathBuf::from);
    let (Some(corpus), Some(out)) = (arguments.next(), arguments.next()) else {
        return Err(io::Error::other("usage: verdicts CORPUS OUT"));
    };
    let targets: [(&str, Judge); 5] = [
        ("guard", guard),
        ("range", range),
        ("accept_encoding", accept_encoding),
        ("etag", etag),
        ("client", client),
    ];
    for (target, judge) in targets {
        fs::write(out.join(target), verdicts(&corpus.join(target), judge)?)?;
    }
    Ok(())
}

/// In the order of the names.
fn verdicts(directory: &Path, judge: Judge) -> io::Result<String> {
    let paths: io::Result<Vec<PathBuf>> = fs::read_dir(directory)?.map(|entry| Ok(entry?.path())).collect();
    let mut paths = paths?;
    paths.sort();
    let mut text = String::new();
    for path in paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let _ = writeln!(text, "{name} {}", judge(&fs::read(&path)?));
    }
    Ok(text)
}

fn guard(head: &[u8]) -> String {
    match Guard::default().scan(head) {
        Verdict::Partial => "partial".into(),
        Verdict::Refused(status) => format!("refused {}", status.as_u16()),
        Verdict::Complete(facts) => {
            format!("complete {} {} {} {}", facts.length, facts.skip, facts.body, facts.keep_alive)
        }
    }
}

fn range(value: &[u8]) -> String {
    let judge = |length| match range::parse(trim(value), length) {
        None => "ignored".into(),
        Some(Selected::Unsatisfiable) => "unsatisfiable".into(),
        Some(Selected::Bytes { first, last }) => format!("{first}-{last}"),
    };
    [1, 10, 1_000_000].map(judge).join(" ")
}

/// LF, which no value can contain, separates the lines of a field.
fn lines(input: &[u8]) -> impl Iterator<Item = &[u8]> {
    input.split(|&byte| byte == b'\n')
}

fn accept_encoding(input: &[u8]) -> String {
    let judge = |(br, gzip)| match encoding::choose(lines(input), br, gzip) {
        Coding::Br => "br",
        Coding::Gzip => "gzip",
        Coding::Identity => "identity",
    };
    [(false, false), (true, false), (false, true), (true, true)].map(judge).join(" ")
}

fn etag(input: &[u8]) -> String {
    let judge = |tag: &str| {
        let same = [same_strongly, same_weakly] as [fn(&[u8], &[u8]) -> bool; 2];
        same.map(|same| matches(lines(input), tag.as_bytes(), same).to_string()).join(" ")
    };
    ["\"abc\"", "W/\"abc-br\""].map(judge).join(" ")
}

/// The input is the value of each field.
fn client(input: &[u8]) -> String {
    let Ok(Parsed::Serve(options)) =
        config::parse(["kcup", "--trusted-proxy=10.0.0.0/8,2001:db8::/48"].map(OsString::from))
    else {
        unreachable!("the options are valid");
    };
    let judge = |name: &str| {
        let fields = lines(input).map(|line| [name.as_bytes(), b":", line, b"\r\n"].concat());
        let head = Vec::from_iter(fields).concat();
        access_log::client(Peer::Address([10, 0, 0, 1].into()), &head, &options.trusted_proxies).to_string()
    };
    ["forwarded", "x-forwarded-for"].map(judge).join(" ")
}
