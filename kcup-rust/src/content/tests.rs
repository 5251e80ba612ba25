use std::time::Duration;

use super::*;

fn settings() -> Settings {
    Settings {
        file_name: None,
        content_type: None,
        headers: Vec::new(),
        compression: Compression::Auto,
        path: None,
    }
}

fn content(bytes: &[u8], settings: &Settings) -> Content {
    Content::new(bytes.to_vec().into(), UNIX_EPOCH, settings)
}

fn header(name: &'static str, value: &'static str) -> (HeaderName, HeaderValue) {
    (
        HeaderName::from_static(name),
        HeaderValue::from_static(value),
    )
}

#[test]
fn tags_are_the_first_half_of_the_sha256() {
    let content = content(b"abc", &settings());
    assert_eq!(content.identity.tag, "\"ba7816bf8f01cfea414140de5dae2223\"");
    assert_eq!(content.identity.length, "3");
    assert_eq!(content.identity.coding, None);
}

#[test]
fn variants_exist_for_text_of_1024_to_1048576_bytes() {
    for (length, want) in [
        (1023, false),
        (1024, true),
        (1_048_576, true),
        (1_048_577, false),
    ] {
        let content = content(&vec![b'x'; length], &settings());
        assert_eq!(
            (content.br.is_some(), content.gzip.is_some()),
            (want, want),
            "{length}"
        );
        assert_eq!(content.vary.is_some(), want);
    }
    let content = content(&[b'x'; 2000], &settings());
    let (br, gzip) = (content.br.as_ref().unwrap(), content.gzip.as_ref().unwrap());
    let digits = content.identity.tag.to_str().unwrap().trim_matches('"');
    assert_eq!(br.tag, format!("W/\"{digits}-br\""));
    assert_eq!(gzip.tag, format!("W/\"{digits}-gzip\""));
    assert_eq!(br.coding.as_ref().unwrap(), "br");
    assert_eq!(br.length, br.body.len().to_string());
    assert_eq!(
        content.size(),
        2000 + (br.body.len() + gzip.body.len()) as u64
    );
}

#[test]
fn variants_depend_on_the_type_and_the_option() {
    let text = [b'x'; 2000];
    let off = Settings {
        compression: Compression::Off,
        ..settings()
    };
    assert!(content(&text, &off).br.is_none());
    assert!(content(&[255; 2000], &settings()).br.is_none());
    let named = Settings {
        file_name: Some("x.PNG".into()),
        ..settings()
    };
    assert!(content(&text, &named).br.is_none());
    let asked = Settings {
        content_type: Some(HeaderValue::from_static("text/x; charset=latin1")),
        ..named
    };
    let asked = content(&text, &asked);
    assert!(asked.br.is_some());
    assert_eq!(asked.content_type, "text/x; charset=latin1");
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
    assert_eq!(
        content(&text, &settings).vary.unwrap(),
        "accept-encoding, origin, cookie"
    );
    let small = content(b"x", &settings);
    assert_eq!(small.vary.unwrap(), "origin, cookie");
    assert_eq!(small.headers, [header("x-a", "1")]);
}

#[test]
fn times_are_whole_seconds_rounded_down() {
    let at = |time| Content::new(Bytes::from_static(b"x"), time, &settings()).last_modified;
    assert_eq!(
        at(UNIX_EPOCH + Duration::from_millis(1999)),
        "Thu, 01 Jan 1970 00:00:01 GMT"
    );
    assert_eq!(
        at(UNIX_EPOCH - Duration::from_millis(1)),
        "Wed, 31 Dec 1969 23:59:59 GMT"
    );
}

#[test]
fn the_bytes_are_not_copied() {
    let bytes = Bytes::from(vec![b'x'; 2000]);
    let content = Content::new(bytes.clone(), UNIX_EPOCH, &settings());
    assert_eq!(content.identity.body.as_ptr(), bytes.as_ptr());
}
