//! Owns: what surrounds the server: diagnostics, signals, reloads, the health check, the service manager, the sandbox,
//! the admin listener and its numbers, the access log.
//! Must not: be needed for serving.
//! Sibling: kcup-go/ops/ops.go

pub mod access_log;
pub mod admin;
pub mod health;
pub mod log;
pub mod metrics;
pub mod notify;
pub mod process;
pub mod reload;
pub mod sandbox;
pub mod signals;
pub mod stream;
