//! Taking a changed file into service. Sibling: kcup-go/ops/reload.go.

use std::sync::atomic::AtomicU64;

/// Reloads by their result (K-119).
#[derive(Debug, Default)]
pub struct Reloads {
    pub ok: AtomicU64,
    pub failed: AtomicU64,
}
