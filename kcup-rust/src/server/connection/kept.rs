//! What is kept of a peer's bytes while they wait. A part of connection.rs.

use super::super::guard::Guard;

/// Bytes that are not a whole head yet, or that wait behind an answer, and what the guard knows of them.
pub struct Kept {
    pub bytes: Vec<u8>,
    pub guard: Guard,
}

/// What is left to keep when the first `at` bytes, of what was kept or else of what is fresh, are used up.
pub fn rest(kept: Option<Box<Kept>>, fresh: &[u8], at: usize, guard: Guard) -> Option<Box<Kept>> {
    match kept {
        Some(mut kept) if at < kept.bytes.len() => {
            kept.bytes.drain(..at);
            kept.guard = guard;
            Some(kept)
        }
        None if at < fresh.len() => Some(Box::new(Kept { bytes: fresh[at..].to_vec(), guard })),
        _ => None,
    }
}
