use super::*;

use crate::config::tests::options;
use crate::conformance;

#[derive(serde::Deserialize)]
struct Case {
    name: String,
    peer: String,
    trusted: Option<String>,
    fields: Vec<String>,
    want: String,
}

fn peer(text: &str) -> Peer {
    text.parse().map_or(Peer::Unix, Peer::Address)
}

fn trusting(list: Option<&str>) -> Proxies {
    let option = list.map(|list| format!("--trusted-proxy={list}"));
    options(&[], &Vec::from_iter(option.as_deref())).trusted_proxies
}

#[test]
fn clients_are_those_of_the_vectors() {
    for case in conformance::cases::<Case>("trusted_proxy") {
        let fields = case.fields.iter().map(|field| format!("{field}\r\n"));
        let head = format!("GET / HTTP/1.1\r\n{}\r\n", String::from_iter(fields));
        let client = client(peer(&case.peer), head.as_bytes(), &trusting(case.trusted.as_deref()));
        assert_eq!(client.to_string(), case.want, "{}", case.name);
    }
}

proptest::proptest! {
    /// What a client sends changes nothing of what a trusted proxy adds at the end, on the same line or on another.
    #[test]
    fn nothing_that_a_client_sends_is_believed(sent in "[a-z0-9 =;,:.\"\\\\\\[\\]]*|[\t -~]*") {
        let proxies = trusting(Some("10.0.0.0/8"));
        let proxy = peer("10.0.0.1");
        for added in [", ", "\r\nforwarded: "] {
            let member = r#"for="192.0.2.1:80";host="\", for=198.51.100.1;x=\"\\", for=10.0.0.2"#;
            let head = format!("GET / HTTP/1.1\r\nforwarded: {sent}{added}{member}\r\n\r\n");
            assert_eq!(client(proxy, head.as_bytes(), &proxies), peer("192.0.2.1"));
        }
        for added in [", ", "\r\nX-Forwarded-For: "] {
            let head = format!("GET / HTTP/1.1\r\nX-Forwarded-For: {sent}{added}192.0.2.1,10.0.0.2\r\n\r\n");
            assert_eq!(client(proxy, head.as_bytes(), &proxies), peer("192.0.2.1"));
            let both = format!("GET / HTTP/1.1\r\nForwarded: {sent}\r\nX-Forwarded-For: 192.0.2.1\r\n\r\n");
            let client = client(proxy, both.as_bytes(), &proxies);
            assert!(client == proxy || client == peer("192.0.2.1"));
        }
    }
}
