//! Baselines in Rust: hyper as one writes it first, a task for each connection on one runtime whose threads share all of
//! them. Its sibling is ../../go/main.go.
//!
//! bench-rust arc-string|bytes FILE PORT THREADS

use std::{convert::Infallible, io, sync::Arc};

use bytes::Bytes;
use http_body_util::Full;
use hyper::{body::Incoming, server::conn::http1, service::service_fn, Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

/// How a response gets its body from the content.
#[derive(Clone)]
enum Content {
    /// Shared by all, and copied for every response.
    ArcString(Arc<String>),
    /// Shared by all responses.
    Bytes(Bytes),
}

impl Content {
    fn body(&self) -> Full<Bytes> {
        Full::new(match self {
            Self::ArcString(text) => Bytes::from(String::clone(text)),
            Self::Bytes(bytes) => bytes.clone(),
        })
    }
}

async fn serve(content: Content, port: u16) -> io::Result<()> {
    let listener = TcpListener::bind(("127.0.0.1", port)).await?;
    loop {
        let (stream, _) = listener.accept().await?;
        let content = content.clone();
        tokio::spawn(async move {
            let answer = service_fn(move |_: Request<Incoming>| {
                let body = content.body();
                async { Ok::<_, Infallible>(Response::new(body)) }
            });
            // A client that has gone is not an error.
            let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), answer).await;
        });
    }
}

/// The versions in the lock file, which are those that were built in.
fn version(library: &str) -> &str {
    let entry = format!("name = \"{library}\"\nversion = \"");
    let found = include_str!("../Cargo.lock").split_once(&entry);
    found.and_then(|(_, rest)| rest.split('"').next()).unwrap_or("unknown")
}

fn main() -> io::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let (variant, file, port, threads) = match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [variant, file, port, threads] => (variant, file, port, threads),
        ["--version"] => {
            println!("hyper {}, tokio {}", version("hyper"), version("tokio"));
            return Ok(());
        }
        _ => panic!("usage: bench-rust arc-string|bytes FILE PORT THREADS"),
    };
    let content = match variant {
        "arc-string" => Content::ArcString(Arc::new(std::fs::read_to_string(file)?)),
        "bytes" => Content::Bytes(std::fs::read(file)?.into()),
        other => panic!("no such variant: {other}"),
    };
    let threads = threads.parse().expect("THREADS is a number");
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(threads).enable_io().build()?;
    runtime.block_on(serve(content, port.parse().expect("PORT is a number")))
}
