//! Owns: everything around the server: diagnostics, signals, reloads, the health check, the service manager, the
//! sandbox, the admin listener and its metrics.
//! Must not: be needed for serving.

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
