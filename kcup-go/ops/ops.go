// Package ops owns what is around the server: diagnostics, and signals.
// It must not be needed for serving.
// Its sibling is kcup-rust/src/ops/mod.rs.
package ops
