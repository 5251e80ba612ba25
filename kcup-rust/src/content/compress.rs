//! The bytes of the variants, at levels that together take less than 200 ms for 1 MiB of text.

use std::io::{self, Write};
use std::ops::RangeInclusive;

use super::shared::{Filling, Shared};
use crate::config::{Compression, Options};

/// The lengths of content that has variants: independent of the compressor, so that both programs agree (K-45).
pub const LENGTHS: RangeInclusive<usize> = 1024..=1_048_576;

const BROTLI_QUALITY: i32 = 5;
/// The binary logarithm of the window: 4 MiB holds all that is compressed.
const BROTLI_WINDOW: i32 = 22;
const GZIP_LEVEL: u32 = 4;

/// The memory needed for the variants of this many bytes, if they may have any: making them was seen to take 2 MB, and 4
/// times their size.
pub fn memory_for_variants(bytes: u64, options: &Options) -> u64 {
    match options.compression == Compression::Auto && LENGTHS.contains(&(bytes as usize)) {
        true => (2 << 20) + (2 + 4) * bytes,
        false => 0,
    }
}

/// The variants, `br` and then `gzip`, in one file in memory.
pub fn variants(bytes: &[u8]) -> io::Result<[Shared; 2]> {
    let mut into = Filling::new()?;
    brotli(bytes, &mut into)?;
    let end = into.length as usize;
    gzip(bytes, &mut into)?;
    let all = into.finish()?;
    Ok([all.part(0..end), all.part(end..all.len())])
}

fn brotli(mut bytes: &[u8], into: &mut impl Write) -> io::Result<()> {
    let parameters = brotli::enc::BrotliEncoderParams {
        quality: BROTLI_QUALITY,
        lgwin: BROTLI_WINDOW,
        size_hint: bytes.len(),
        ..Default::default()
    };
    brotli::BrotliCompress(&mut bytes, into, &parameters).map(drop)
}

/// The time in the header is 0, so that the same bytes always have the same variant.
fn gzip(bytes: &[u8], into: &mut impl Write) -> io::Result<()> {
    let mut encoder = flate2::write::GzEncoder::new(into, flate2::Compression::new(GZIP_LEVEL));
    encoder.write_all(bytes)?;
    encoder.finish().map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn what_was_compressed_can_be_read_again() {
        let bytes: Vec<u8> = (0..60_000u32).flat_map(|n| (n * n % 7919).to_string().into_bytes()).collect();
        let [br, gzip] = variants(&bytes).unwrap();
        let mut again = Vec::new();
        brotli::Decompressor::new(&br[..], 4096).read_to_end(&mut again).unwrap();
        assert!(again == bytes);
        again.clear();
        flate2::read::GzDecoder::new(&gzip[..]).read_to_end(&mut again).unwrap();
        assert!(again == bytes);
        assert_eq!(gzip.offset(&gzip[1..]).unwrap().1, br.len() as u64 + 1);
        assert_eq!(variants(&bytes).unwrap().map(|one| one.to_vec()), [br.to_vec(), gzip.to_vec()]);
    }
}
