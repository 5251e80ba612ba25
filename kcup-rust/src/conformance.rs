//! Owns: the reader of conformance/vectors, to which both programs are held; for unit tests only.
//! Must not: know what they are about.

use std::path::Path;

use serde::Deserialize;
use serde::de::DeserializeOwned;

#[derive(Deserialize)]
struct Cases<T> {
    case: Vec<T>,
}

/// The file of this name, without its ending.
pub fn file<T: DeserializeOwned>(name: &str) -> T {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../conformance/vectors/{name}.toml"));
    toml::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// The cases of this file, of which there are some.
pub fn cases<T: DeserializeOwned>(name: &str) -> Vec<T> {
    let cases = file::<Cases<T>>(name).case;
    assert!(!cases.is_empty());
    cases
}

/// Bytes that are written in parts.
#[derive(Deserialize)]
pub struct Parts(Vec<Part>);

#[derive(Deserialize)]
#[serde(untagged)]
enum Part {
    Text(String),
    Repeat { repeat: String, times: usize },
    Hex { hex: String },
}

impl Parts {
    pub fn bytes(&self) -> Vec<u8> {
        self.0.iter().flat_map(Part::bytes).collect()
    }
}

impl Part {
    fn bytes(&self) -> Vec<u8> {
        match self {
            Part::Text(text) => text.clone().into_bytes(),
            Part::Repeat { repeat, times } => repeat.repeat(*times).into_bytes(),
            Part::Hex { hex } => {
                (0..hex.len() / 2).map(|i| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).unwrap()).collect()
            }
        }
    }
}
