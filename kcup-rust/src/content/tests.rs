use std::io::Write;
use std::time::Duration;

use bytes::Bytes;

use super::*;

fn settings() -> Settings {
    Settings {
        file_name: None,
        content_type: None,
        headers: Vec::new(),
        compression: Compression::Auto,
        plain: false,
        path: None,
    }
}

fn content(bytes: &[u8], settings: &Settings) -> Content {
    Content::new(Bytes::copy_from_slice(bytes), UNIX_EPOCH, settings)
}

fn header(name: &'static str, value: &'static str) -> (HeaderName, HeaderValue) {
    (HeaderName::from_static(name), HeaderValue::from_static(value))
}

fn ok(representation: &Representation) -> String {
    String::from_utf8(representation.ok.bytes().to_vec()).unwrap()
}

#[test]
fn tags_are_the_first_half_of_the_sha256() {
    let content = content(b"abc", &settings());
    assert_eq!(content.identity.tag, "\"ba7816bf8f01cfea414140de5dae2223\"");
    assert!(ok(&content.identity).contains("\r\ncontent-length: 3\r\netag: \"ba78"));
}

#[test]
fn variants_exist_for_text_of_1024_to_1048576_bytes() {
    for (length, want) in [(1023, false), (1024, true), (1_048_576, true), (1_048_577, false)] {
        let content = content(&vec![b'x'; length], &settings());
        assert_eq!((content.br.is_some(), content.gzip.is_some()), (want, want), "{length}");
        assert_eq!(ok(&content.identity).contains("\r\nvary: accept-encoding\r\n"), want);
    }
    let content = content(&[b'x'; 2000], &settings());
    let (br, gzip) = (content.br.as_ref().unwrap(), content.gzip.as_ref().unwrap());
    let digits = content.identity.tag.trim_matches('"');
    assert_eq!(br.tag, format!("W/\"{digits}-br\""));
    assert_eq!(gzip.tag, format!("W/\"{digits}-gzip\""));
    let fields = format!("\r\ncontent-length: {}\r\ncontent-encoding: br\r\netag: W/", br.body.len());
    assert!(ok(br).contains(&fields), "{}", ok(br));
    assert_eq!(content.size(), 2000 + (br.body.len() + gzip.body.len()) as u64);
}

#[test]
fn variants_depend_on_the_type_and_the_option() {
    let text = [b'x'; 2000];
    let off = Settings { compression: Compression::Off, ..settings() };
    assert!(content(&text, &off).br.is_none());
    assert!(content(&[255; 2000], &settings()).br.is_none());
    let named = Settings { file_name: Some("x.PNG".into()), ..settings() };
    assert!(content(&text, &named).br.is_none());
    let asked = Settings { content_type: Some(HeaderValue::from_static("text/x; charset=latin1")), ..named };
    let asked = content(&text, &asked);
    assert!(asked.br.is_some());
    assert!(ok(&asked.identity).contains("\r\ncontent-type: text/x; charset=latin1\r\n"));
}

#[test]
fn vary_is_one_line_with_ours_first() {
    let text = [b'x'; 2000];
    let settings = Settings {
        headers: vec![
            header("vary", "origin"),
            header("x-a", "1"),
            header("vary", "cookie"),
            header("vary", ""),
        ],
        ..settings()
    };
    let rest = |content: Content| {
        let ok = ok(&content.identity);
        ok[ok.find("accept-ranges").unwrap()..].to_owned()
    };
    assert_eq!(
        rest(content(&text, &settings)),
        "accept-ranges: bytes\r\nvary: accept-encoding, origin, cookie\r\nx-a: 1\r\n"
    );
    assert_eq!(rest(content(b"x", &settings)), "accept-ranges: bytes\r\nvary: origin, cookie\r\nx-a: 1\r\n");
}

#[test]
fn a_304_leaves_out_what_describes_the_body() {
    let content = content(b"x", &settings());
    let head = String::from_utf8(content.identity.not_modified.bytes().to_vec()).unwrap();
    let tag = &content.identity.tag;
    let modified = "Thu, 01 Jan 1970 00:00:00 GMT";
    assert_eq!(head, format!("HTTP/1.1 304 Not Modified\r\netag: {tag}\r\nlast-modified: {modified}\r\n"));
}

#[test]
fn times_are_whole_seconds_rounded_down() {
    let at = |time| {
        let content = Content::new(Bytes::from_static(b"x"), time, &settings());
        let ok = ok(&content.identity);
        let value = ok.split("last-modified: ").nth(1).unwrap();
        value[..value.find('\r').unwrap()].to_owned()
    };
    let second = Duration::from_secs(1);
    assert_eq!(at(UNIX_EPOCH + second * 3 / 2), "Thu, 01 Jan 1970 00:00:01 GMT");
    assert_eq!(at(UNIX_EPOCH - second / 2), "Wed, 31 Dec 1969 23:59:59 GMT");
}

#[test]
fn shared_bytes_are_those_of_a_file_that_nobody_can_change() {
    use std::os::unix::fs::FileExt;

    let mut filling = Filling::new().unwrap();
    filling.write_all(b"01234").unwrap();
    filling.write_all(b"56789").unwrap();
    let shared = filling.seal().unwrap();
    let (file, offset) = shared.offset(&shared[3..7]).unwrap();
    let file = std::fs::File::from(file.try_clone_to_owned().unwrap());
    let mut part = [0; 4];
    file.read_exact_at(&mut part, offset).unwrap();
    assert_eq!(&part, b"3456");
    assert!(file.write_at(b"x", 0).is_err());
    assert!(file.set_len(1).is_err());
    assert_eq!(&shared[..], b"0123456789");
    assert!(Filling::new().unwrap().seal().unwrap().is_empty());
}
