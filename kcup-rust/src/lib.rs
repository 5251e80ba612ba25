//! The modules of kcup, in layers: each uses only those that stand before it here. A test holds that.
//!
//! This is a library only so that tests, fuzz targets and benchmarks can reach the modules; its API is not public.

pub mod mta_sts;
pub mod config;
pub mod content;
pub mod respond;
pub mod access_log;
pub mod server;
pub mod ops;

#[cfg(test)]
mod conformance;
