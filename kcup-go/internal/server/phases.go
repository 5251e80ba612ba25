package server

const none = -1

// phases is the slab of connections, and for each phase a queue through it in the order of entry. Each phase has one
// time limit, so the first of a queue is the next to expire, and no connection needs a timer.
type phases struct {
	slots []connection
	queue [phaseCount + 1]queue // the last one holds the vacant slots
	open  int
}

type queue struct {
	first, last int32
	count       int
}

func newPhases() phases {
	var p phases
	for i := range p.queue {
		p.queue[i] = queue{first: none, last: none}
	}
	return p
}

// add puts a socket into a slot, as an idle connection. Records may move in memory when one is added.
func (p *phases) add(fd int32, now uint32) *connection {
	slot := p.queue[vacant].first
	if slot == none {
		slot = int32(len(p.slots))
		p.slots = append(p.slots, connection{slot: slot, phase: vacant})
		p.push(slot, vacant)
	}
	c := &p.slots[slot]
	*c = connection{slot: slot, fd: fd, generation: c.generation + 1, buffer: leastBuffer, phase: vacant, next: c.next, prev: c.prev}
	p.move(c, idle, now)
	p.open++
	return c
}

// remove frees a slot. Its generation changes when it is taken again.
func (p *phases) remove(c *connection) {
	p.move(c, vacant, 0)
	p.open--
}

// move puts a connection at the end of a phase's queue, even if it is in it.
func (p *phases) move(c *connection, to phase, now uint32) {
	p.pull(c)
	p.push(c.slot, to)
	c.since = now
}

// at returns the connection of a slot, nil for none.
func (p *phases) at(slot int32) *connection {
	if slot == none {
		return nil
	}
	return &p.slots[slot]
}

// first returns the connection that has been in a phase longest, nil if there is none.
func (p *phases) first(of phase) *connection { return p.at(p.queue[of].first) }

func (p *phases) push(slot int32, to phase) {
	q, c := &p.queue[to], &p.slots[slot]
	c.phase, c.next, c.prev = to, none, q.last
	if q.last == none {
		q.first = slot
	} else {
		p.slots[q.last].next = slot
	}
	q.last = slot
	q.count++
}

func (p *phases) pull(c *connection) {
	q := &p.queue[c.phase]
	if c.prev == none {
		q.first = c.next
	} else {
		p.slots[c.prev].next = c.next
	}
	if c.next == none {
		q.last = c.prev
	} else {
		p.slots[c.next].prev = c.prev
	}
	q.count--
}

// expired returns the first of a phase if it has been there for more than limit ticks, otherwise nil.
func (p *phases) expired(of phase, limit, now uint32) *connection {
	if c := p.first(of); c != nil && now-c.since > limit {
		return c
	}
	return nil
}
