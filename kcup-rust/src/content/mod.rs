//! Owns: the content: its bytes, media type, tags, variants and modification time. A `Content` is immutable once made.
//! Must not: know HTTP requests.

mod compress;
mod file;
mod load;
mod media_type;
pub mod policy;
mod reason;
mod shared;
mod source;

use std::time::{SystemTime, UNIX_EPOCH};

use hyper::header::HeaderValue;
use sha2::Sha256;

use crate::config::{Compression, Options, Preset};

pub use file::{REREAD_PAUSE, REREADS, small as small_file};
pub use load::{apart, load_unless};
pub use reason::{cannot, counted, reason};
pub use shared::{Filling, Shared};
pub use source::{Source, again, look, needs, prompt};

/// A SHA-256.
pub type Digest = [u8; 32];

/// One version of the content.
#[derive(Debug)]
pub struct Content {
    pub identity: Representation,
    pub br: Option<Representation>,
    pub gzip: Option<Representation>,
    pub media_type: HeaderValue,
    /// Seconds since 1970.
    pub modified: i64,
    /// Seconds since 1970.
    pub loaded: i64,
    /// The digest of the bytes as they were read, which a preset may have changed since.
    pub source_digest: Digest,
    /// Whether the source can be read only once.
    pub one_shot: bool,
}

/// One encoding of the content.
#[derive(Debug)]
pub struct Representation {
    pub body: Shared,
    pub tag: String,
}

impl Content {
    /// Classifies and compresses the bytes that were read. An error has a line for each finding (K-92).
    pub fn new(source: Source, options: &Options) -> Result<Content, String> {
        let (bytes, served_digest) = match options.preset {
            None => (source.bytes, source.digest),
            Some(Preset::MtaSts) => {
                let served = policy::publish(&source.bytes, options)?;
                let digest = digest(&served);
                (served.into(), digest)
            }
        };
        let media_type = options.content_type.clone().unwrap_or_else(|| {
            let name =
                options.file.as_ref().and_then(|file| file.file_name()).map(|name| name.to_string_lossy());
            let text = media_type::media_type(name.as_deref(), std::str::from_utf8(&bytes).is_ok());
            HeaderValue::try_from(text).expect("a name of the table is a field value")
        });
        let worthwhile = options.compression == Compression::Auto
            && compress::LENGTHS.contains(&bytes.len())
            && media_type.to_str().is_ok_and(media_type::is_textual);
        let variants = (worthwhile && !source.plain).then(|| compress::variants(&bytes).ok()).flatten();
        if worthwhile && variants.is_none() {
            log::warn!("not compressed: there is not enough memory for it");
        }
        let digits: String = served_digest[..16].iter().map(|byte| format!("{byte:02x}")).collect();
        let variant = |coding, body| Representation { body, tag: format!("W/\"{digits}-{coding}\"") };
        let (br, gzip) = variants.map(|[br, gzip]| (variant("br", br), variant("gzip", gzip))).unzip();
        Ok(Content {
            identity: Representation { body: bytes, tag: format!("\"{digits}\"") },
            br,
            gzip,
            media_type,
            modified: seconds(source.modified),
            loaded: seconds(SystemTime::now()),
            source_digest: source.digest,
            one_shot: source.one_shot,
        })
    }

    /// Moves the content into huge pages if it is worth them and `spare` bytes suffice.
    pub fn collapse(mut self, spare: u64) -> Content {
        self.identity.body.collapse(spare);
        self
    }

    /// The events that tell of it once it is served: at the start, or after a reload of what was served `before`.
    pub fn news(&self, options: &Options, before: Option<&Content>) -> Vec<String> {
        let (name, bytes) = (options.name(), counted(self.identity.body.len() as u64, "byte"));
        let what = format!("{bytes}, {}", self.media_type.to_str().expect("it is visible ASCII"));
        let path = options.path.as_ref().map(|path| format!(" at {path}")).unwrap_or_default();
        let mut news = match before {
            None => vec![format!("serving {name}{path}: {what}")],
            Some(before) if before.source_digest == self.source_digest => {
                vec![format!("reloaded {name}: unchanged, {what}")]
            }
            Some(_) => vec![format!("reloaded {name}: changed, {what}")],
        };
        if options.preset.is_some() && before.is_none_or(|before| before.identity.tag != self.identity.tag) {
            news.push(policy::advice(&self.identity.body));
        }
        news
    }

    /// The bytes of memory that it takes.
    pub fn size(&self) -> u64 {
        let all = [Some(&self.identity), self.br.as_ref(), self.gzip.as_ref()];
        all.into_iter().flatten().map(|one| one.body.size()).sum()
    }
}

/// The digest of these bytes.
pub fn digest(bytes: &[u8]) -> Digest {
    <Sha256 as sha2::Digest>::digest(bytes).into()
}

/// Seconds since 1970, rounded down, within the years that a date can have (K-42).
pub fn seconds(time: SystemTime) -> i64 {
    const END_OF_9999: i64 = 253_402_300_799;
    time.duration_since(UNIX_EPOCH).map_or(0, |since| (since.as_secs() as i64).min(END_OF_9999))
}

#[cfg(test)]
mod tests;
