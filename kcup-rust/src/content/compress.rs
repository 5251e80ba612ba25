//! The variants' bytes, at levels that are meant to take less than 200 ms for 1 MiB of text together.

use std::io::Write;

const BROTLI_QUALITY: i32 = 5;
/// The binary logarithm of the window: 4 MiB holds all that is compressed.
const BROTLI_WINDOW: i32 = 22;
const GZIP_LEVEL: u32 = 4;

pub fn brotli(bytes: &[u8]) -> Vec<u8> {
    let parameters = brotli::enc::BrotliEncoderParams {
        quality: BROTLI_QUALITY,
        lgwin: BROTLI_WINDOW,
        size_hint: bytes.len(),
        ..Default::default()
    };
    let mut out = Vec::new();
    let mut input = bytes;
    brotli::BrotliCompress(&mut input, &mut out, &parameters).expect("memory reads and writes do not fail");
    out
}

/// The time in the header is 0, so that the same bytes always give the same variant.
pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::new(GZIP_LEVEL));
    encoder.write_all(bytes).and_then(|()| encoder.finish()).expect("memory writes do not fail")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn what_was_compressed_can_be_read_again() {
        let bytes: Vec<u8> = (0..60_000u32).flat_map(|n| (n * n % 7919).to_string().into_bytes()).collect();
        let mut again = Vec::new();
        brotli::Decompressor::new(&brotli(&bytes)[..], 4096).read_to_end(&mut again).unwrap();
        assert!(again == bytes);
        again.clear();
        flate2::read::GzDecoder::new(&gzip(&bytes)[..]).read_to_end(&mut again).unwrap();
        assert!(again == bytes);
        assert_eq!(gzip(&bytes), gzip(&bytes));
    }
}
