//! Owns: what surrounds the server: diagnostics, signals.
//! Must not: be needed for serving.
//! Sibling: kcup-go/ops/ops.go

pub mod log;
pub mod reload;
pub mod signals;
pub mod stream;
