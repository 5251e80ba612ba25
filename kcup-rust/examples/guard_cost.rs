//! Scans a browser's request head as often as the argument says, for callgrind to count; see `make bench-guard`.

use std::hint::black_box;

use kcup_rust::server::guard::Guard;

const HEAD: &[u8] = b"GET /.well-known/mta-sts.txt?source=browser HTTP/1.1\r\nHost: mta-sts.example.com\r\n\
    User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0\r\n\
    Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\n\
    Accept-Language: en-US,en;q=0.5\r\nAccept-Encoding: gzip, deflate, br, zstd\r\nDNT: 1\r\n\
    Connection: keep-alive\r\nUpgrade-Insecure-Requests: 1\r\nSec-Fetch-Dest: document\r\n\r\n";

fn main() {
    let times: usize = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(1);
    for _ in 0..times {
        black_box(Guard::default().scan(black_box(HEAD)));
    }
    println!("{}", times * HEAD.len());
}
