//! A certificate and its key, read from two files (K-152).

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, SystemTime};

use rustls::crypto::ring::{self, Ticketer};
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{NoServerSessionStorage, ParsedCertificate};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{Error, InconsistentKeys, ServerConfig};
use x509_cert::der::Decode;
use x509_cert::ext::pkix::SubjectAltName;
use x509_cert::ext::pkix::name::GeneralName;

use crate::config::{TlsFiles, escaped, quoted};
use crate::content::{Digest, REREAD_PAUSE, REREADS, counted, digest, reason, seconds, small_file};
use crate::respond::date::rfc3339;

/// The largest file that is read.
const MOST: u64 = 65536;
/// The number of names that are logged.
const MOST_NAMES: usize = 10;
const DAY: i64 = 86400;
/// How long before the end warnings begin.
const NOTICE: i64 = 14 * DAY;

/// The files of a certificate and its key. Both are whole, and fit each other.
#[derive(Debug)]
pub struct Certificate {
    /// What handshakes use.
    pub config: Arc<ServerConfig>,
    /// Of both files: a reload that reads the same changes nothing.
    pub digest: Digest,
    names: Vec<String>,
    /// Seconds since 1970.
    pub expires: i64,
}

impl Certificate {
    /// Reads both files, and again as long as they do not fit each other: one may have been written before the other. Blocks.
    /// An error is the line of K-152 without `kcup: ` before it.
    pub fn load(files: &TlsFiles) -> Result<Certificate, String> {
        let mut attempt = 0;
        loop {
            match Certificate::read(files) {
                Err(Fault::Unfit) if attempt < REREADS => thread::sleep(REREAD_PAUSE),
                read => return read.map_err(|fault| fault.line(files)),
            }
            attempt += 1;
        }
    }

    fn read(files: &TlsFiles) -> Result<Certificate, Fault> {
        let chain_file = small_file(&files.certificate, MOST).map_err(Fault::certificate)?;
        let (chain, names, expires) = judge(&chain_file).map_err(Fault::Certificate)?;
        let key_file = small_file(&files.key, MOST).map_err(Fault::key)?;
        let unusable = || Fault::Key("it is not a usable key".into());
        let key = PrivateKeyDer::from_pem_slice(&key_file).map_err(|error| match error {
            pem::Error::NoItemsFound => Fault::Key("it has no private key".into()),
            _ => unusable(),
        })?;
        let key = ring::sign::any_supported_type(&key).map_err(|_| unusable())?;
        let pair = CertifiedKey::new(chain, key);
        match pair.keys_match() {
            Err(Error::InconsistentKeys(InconsistentKeys::KeyMismatch)) => return Err(Fault::Unfit),
            Err(Error::InconsistentKeys(_)) | Ok(()) => (),
            Err(_) => return Err(unusable()),
        }
        let config = config(pair).map_err(|_| unusable())?;
        let digest = digest_of(&chain_file, &key_file);
        Ok(Certificate { config: Arc::new(config), digest, names, expires })
    }

    /// The digest of both files, whatever they hold. An error is the line of K-152.
    pub fn look(files: &TlsFiles) -> Result<Digest, String> {
        let chain = small_file(&files.certificate, MOST).map_err(Fault::certificate);
        let both = chain.and_then(|chain| Ok((chain, small_file(&files.key, MOST).map_err(Fault::key)?)));
        both.map(|(chain, key)| digest_of(&chain, &key)).map_err(|fault| fault.line(files))
    }

    /// The event that tells of it (K-153).
    pub fn news(&self) -> String {
        format!("TLS for {} until {}", list(&self.names), rfc3339(self.expires))
    }

    /// The warning that is due now, if its end is near, and the time until the next.
    pub fn warning(&self, now: SystemTime) -> (Option<String>, Duration) {
        let (warning, next) = warning(self.expires, seconds(now));
        (warning, Duration::from_secs(next as u64))
    }
}

fn list(names: &[String]) -> String {
    match names.len() {
        0 => "no name".into(),
        number @ ..=MOST_NAMES => names[..number].join(", "),
        number => format!("{} and {} more", names[..MOST_NAMES].join(", "), number - MOST_NAMES),
    }
}

fn warning(expires: i64, now: i64) -> (Option<String>, i64) {
    let (left, time) = (expires - now, rfc3339(expires));
    let text = match left {
        ..0 => format!("the certificate expired on {time}"),
        0..=NOTICE => {
            format!("the certificate expires on {time}: in {}", counted((left / DAY) as u64, "day"))
        }
        _ => return (None, left - NOTICE),
    };
    (Some(text), DAY)
}

fn digest_of(chain: &[u8], key: &[u8]) -> Digest {
    digest(&[digest(chain), digest(key)].concat())
}

