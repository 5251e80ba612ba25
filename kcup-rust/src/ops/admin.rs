//! The listener of `--admin` (K-115 to K-118): hyper on a thread and a runtime of its own, so that no
//! load here delays connections of the public listener.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::future::ready;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::CONTENT_TYPE;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};
use tokio::task::{JoinHandle, yield_now};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::metrics::{self, Numbers};
use super::process::Process;
use super::reload::Reloads;
use crate::config::Host;
use crate::content::cannot;
use crate::server::envelope::ADMIN_CONNECTIONS;
use crate::server::guard::MAX_HEAD;
use crate::server::{Listener, View};

/// The time that a connection has at least before it makes room for another.
const GRACE: Duration = Duration::from_millis(50);
/// The longest time of a connection.
const LIMIT: Duration = Duration::from_secs(10);
/// The pause in accepting when the system is out of a resource.
const PAUSE: Duration = Duration::from_millis(100);

const TEXT: &str = "text/plain; charset=utf-8";
const METRICS: &str = "text/plain; version=0.0.4; charset=utf-8";

/// A listener, and the files that its metrics are read from.
pub struct Admin {
    runtime: Runtime,
    listener: Listener,
    process: Process,
}

/// The sources of responses.
struct Sources {
    process: Process,
    view: View,
    reloads: Arc<Reloads>,
}

impl Admin {
    /// Opens everything, and accepts nothing yet. The error is the line of K-16.
    pub fn open(address: SocketAddr) -> Result<Admin, String> {
        let listener = Listener::bind(&Host::Ip(address.ip()), address.port())?;
        let runtime = Builder::new_current_thread().enable_io().enable_time().build();
        let runtime = runtime.map_err(cannot("start the admin listener"))?;
        Ok(Admin { runtime, listener, process: Process::open() })
    }

    /// Serves from now on, until the process ends.
    pub fn start(self, view: View, reloads: Arc<Reloads>) -> Result<(), String> {
        let Admin { runtime, listener: Listener { socket, name, .. }, process } = self;
        let listener = {
            let _inside = runtime.enter();
            TcpListener::from_std(socket.into())
        };
        let listener = listener.map_err(cannot("watch the admin listener"))?;
        log::info!("admin listening on {name}");
        let sources = Arc::new(Sources { process, view, reloads });
        let serve = move || runtime.block_on(accept(listener, sources));
        let thread = thread::Builder::new().name("admin".into()).spawn(serve);
        thread.map(drop).map_err(cannot("start the admin listener"))
    }
}

/// A connection, and when it was accepted.
struct Open {
    since: Instant,
    task: JoinHandle<()>,
}

async fn accept(listener: TcpListener, sources: Arc<Sources>) {
    let mut open: VecDeque<Open> = VecDeque::new();
    loop {
        let Ok((socket, _)) = listener.accept().await else {
            sleep(PAUSE).await;
            continue;
        };
        make_room(&mut open).await;
        let task = tokio::spawn(serve(socket, sources.clone()));
        open.push_back(Open { since: Instant::now(), task });
    }
}

/// Ends the oldest connection if as many are open as allowed. It has had time for its request, which is served if it has come.
async fn make_room(open: &mut VecDeque<Open>) {
    let is_open = |connection: &Open| !connection.task.is_finished();
    open.retain(is_open);
    if open.len() < ADMIN_CONNECTIONS {
        return;
    }
    sleep_until(open[0].since + GRACE).await;
    // Requests that have come by now are served first.
    yield_now().await;
    open.retain(is_open);
    if open.len() == ADMIN_CONNECTIONS {
        open.pop_front().inspect(|oldest| oldest.task.abort());
    }
}

/// Serves one request.
async fn serve(socket: TcpStream, sources: Arc<Sources>) {
    let service = service_fn(|request| ready(Ok::<_, Infallible>(sources.respond(&request))));
    let connection = http1::Builder::new()
        .keep_alive(false)
        .max_buf_size(MAX_HEAD)
        .serve_connection(TokioIo::new(socket), service);
    // A client that is gone or too slow is not worth a log line.
    let _ = timeout(LIMIT, connection).await;
}

impl Sources {
    fn respond(&self, request: &Request<Incoming>) -> Response<Full<Bytes>> {
        let path = match *request.method() {
            Method::GET | Method::HEAD => request.uri().path(),
            _ => "",
        };
        let (status, media_type, body) = match path {
            "/healthz" => (StatusCode::OK, TEXT, "ok".into()),
            "/readyz" if self.view.is_draining() => {
                (StatusCode::SERVICE_UNAVAILABLE, TEXT, "draining".into())
            }
            "/readyz" => (StatusCode::OK, TEXT, "ready".into()),
            "/metrics" => (StatusCode::OK, METRICS, metrics::render(&self.numbers())),
            _ => (StatusCode::NOT_FOUND, TEXT, "No such resource".into()),
        };
        let response = Response::builder().status(status).header(CONTENT_TYPE, media_type);
        response.body(Full::new(Bytes::from(body))).expect("a constant is a valid media type")
    }

    fn numbers(&self) -> Numbers {
        let served = self.view.responses();
        let content = &served.content;
        Numbers {
            counts: self.view.counts(),
            lines_lost: self.view.lines_lost(),
            reloads_ok: self.reloads.ok.load(Relaxed),
            reloads_failed: self.reloads.failed.load(Relaxed),
            content: content.identity.body.len() as u64,
            loaded: content.loaded,
            tls: self.view.tls.as_deref().map(|tls| metrics::Tls {
                expires: tls.certificate().expires,
                ok: tls.handshakes.ok.load(Relaxed),
                failed: tls.handshakes.failed.load(Relaxed),
                timeout: tls.handshakes.timeout.load(Relaxed),
            }),
            version: env!("CARGO_PKG_VERSION"),
            implementation: "rust",
            process: self.process.numbers(),
        }
    }
}
