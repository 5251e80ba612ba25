//! The classes of bytes.

use crate::config::is_token_byte;

pub const TOKEN: u8 = 1;
pub const TARGET: u8 = 2;
pub const VALUE: u8 = 4;
pub const HOST: u8 = 8;

/// The classes of each byte: whether it may be in a token (RFC 9110 section 5.6.2), in a target (K-61), in a field value
/// (section 5.5), and in a host name (RFC 3986 section 3.2.2).
pub static CLASS: [u8; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let b = byte as u8;
        if is_token_byte(b) {
            table[byte] |= TOKEN;
        }
        if b.is_ascii_graphic() && !is_one_of(b, b"\"#<>`") {
            table[byte] |= TARGET;
        }
        if b.is_ascii_alphanumeric() || is_one_of(b, b"-._~%!$&'()*+,;=") {
            table[byte] |= HOST;
        }
        if b == b'\t' || b >= b' ' && b != 0x7f {
            table[byte] |= VALUE;
        }
        byte += 1;
    }
    table
};

const fn is_one_of(byte: u8, set: &[u8]) -> bool {
    let mut i = 0;
    while i < set.len() {
        if set[i] == byte {
            return true;
        }
        i += 1;
    }
    false
}
