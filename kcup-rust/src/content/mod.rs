//! Owns: the bytes, what they are called, and their variants: an immutable `Content`, complete when built.
//! Must not: know HTTP requests.
//! Sibling: kcup-go/content/content.go

mod load;

use std::time::SystemTime;

use bytes::Bytes;
use hyper::header::{HeaderName, HeaderValue};

use crate::config::{Compression, Options};

pub use load::{load, Loaded};

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
        Settings {
            file_name: options
                .file
                .as_ref()
                .and_then(|f| Some(f.file_name()?.to_string_lossy().into_owned())),
            content_type: options.content_type.clone(),
            headers: options.headers.clone(),
            compression: options.compression,
            path: options.path.clone(),
        }
    }
}

/// The content with every field that an answer may carry, rendered.
#[derive(Debug)]
pub struct Content {}

impl Content {
    /// Hashes, classifies and compresses `bytes`, which must not be empty.
    pub fn new(bytes: Bytes, last_modified: SystemTime, settings: &Settings) -> Content {
        let _ = (bytes, last_modified, settings);
        todo!()
    }
}
