use super::*;

#[test]
fn media_types_are_those_of_the_rfc() {
    for good in
        ["text/html", "text/html;charset=utf-8", "a/b ; c=\"d; \\\"e\" ;f=g", "a/b;", "a/b;;c=d", "a/b "]
    {
        assert!(media_type(good).is_ok(), "{good}");
    }
    for bad in [
        "", "/", "a/", "/b", "a", " a/b", "a/b c", "a/b;c", "a/b;c=", "a/b;c=\"d", "a/b;c=\"d\"e", "a/b;c=é",
        "a/b/c", "a/b;\tc=d", "a/b;c =d",
    ] {
        assert!(media_type(bad).is_err(), "{bad}");
    }
}

#[test]
fn an_address_has_its_port() {
    for good in ["127.0.0.1:0", "0.0.0.0:65535", "[::1]:9090", "[::ffff:1.2.3.4]:080"] {
        assert!(address_and_port(good).is_ok(), "{good}");
    }
    for (short, full) in [(":80", "[::]:80"), ("localhost:0", "127.0.0.1:0")] {
        assert_eq!(address_and_port(short), Ok(full.parse().unwrap()));
    }
    for bad in [
        "", ":", ":1:80", ":[::1]:80", "localhost", "localhost:", "::1:80", "[::1]", "127.0.0.1",
        "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:+1",
    ] {
        assert!(address_and_port(bad).is_err(), "{bad}");
    }
    for bad in
        ["Localhost:80", "localhost.:80", "[fe80::1%1]:80", "[127.0.0.1]:80", " 127.0.0.1:80", "unix:/x:80"]
    {
        assert!(address_and_port(bad).is_err(), "{bad}");
    }
}

proptest::proptest! {
    #[test]
    fn no_value_panics(text in "\\PC*|[a-z/;=\" \\\\,:-]*") {
        let _ = (media_type(&text), field(&text), path(&text));
            }
}
