package server

// phase is where a connection is in its life.
type phase uint8

const (
	idle      phase = iota // at a request boundary; holds nothing but its record
	inHead                 // part of a head is kept
	writing                // the rest of an answer is pending; nothing is read meanwhile
	lingering              // our side has ended; what still comes is discarded (K-72)
	phaseCount
	vacant = phaseCount // the slot waits for its next connection
)

// connection is all there is of an idle one: a record in its worker's slab.
type connection struct {
	fd         int32
	generation uint32 // tells an event for an earlier user of the slot
	next, prev int32
	since      uint32 // tick in which it entered its phase
	left       int32  // bytes that may still be discarded while lingering
	phase      phase
	hangup     bool // the peer has ended its side or is gone: read on to the end
	full       bool // the last read filled its buffer: there may be more
	queued     bool // on the worker's list for another turn
	kept       *kept
	out        *outgoing
}

// kept is input that could not be used up: a part of a head, or requests behind a pending answer.
type kept struct {
	guard guard
	bytes []byte
}
