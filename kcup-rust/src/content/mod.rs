//! Owns: the bytes, what they are called, and their variants: an immutable `Content`, complete when built.
//! Must not: know HTTP requests.
//! Sibling: kcup-go/content/content.go

pub mod calendar;
mod compress;
mod load;
mod media_type;
pub mod policy;
mod reason;
mod render;
mod shared;

use std::ops::RangeInclusive;
use std::time::{SystemTime, UNIX_EPOCH};

use hyper::header::{HeaderName, HeaderValue, VARY};
use sha2::Sha256;

use crate::config::{Compression, Options};
use render::Common;

pub use load::{again, apart, load, load_unless, look, make, needs, Source};
pub use reason::{cannot, reason};
pub use render::Block;
pub use shared::{Filling, Shared};

/// A SHA-256.
pub type Digest = [u8; 32];

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
    /// Whether there is no room to make variants.
    pub plain: bool,
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
            plain: false,
        }
    }
}

/// The content, and every head that an answer with it may have, rendered.
#[derive(Debug)]
pub struct Content {
    pub identity: Representation,
    pub br: Option<Representation>,
    pub gzip: Option<Representation>,
    /// What a 206 is made of, around its numbers.
    pub part: Part,
    /// Seconds since 1970.
    pub modified: i64,
    /// Likewise, when it was loaded.
    pub loaded: i64,
    /// Of the bytes as they were read, which are not those that are served where a preset changes them.
    pub read: Digest,
    /// Whether it came from where it can be read only once.
    pub once: bool,
    /// The only path served; `None` is any path.
    pub path: Option<String>,
}

/// One encoding of the content.
#[derive(Debug)]
pub struct Representation {
    pub body: Shared,
    pub tag: String,
    /// The head of a 200, up to `date`.
    pub ok: Block,
    /// The head of a 304, up to `date`.
    pub not_modified: Block,
}

/// The head of a 206.
#[derive(Debug)]
pub struct Part {
    /// Up to `content-length`.
    pub start: Vec<u8>,
    /// From behind `content-range` up to `date`.
    pub rest: Block,
}

impl Content {
    /// Hashes, classifies, compresses and renders `bytes`, which must not be empty.
    pub fn new(bytes: impl Into<Shared>, last_modified: SystemTime, settings: &Settings) -> Content {
        let bytes = bytes.into();
        let digest = digest(&bytes);
        Content::with_digest(bytes, digest, last_modified, settings)
    }

    /// Likewise, but for the hashing: `digest` is that of `bytes`.
    fn with_digest(bytes: Shared, digest: Digest, last_modified: SystemTime, settings: &Settings) -> Content {
        let media_type = || {
            let utf8 = std::str::from_utf8(&bytes).is_ok();
            visible(media_type::media_type(settings.file_name.as_deref(), utf8))
        };
        let content_type = settings.content_type.clone().unwrap_or_else(media_type);
        let due = settings.compression == Compression::Auto
            && COMPRESSED.contains(&bytes.len())
            && content_type.to_str().is_ok_and(media_type::is_textual);
        let variants = (due && !settings.plain).then(|| compress::variants(&bytes).ok()).flatten();
        if due && variants.is_none() {
            log::warn!("not compressed: {}", load::NO_MEMORY);
        }
        let common = Common {
            content_type: content_type.as_bytes().to_vec(),
            modified: seconds(last_modified),
            vary_and_headers: vary_and_headers(variants.is_some(), &settings.headers),
        };
        let digits: String = digest[..16].iter().map(|byte| format!("{byte:02x}")).collect();
        let variant = |coding: &str, body: Shared| {
            let tag = format!("W/\"{digits}-{coding}\"");
            Representation::new(body, Some(coding), tag, &common)
        };
        let (br, gzip) = variants.map(|[br, gzip]| (variant("br", br), variant("gzip", gzip))).unzip();
        let tag = format!("\"{digits}\"");
        Content {
            part: Part { start: common.part_start(), rest: common.part_rest(&tag) },
            identity: Representation::new(bytes, None, tag, &common),
            br,
            gzip,
            modified: common.modified,
            loaded: seconds(SystemTime::now()),
            read: digest,
            once: false,
            path: settings.path.clone(),
        }
    }

    /// Moves the content into huge pages, where they are worth it and there are so many bytes to spare.
    pub fn collapse(mut self, spare: u64) -> Content {
        self.identity.body.collapse(spare);
        self
    }

    /// The bytes that are held in memory for it.
    pub fn size(&self) -> u64 {
        let all = [Some(&self.identity), self.br.as_ref(), self.gzip.as_ref()];
        let sizes = all.into_iter().flatten().map(|one| one.body.size());
        sizes.sum()
    }
}

impl Representation {
    fn new(body: Shared, coding: Option<&str>, tag: String, common: &Common) -> Representation {
        Representation {
            ok: common.ok(body.len(), coding, &tag),
            not_modified: common.not_modified(&tag),
            tag,
            body,
        }
    }
}

fn digest(bytes: &[u8]) -> Digest {
    <Sha256 as sha2::Digest>::digest(bytes).into()
}

/// `vary`, ours and that of `--header` behind it, then the other fields of `--header`.
fn vary_and_headers(has_variants: bool, headers: &[(HeaderName, HeaderValue)]) -> Vec<u8> {
    let ours = has_variants.then_some(&b"accept-encoding"[..]);
    let theirs = headers.iter().filter(|(name, _)| name == VARY);
    let theirs = theirs.map(|(_, value)| value.as_bytes());
    let vary: Vec<_> = ours.into_iter().chain(theirs).filter(|value| !value.is_empty()).collect();
    let mut lines = Vec::new();
    if !vary.is_empty() {
        render::line(&mut lines, "vary", vary.join(&b", "[..]));
    }
    for (name, value) in headers.iter().filter(|(name, _)| name != VARY) {
        render::line(&mut lines, name.as_str(), value);
    }
    lines
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
