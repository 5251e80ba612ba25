//! The content's media type (K-43), and which types are textual (K-45).

/// conformance/vectors/media_types.toml; a test compares them.
const TYPES: [(&str, &str); 41] = [
    ("txt", "text/plain"),
    ("text", "text/plain"),
    ("log", "text/plain"),
    ("html", "text/html"),
    ("htm", "text/html"),
    ("xhtml", "application/xhtml+xml"),
    ("css", "text/css"),
    ("csv", "text/csv"),
    ("ics", "text/calendar"),
    ("vcf", "text/vcard"),
    ("md", "text/markdown"),
    ("js", "text/javascript"),
    ("mjs", "text/javascript"),
    ("json", "application/json"),
    ("map", "application/json"),
    ("jsonld", "application/ld+json"),
    ("geojson", "application/geo+json"),
    ("webmanifest", "application/manifest+json"),
    ("xml", "application/xml"),
    ("rss", "application/rss+xml"),
    ("atom", "application/atom+xml"),
    ("svg", "image/svg+xml"),
    ("yaml", "application/yaml"),
    ("yml", "application/yaml"),
    ("wasm", "application/wasm"),
    ("pdf", "application/pdf"),
    ("zip", "application/zip"),
    ("gz", "application/gzip"),
    ("png", "image/png"),
    ("jpg", "image/jpeg"),
    ("jpeg", "image/jpeg"),
    ("gif", "image/gif"),
    ("webp", "image/webp"),
    ("avif", "image/avif"),
    ("ico", "image/vnd.microsoft.icon"),
    ("mp3", "audio/mpeg"),
    ("mp4", "video/mp4"),
    ("webm", "video/webm"),
    ("woff", "font/woff"),
    ("woff2", "font/woff2"),
    ("ttf", "font/ttf"),
];

/// The media type by the file's name, otherwise by its bytes. `utf8` is whether the bytes are valid UTF-8.
pub fn media_type(file_name: Option<&str>, utf8: bool) -> String {
    let by_bytes = if utf8 { "text/plain" } else { "application/octet-stream" };
    let name = file_name.and_then(by_name).unwrap_or(by_bytes);
    match utf8 && is_textual(name) {
        true => format!("{name}; charset=utf-8"),
        false => name.into(),
    }
}

fn by_name(file_name: &str) -> Option<&'static str> {
    let (_, extension) = file_name.rsplit_once('.')?;
    let known = TYPES.iter().find(|(known, _)| known.eq_ignore_ascii_case(extension))?;
    Some(known.1)
}

/// Whether a media type, with or without parameters, is one of those of K-45.
pub fn is_textual(media_type: &str) -> bool {
    let essence = media_type.split(';').next().unwrap_or_default();
    let essence = essence.trim_end_matches(' ').to_ascii_lowercase();
    essence.starts_with("text/")
        || essence.ends_with("+json")
        || essence.ends_with("+xml")
        || ["application/json", "application/javascript", "application/xml"].contains(&essence.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance;

    #[derive(serde::Deserialize)]
    struct Vectors {
        r#type: Vec<Vector>,
    }

    #[derive(serde::Deserialize)]
    struct Vector {
        extension: String,
        r#type: String,
        textual: bool,
    }

    #[test]
    fn the_table_is_the_one_that_both_programs_have() {
        let vectors: Vectors = conformance::file("media_types");
        let theirs = vectors.r#type.iter().map(|row| (row.extension.as_str(), row.r#type.as_str()));
        assert!(theirs.eq(TYPES));
        for row in &vectors.r#type {
            assert_eq!(is_textual(&row.r#type), row.textual, "{}", row.r#type);
            let upper = format!("a.b.{}", row.extension.to_uppercase());
            let charset = if row.textual { "; charset=utf-8" } else { "" };
            assert_eq!(media_type(Some(&upper), true), format!("{}{charset}", row.r#type));
            assert_eq!(media_type(Some(&upper), false), row.r#type);
        }
    }

    #[test]
    fn what_has_no_known_name_is_told_by_its_bytes() {
        for name in [None, Some("x"), Some("html"), Some("x."), Some("x.unknown"), Some("x.html.unknown")] {
            assert_eq!(media_type(name, true), "text/plain; charset=utf-8");
            assert_eq!(media_type(name, false), "application/octet-stream");
        }
        assert_eq!(media_type(Some(".html"), true), "text/html; charset=utf-8");
    }

    #[test]
    fn parameters_and_letter_case_do_not_make_text() {
        assert!(is_textual("Application/JSON ;a=b") && is_textual("image/svg+xml") && is_textual("a/b+JSON"));
        assert!(!is_textual("application/jsonx") && !is_textual("image/png;a=text/html"));
    }
}
