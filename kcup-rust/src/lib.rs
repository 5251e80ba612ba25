//! The rooms of kcup. Data runs one way: `config` -> `content` -> `respond` -> `server`, with `ops` beside and `mta_sts` apart.
//!
//! A library only so that fuzz targets and benchmarks can reach the rooms; nothing here is promised to anyone else.

pub mod config;
pub mod content;
pub mod mta_sts;
pub mod ops;
pub mod respond;
pub mod server;
