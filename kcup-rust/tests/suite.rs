//! A part of the suite against this build, where SUITE is the command: cargo-mutants runs no tests but cargo's. See `make mutants`.

use std::process::Command;

#[test]
fn the_suite_passes() {
    let Ok(suite) = std::env::var("SUITE") else { return };
    let command = format!("{suite} --rust {}", env!("CARGO_BIN_EXE_kcup-rust"));
    assert!(Command::new("sh").args(["-c", &command]).status().unwrap().success());
}
