//! Each module uses only those that stand below it: the order is that of src/lib.rs. Unit tests also use `conformance`.

use std::fs;
use std::path::{Path, PathBuf};

#[test]
fn modules_use_only_those_below_them() {
    let source = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src"));
    let library = fs::read_to_string(source.join("lib.rs")).unwrap();
    let layers =
        Vec::from_iter(library.lines().filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';')));
    assert_eq!(layers.len(), directories(source).len());
    for (place, layer) in layers.iter().enumerate() {
        for file in files(&source.join(layer)) {
            let text = fs::read_to_string(&file).unwrap();
            for used in text.split("crate::").skip(1) {
                let used = used.split(|char: char| !char.is_alphanumeric() && char != '_').next().unwrap();
                let below = layers[..=place].contains(&used) || used == "conformance";
                assert!(below, "{} uses {used}, which is not below {layer}", file.display());
            }
        }
    }
}

fn directories(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.is_dir()).collect()
}

fn files(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}
