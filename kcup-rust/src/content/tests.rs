use std::io::Write;
use std::time::Duration;

use bytes::Bytes;

use super::*;
use crate::config::tests::options;

fn content(bytes: &[u8], args: &[&str]) -> Content {
    let source = Source::new(Bytes::copy_from_slice(bytes), Some(UNIX_EPOCH)).unwrap();
    Content::new(source, &options(&[], args)).unwrap()
}

#[test]
fn tags_are_the_first_half_of_the_sha256() {
    let content = content(b"abc", &[]);
    assert_eq!(content.identity.tag, "\"ba7816bf8f01cfea414140de5dae2223\"");
}

#[test]
fn variants_exist_for_text_of_1024_to_1048576_bytes() {
    for (length, want) in [(1023, false), (1024, true), (1_048_576, true), (1_048_577, false)] {
        let content = content(&vec![b'x'; length], &[]);
        assert_eq!((content.br.is_some(), content.gzip.is_some()), (want, want), "{length}");
    }
    let content = content(&[b'x'; 2000], &[]);
    let (br, gzip) = (content.br.as_ref().unwrap(), content.gzip.as_ref().unwrap());
    let digits = content.identity.tag.trim_matches('"');
    assert_eq!(br.tag, format!("W/\"{digits}-br\""));
    assert_eq!(gzip.tag, format!("W/\"{digits}-gzip\""));
    assert_eq!(content.size(), 2000 + (br.body.len() + gzip.body.len()) as u64);
}

#[test]
fn variants_depend_on_the_type_and_the_option() {
    let text = [b'x'; 2000];
    assert!(content(&text, &["--compression", "off"]).br.is_none());
    assert!(content(&[255; 2000], &[]).br.is_none());
    assert!(content(&text, &["--file", "x.PNG"]).br.is_none());
    let named = content(&text, &["--file", "x.PNG", "--content-type", "text/x; charset=latin1"]);
    assert!(named.br.is_some());
    assert_eq!(named.media_type, "text/x; charset=latin1");
}

#[test]
fn times_are_whole_seconds_rounded_down() {
    let second = Duration::from_secs(1);
    assert_eq!(seconds(UNIX_EPOCH + second * 3 / 2), 1);
    assert_eq!(seconds(UNIX_EPOCH - second / 2), 0);
}

#[test]
fn shared_bytes_are_those_of_a_file_that_nobody_can_change() {
    use std::os::unix::fs::FileExt;

    let mut filling = Filling::new().unwrap();
    filling.write_all(b"01234").unwrap();
    filling.write_all(b"56789").unwrap();
    let shared = filling.finish().unwrap();
    let (file, offset) = shared.offset(&shared[3..7]).unwrap();
    let file = std::fs::File::from(file.try_clone_to_owned().unwrap());
    let mut part = [0; 4];
    file.read_exact_at(&mut part, offset).unwrap();
    assert_eq!(&part, b"3456");
    assert!(file.write_at(b"x", 0).is_err());
    assert!(file.set_len(1).is_err());
    assert_eq!(&shared[..], b"0123456789");
    assert!(Filling::new().unwrap().finish().unwrap().is_empty());
}
