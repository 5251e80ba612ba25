//! What a client sends changes nothing of what a trusted proxy adds at the end. LF separates the lines of the field.
#![no_main]

use std::sync::LazyLock;

use kcup_rust::access_log::{client, Peer};
use kcup_rust::config::{self, Parsed, Proxies};
use libfuzzer_sys::fuzz_target;

static PROXIES: LazyLock<Proxies> =
    LazyLock::new(|| match config::parse(["kcup".into(), "--trusted-proxy=10.0.0.0/8".into()]) {
        Ok(Parsed::Serve(options)) => options.trusted_proxies,
        _ => panic!("the options are valid"),
    });

const MEMBER: &[u8] = br#"for="192.0.2.1:80";host="\", for=198.51.100.1;x=\"\\", for=10.0.0.2"#;

fuzz_target!(|sent: &[u8]| {
    let (proxy, real) = (Peer::Address([10, 0, 0, 1].into()), Peer::Address([192, 0, 2, 1].into()));
    let sent = Vec::from_iter(sent.split(|&byte| byte == b'\n')).join(&b' ');
    let found = |parts: &[&[u8]]| client(proxy, &parts.concat(), &PROXIES);
    for (name, member) in [(&b"forwarded:"[..], MEMBER), (b"x-forwarded-for:", b"192.0.2.1, 10.0.0.2")] {
        for between in [b",".to_vec(), [b"\r\n", name].concat()] {
            assert_eq!(found(&[name, &sent, &between, member, b"\r\n"]), real);
        }
    }
    let either = found(&[b"forwarded:", &sent, b"\r\nx-forwarded-for: 192.0.2.1\r\n"]);
    assert!(either == proxy || either == real);
});
