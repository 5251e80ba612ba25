package ops

import "sync/atomic"

// Reloads counts them by their result (K-119).
type Reloads struct{ OK, Failed atomic.Uint64 }
