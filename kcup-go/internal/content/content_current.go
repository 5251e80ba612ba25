// Who holds content, and the place of that which is served; a part of content.go. The bytes lie where the collector does
// not see them: the last holder gives them back, at once.

package content

import "sync/atomic"

// Acquire is for one more holder, of content that somebody holds.
func (c *Content) Acquire() {
	if c.holders.Add(1) <= 1 {
		panic("content that nobody holds any more is acquired")
	}
}

// Release is for each holder, once. Behind the last one the bytes are gone.
func (c *Content) Release() {
	switch left := c.holders.Add(-1); {
	case left < 0:
		panic("content is released more often than it was acquired")
	case left == 0:
		c.Shared.release()
		c.variants.release()
	}
}

// Alive says whether anybody holds it.
func (c *Content) Alive() bool { return c.holders.Load() > 0 }

// Current is the place of the content that is served. It holds it.
type Current struct{ content atomic.Pointer[Content] }

// Peek is the content, for a look at what is no part of its bytes.
func (s *Current) Peek() *Content { return s.content.Load() }

// Get is the content, which the caller releases.
func (s *Current) Get() *Content {
	for {
		c := s.content.Load()
		for n := c.holders.Load(); n > 0; n = c.holders.Load() {
			if c.holders.CompareAndSwap(n, n+1) {
				return c
			}
		}
	}
}

// Replace puts c in its place, which the caller held and holds no longer. What was there before is held by the others
// only.
func (s *Current) Replace(c *Content) (old *Content) {
	if old = s.content.Swap(c); old != nil {
		old.Release()
	}
	return old
}
