//! Owns: what surrounds the server: diagnostics, signals, reloads, the health check, the service manager, the sandbox.
//! Must not: be needed for serving.
//! Sibling: kcup-go/ops/ops.go

pub mod health;
pub mod log;
pub mod notify;
pub mod reload;
pub mod sandbox;
pub mod signals;
pub mod stream;