/// What is wrong with a file, and with which.
enum Fault {
    Certificate(String),
    Key(String),
    /// The key is not that of the certificate.
    Unfit,
}

impl Fault {
    fn certificate(error: io::Error) -> Fault {
        Fault::Certificate(reason(&error))
    }

    fn key(error: io::Error) -> Fault {
        Fault::Key(reason(&error))
    }

    fn line(&self, files: &TlsFiles) -> String {
        let cannot = |what: &str, file: &Path, why: &str| {
            format!("cannot use the {what} in {}: {why}", quoted(file.as_os_str().as_bytes()))
        };
        match self {
            Fault::Certificate(why) => cannot("certificate", &files.certificate, why),
            Fault::Key(why) => cannot("key", &files.key, why),
            Fault::Unfit => cannot("key", &files.key, "it does not fit the certificate"),
        }
    }
}

/// The first certificate of a file, for `kcup healthcheck`. An error is the line of K-152.
pub fn first(files: &TlsFiles) -> Result<CertificateDer<'static>, String> {
    let first = || {
        let file = small_file(&files.certificate, MOST).map_err(|error| reason(&error))?;
        let mut chain = certificates(&file)?;
        Ok(chain.swap_remove(0))
    };
    first().map_err(|why| Fault::Certificate(why).line(files))
}

/// All certificates of a file: at least one.
fn certificates(file: &[u8]) -> Result<Vec<CertificateDer<'static>>, String> {
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(file).collect();
    match chain {
        Ok(chain) if chain.is_empty() => Err("it has no certificate".into()),
        chain => chain.map_err(|_| INVALID.into()),
    }
}

const INVALID: &str = "it is not a valid certificate";

/// The certificates of a file; and of the first, the names, and when it expires.
fn judge(file: &[u8]) -> Result<(Vec<CertificateDer<'static>>, Vec<String>, i64), String> {
    let chain = certificates(file)?;
    let parsed = x509_cert::Certificate::from_der(&chain[0]).map_err(|_| INVALID)?;
    ParsedCertificate::try_from(&chain[0]).map_err(|_| INVALID)?;
    let parsed = parsed.tbs_certificate();
    let names = parsed.get_extension::<SubjectAltName>().map_err(|_| INVALID)?;
    let names = names.map_or(Vec::new(), |(_, names)| names.0.iter().filter_map(written).collect());
    let expires = parsed.validity().not_after.to_unix_duration().as_secs() as i64;
    if expires < seconds(SystemTime::now()) {
        return Err(format!("it expired on {}", rfc3339(expires)));
    }
    Ok((chain, names, expires))
}

/// A name as it is logged.
fn written(name: &GeneralName) -> Option<String> {
    match name {
        GeneralName::DnsName(name) => Some(escaped(name.as_bytes())),
        GeneralName::IpAddress(address) => match address.as_bytes() {
            four if four.len() == 4 => Some(Ipv4Addr::from(<[u8; 4]>::try_from(four).ok()?).to_string()),
            bytes => Some(Ipv6Addr::from(<[u8; 16]>::try_from(bytes).ok()?).to_string()),
        },
        _ => None,
    }
}

/// K-151. Tickets keep sessions with the clients: nothing is remembered here.
fn config(pair: CertifiedKey) -> Result<ServerConfig, Error> {
    let provider = Arc::new(ring::default_provider());
    let versions = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    let resolver = Arc::new(SingleCertAndKey::from(pair));
    let mut config = versions.with_no_client_auth().with_cert_resolver(resolver);
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.ticketer = Ticketer::new()?;
    Ok(config)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_begin_14_days_before_the_end_and_come_each_day() {
        let end = 1_803_020_400;
        let said = |left| warning(end, end - left);
        assert_eq!(said(NOTICE + 5), (None, 5));
        for (left, words) in [
            (NOTICE, "expires on 2027-02-19T07:00:00Z: in 14 days"),
            (2 * DAY - 1, "expires on 2027-02-19T07:00:00Z: in 1 day"),
            (0, "expires on 2027-02-19T07:00:00Z: in 0 days"),
            (-1, "expired on 2027-02-19T07:00:00Z"),
        ] {
            assert_eq!(said(left), (Some(format!("the certificate {words}")), DAY));
        }
    }

    #[test]
    fn of_many_names_the_first_are_told() {
        let names = |number: usize| Vec::from_iter((0..number).map(|name| name.to_string()));
        for (number, told) in [
            (0, "no name"),
            (1, "0"),
            (10, "0, 1, 2, 3, 4, 5, 6, 7, 8, 9"),
            (12, "0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 2 more"),
        ] {
            assert_eq!(list(&names(number)), told);
        }
    }
}
