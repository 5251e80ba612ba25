//! `kcup healthcheck` (K-110), with hyper's client.

use std::fmt::Display;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Empty;
use hyper::client::conn::http1;
use hyper::header::{CONNECTION, HOST};
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{WebPkiSupportedAlgorithms, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, SignatureScheme};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpSocket, TcpStream, UnixStream};
use tokio::runtime::Builder;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::access_log::HEALTH_CHECK;
use crate::config::{Host, Options};
use crate::content::{cannot, reason};
use crate::server::tls;

const TIMEOUT: Duration = Duration::from_secs(2);
/// The pause before a unix socket with a full backlog is tried again.
const PAUSE: Duration = Duration::from_millis(20);
/// `--header` can make a response head long, but the kernel limits the length of a command line.
const LONGEST_HEAD: usize = 4 << 20;
const MOST_FIELDS: usize = 1 << 16;
const NONE: &str = "no response";

/// Sends a request to the server that `options` would start. An error says why it is not healthy.
pub fn check(options: &Options) -> Result<(), String> {
    let expected = options.tls.as_ref().map(tls::first).transpose()?;
    let runtime = Builder::new_current_thread().enable_io().enable_time().build();
    let asked = runtime.map_err(cannot("ask")).and_then(|runtime| {
        runtime.block_on(async {
            let late = |_| Err(format!("no response within {} seconds", TIMEOUT.as_secs()));
            timeout(TIMEOUT, ask(options, expected)).await.unwrap_or_else(late)
        })
    });
    asked.map_err(|why| format!("unhealthy: {why}"))
}

async fn ask(options: &Options, expected: Option<CertificateDer<'static>>) -> Result<(), String> {
    match &options.host {
        Host::Ip(ip) => {
            let address = SocketAddr::new(reachable(*ip), options.port);
            healthy(address, connect(address).await, options, expected).await
        }
        Host::Unix(socket) => loop {
            match UnixStream::connect(socket).await {
                Err(error) if error.kind() == ErrorKind::WouldBlock => sleep(PAUSE).await,
                connected => break healthy(&options.host, connected, options, expected).await,
            }
        },
    }
}

/// Checks the server that was connected to; errors call it `name`.
async fn healthy<S>(
    name: impl Display,
    connected: io::Result<S>,
    options: &Options,
    expected: Option<CertificateDer<'static>>,
) -> Result<(), String>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let socket = connected.map_err(|error| format!("cannot connect to {name}: {}", reason(&error)))?;
    let path = options.path.as_deref().unwrap_or("/");
    let status = match expected {
        None => status(socket, path).await.ok(),
        Some(expected) => status(tls(socket, expected).await?, path).await.ok(),
    };
    match status {
        Some(status) if status == options.status => Ok(()),
        Some(status) => Err(format!("the response is {}", status.as_u16())),
        None => Err(NONE.into()),
    }
}

/// Speaks TLS on a connection, with nobody but the owner of the certificate (K-157).
async fn tls<S: AsyncRead + AsyncWrite + Unpin>(
    socket: S,
    expected: CertificateDer<'static>,
) -> Result<TlsStream<S>, String> {
    let provider = ring::default_provider();
    let known = Arc::new(Known { expected, algorithms: provider.signature_verification_algorithms });
    let versions = ClientConfig::builder_with_provider(provider.into()).with_safe_default_protocol_versions();
    let versions = versions.map_err(|_| NONE)?;
    let mut config = versions.dangerous().with_custom_certificate_verifier(known).with_no_client_auth();
    config.enable_sni = false;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    let name = ServerName::from(IpAddr::from(Ipv4Addr::LOCALHOST));
    TlsConnector::from(Arc::new(config)).connect(name, socket).await.map_err(|error| {
        let error = error.get_ref().and_then(|error| error.downcast_ref::<rustls::Error>());
        match error {
            Some(rustls::Error::InvalidCertificate(_)) => "the certificate is not that of --tls-cert".into(),
            _ => NONE.into(),
        }
    })
}

/// Accepts one certificate alone, whoever signed it.
#[derive(Debug)]
struct Known {
    expected: CertificateDer<'static>,
    algorithms: WebPkiSupportedAlgorithms,
}

impl ServerCertVerifier for Known {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        _issuers: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        match *certificate == self.expected {
            true => Ok(ServerCertVerified::assertion()),
            false => Err(CertificateError::ApplicationVerificationFailure.into()),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signature, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

async fn status<S>(socket: S, path: &str) -> hyper::Result<StatusCode>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let mut client = http1::Builder::new();
    client.max_buf_size(LONGEST_HEAD).max_headers(MOST_FIELDS);
    let (mut sender, connection) = client.handshake(TokioIo::new(socket)).await?;
    tokio::spawn(connection);
    let request = Request::get(path).header(HOST, "localhost").header(CONNECTION, "close");
    // hyper sends no path with `<`, `>` or a backtick in it. The response to one is known (K-61).
    let Ok(request) = request.body(Empty::<Bytes>::new()) else { return Ok(StatusCode::BAD_REQUEST) };
    sender.send_request(request).await.map(|response| response.status())
}

/// Connects from the address that has no line in the access log, if there is one of the loopback interface at the other end.
async fn connect(address: SocketAddr) -> io::Result<TcpStream> {
    if !address.is_ipv4() || !address.ip().is_loopback() {
        return TcpStream::connect(address).await;
    }
    let socket = TcpSocket::new_v4()?;
    // Otherwise the check is logged, and nothing more.
    let _ = socket.bind(SocketAddr::new(HEALTH_CHECK.into(), 0));
    socket.connect(address).await
}

/// The address of a server that listens on `ip`: "any" includes the loopback address.
fn reachable(ip: IpAddr) -> IpAddr {
    match ip {
        ip if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        ip => ip,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_for_any_is_asked_on_this_host() {
        for (host, asked) in
            [("0.0.0.0", "127.0.0.1"), ("::", "127.0.0.1"), ("::1", "::1"), ("127.0.0.2", "127.0.0.2")]
        {
            assert_eq!(reachable(host.parse().unwrap()).to_string(), asked);
        }
    }
}
