// How much each level was put to the test.
// Comes in: a judged history. Goes out: numbers by level. Pure.

package main

import (
	"fmt"
	"time"
)

// A view counts as a check when it was asked for at most this long after a write that it must show was acknowledged (or,
// with a bound, grew older than the bound): later, a copy that merely lags a little would pass too.
const freshFor = 5 * time.Millisecond

// LevelCounts is by the level's name as the gate takes it, as in bounded:500. Looks inside own transactions are left out.
type LevelCounts struct {
	ViewsByLevel            map[string]int `json:"views_by_level"`
	ChecksByLevel           map[string]int `json:"checks_by_level"`
	SatelliteAnswersByLevel map[string]int `json:"satellite_answers_by_level"` // views that satellites alone answered
	// LaggedByLevel are the views that lacked what was acknowledged before they were asked for, and kept every promise: where a
	// weaker level has none, nothing shows that it is weaker.
	LaggedByLevel map[string]int `json:"lagged_by_level"`
}

func countLevels(h History, violations []Violation) LevelCounts {
	c := LevelCounts{map[string]int{}, map[string]int{}, map[string]int{}, map[string]int{}}
	broken := map[string]bool{}
	for _, v := range violations {
		broken[identity(v.View)] = true
	}
	registers := index(h.Writes)
	walk(h, registers, func(v View, p *past) {
		if v.Own != 0 {
			return
		}
		level := v.Level.String()
		c.ViewsByLevel[level]++
		c.ChecksByLevel[level] += asNumber(isCheck(v, p, registers))
		c.SatelliteAnswersByLevel[level] += asNumber(bySatellites(v, h.Satellites))
		c.LaggedByLevel[level] += asNumber(!broken[identity(v)] && lags(v, registers))
	})
	return c
}

// identity: a connection asks for one view at a time.
func identity(v View) string { return fmt.Sprint(v.Connection, " ", v.Arrived) }

func asNumber(counts bool) int {
	if counts {
		return 1
	}
	return 0
}

func bySatellites(v View, satellites map[string]bool) bool {
	for _, server := range v.Servers {
		if !satellites[server] {
			return false
		}
	}
	return len(v.Servers) > 0
}

func lags(v View, registers map[int]*register) bool {
	return len(checkFloor(stale, v, v.Arrived, registers)) > 0
}

// isCheck: see freshFor. A transaction's view of its own writes proves nothing about others.
func isCheck(v View, p *past, registers map[int]*register) bool {
	if v.Own != 0 {
		return false
	}
	for _, o := range v.Seen {
		if isFresh(v, p, o.Register, registers[o.Register]) {
			return true
		}
	}
	return false
}

// isFresh: whether a register that the view shows makes it a check.
func isFresh(v View, p *past, id int, r *register) bool {
	acknowledged := func(at Instant) bool {
		w, ok := r.floor(at)
		return ok && at-w.Acked <= Instant(freshFor)
	}
	// What the connection saw while its acknowledgement was still under way is as fresh as can be.
	seen := func() bool {
		w, ok := r.written(p.seen[id])
		return ok && w.Acked != Never && v.Arrived-w.Acked <= Instant(freshFor)
	}
	switch v.Level.Kind {
	case bounded:
		return acknowledged(v.Arrived-Instant(v.Level.Bound)) || seen()
	case session:
		w, ok := p.own[id]
		return ok && v.Arrived-w.Acked <= Instant(freshFor) || seen()
	case eventual:
		// It need not show the write, but neither a part of it, nor it without those before: for that it takes two cells.
		return len(v.Seen) > 1 && acknowledged(v.Arrived)
	default:
		return acknowledged(v.Arrived)
	}
}
