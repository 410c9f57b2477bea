// Looks at the moment in which a bound is over: then a write that a bounded view could still do without must be there.
// Comes in: probes. Goes out: the same registers, each when its acknowledgement has grown older than the bound. Must never
// keep more than a few, nor give one so late that any copy would pass.

package main

import "time"

const mostLater = 32

// later belongs to one reader; without a bounded level it keeps nothing.
type later struct {
	level   Level
	waiting []probe // in the order in which they came, which is about that of their acknowledgements
}

func (l *later) add(p probe) {
	if l.level.Kind == bounded && len(l.waiting) < mostLater {
		l.waiting = append(l.waiting, p)
	}
}

// wake fires when the first one is due; never, if there is none.
func (l *later) wake(now Instant) <-chan time.Time {
	if len(l.waiting) == 0 {
		return nil
	}
	return time.After(time.Duration(l.due(l.waiting[0]) - now))
}

func (l *later) due(p probe) Instant { return p.acked + Instant(l.level.Bound) + 1 }

// take gives the first one that is due and not too late, and forgets it and those before it.
func (l *later) take(now Instant) (register int, ok bool) {
	for len(l.waiting) > 0 && l.due(l.waiting[0]) <= now {
		p := l.waiting[0]
		l.waiting = l.waiting[1:]
		if now-l.due(p) <= Instant(freshFor) {
			return p.register, true
		}
	}
	return 0, false
}
