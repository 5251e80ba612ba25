// Package ops owns what is around the server: diagnostics, signals, reloads, the service manager, the
// sandbox, and the admin listener with its numbers.
// It must not be needed for serving.
// Its sibling is kcup-rust/src/ops/mod.rs.
package ops
