//! Owns: the bytes, what they are called, and their variants: an immutable `Content`, complete when built.
//! Must not: know HTTP requests.
//! Sibling: kcup-go/content/content.go

pub mod calendar;
mod compress;
mod load;
mod media_type;

use std::ops::RangeInclusive;
use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use hyper::header::{HeaderName, HeaderValue, VARY};
use sha2::{Digest, Sha256};

use crate::config::{Compression, Options};
use calendar::{HttpDate, Moment};

pub use load::{load, Loaded};

/// The lengths of content that has variants: a rule that does not depend on the compressor, so that the twins agree (K-45).
const COMPRESSED: RangeInclusive<usize> = 1024..=1_048_576;

/// What besides the bytes decides how content is presented.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The served file's name, for its extension; `None` for standard input.
    pub file_name: Option<String>,
    pub content_type: Option<HeaderValue>,
    pub headers: Vec<(HeaderName, HeaderValue)>,
    pub compression: Compression,
    pub path: Option<String>,
}

impl From<&Options> for Settings {
    fn from(options: &Options) -> Settings {
        let name = options.file.as_ref().and_then(|file| file.file_name());
        Settings {
            file_name: name.map(|name| name.to_string_lossy().into_owned()),
            content_type: options.content_type.clone(),
            headers: options.headers.clone(),
            compression: options.compression,
            path: options.path.clone(),
        }
    }
}

/// The content with every field that an answer may carry, rendered.
#[derive(Debug)]
pub struct Content {
    pub identity: Representation,
    pub br: Option<Representation>,
    pub gzip: Option<Representation>,
    pub content_type: HeaderValue,
    /// Seconds since 1970.
    pub modified: i64,
    /// `modified` as a field has it.
    pub last_modified: HeaderValue,
    pub vary: Option<HeaderValue>,
    /// The fields of `--header` without `vary`.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// The only path served; `None` is any path.
    pub path: Option<String>,
}

/// One encoding of the content.
#[derive(Debug)]
pub struct Representation {
    pub body: Bytes,
    /// The body's, in decimal.
    pub length: HeaderValue,
    /// `None` is identity.
    pub coding: Option<HeaderValue>,
    pub tag: HeaderValue,
}

impl Content {
    /// Hashes, classifies and compresses `bytes`, which must not be empty.
    pub fn new(bytes: Bytes, last_modified: SystemTime, settings: &Settings) -> Content {
        let media_type = || {
            let utf8 = std::str::from_utf8(&bytes).is_ok();
            visible(media_type::media_type(settings.file_name.as_deref(), utf8))
        };
        let content_type = settings.content_type.clone().unwrap_or_else(media_type);
        let has_variants = settings.compression == Compression::Auto
            && COMPRESSED.contains(&bytes.len())
            && content_type.to_str().is_ok_and(media_type::is_textual);
        let digits = digits(&bytes);
        let variant = |coding: &'static str, body: Vec<u8>| {
            let tag = format!("W/\"{digits}-{coding}\"");
            Representation::new(body.into(), Some(HeaderValue::from_static(coding)), tag)
        };
        let modified = seconds(last_modified);
        Content {
            br: has_variants.then(|| variant("br", compress::brotli(&bytes))),
            gzip: has_variants.then(|| variant("gzip", compress::gzip(&bytes))),
            content_type,
            modified,
            last_modified: visible(HttpDate(Moment::at(modified)).to_string()),
            vary: vary(has_variants, &settings.headers),
            headers: settings
                .headers
                .iter()
                .filter(|(name, _)| name != VARY)
                .cloned()
                .collect(),
            path: settings.path.clone(),
            identity: Representation::new(bytes, None, format!("\"{digits}\"")),
        }
    }

    /// The bytes that are held in memory for it.
    pub fn size(&self) -> u64 {
        let all = [Some(&self.identity), self.br.as_ref(), self.gzip.as_ref()];
        all.into_iter()
            .flatten()
            .map(|one| one.body.len() as u64)
            .sum()
    }
}

impl Representation {
    fn new(body: Bytes, coding: Option<HeaderValue>, tag: String) -> Representation {
        Representation {
            length: HeaderValue::from(body.len()),
            tag: visible(tag),
            coding,
            body,
        }
    }
}

/// Of the SHA-256 the first 32 hexadecimal digits.
fn digits(bytes: &[u8]) -> String {
    Sha256::digest(bytes)[..16]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// Ours, and those of `--header` behind it.
fn vary(has_variants: bool, headers: &[(HeaderName, HeaderValue)]) -> Option<HeaderValue> {
    let ours = has_variants.then_some("accept-encoding");
    let theirs = headers.iter().filter(|(name, _)| name == VARY);
    let theirs = theirs.filter_map(|(_, value)| value.to_str().ok());
    let all: Vec<_> = ours
        .into_iter()
        .chain(theirs)
        .filter(|value| !value.is_empty())
        .collect();
    (!all.is_empty()).then(|| visible(all.join(", ")))
}

/// Rounded down, and within the years that a field can say.
fn seconds(time: SystemTime) -> i64 {
    let seconds = match time.duration_since(UNIX_EPOCH) {
        Ok(after) => after.as_secs() as i64,
        Err(before) => {
            let before = before.duration();
            -(before.as_secs() as i64) - i64::from(before.subsec_nanos() > 0)
        }
    };
    seconds.clamp(-62_167_219_200, 253_402_300_799)
}

fn visible(text: String) -> HeaderValue {
    HeaderValue::try_from(text).expect("made of visible ASCII, spaces and tabs")
}

#[cfg(test)]
mod tests;
