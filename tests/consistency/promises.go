// What a view must show at least, by its level.
// Comes in: a view and its connection's past. Goes out: violations. Pure.

package main

import (
	"fmt"
	"time"
)

func checkLevel(v View, p *past, registers map[int]*register) (found []Violation) {
	switch v.Level.Kind {
	case strong:
		found = checkFloor(stale, v, v.Arrived, registers)
	case bounded:
		found = checkFloor(tooOld, v, v.Arrived-Instant(v.Level.Bound), registers)
	case session:
		found = checkOwnWrites(v, p, registers)
	case eventual:
		return nil
	}
	return append(found, checkRegressed(v, p, registers)...)
}

// checkFloor: all that was acknowledged before the moment must be there.
func checkFloor(property string, v View, at Instant, registers map[int]*register) (found []Violation) {
	for id, got := range lowest(v) {
		if w, ok := registers[id].floor(at); ok && got < w.Value {
			found = append(found, Violation{property, v, id, w.Value, got,
				fmt.Sprintf("%d was acknowledged %v before the view was asked for", w.Value, time.Duration(v.Arrived-w.Acked))})
		}
	}
	return found
}

// checkOwnWrites: what the connection itself wrote must be there, and with it all that came before.
func checkOwnWrites(v View, p *past, registers map[int]*register) (found []Violation) {
	for id, got := range lowest(v) {
		if w, ok := p.own[id]; ok && got < w.Value {
			found = append(found, Violation{ownWriteMissed, v, id, w.Value, got,
				fmt.Sprintf("the same connection wrote it, acknowledged %v before", time.Duration(v.Arrived-w.Acked))})
		} else if w, ok := before(p.lastOwn, registers[id], got); ok {
			found = append(found, Violation{ownWriteMissed, v, id, w.Value, got,
				fmt.Sprintf("it comes before register %d = %d, which the same connection wrote", p.lastOwn.Register, p.lastOwn.Value)})
		}
	}
	return found
}

// checkRegressed: what the connection saw must be there, and with it all that came before.
func checkRegressed(v View, p *past, registers map[int]*register) (found []Violation) {
	for id, got := range lowest(v) {
		if known := p.seen[id]; got < known {
			found = append(found, Violation{regressed, v, id, known, got, "the same connection saw more before"})
		} else if w, ok := before(p.shown, registers[id], got); ok {
			found = append(found, Violation{regressed, v, id, w.Value, got,
				fmt.Sprintf("it comes before register %d = %d, which the same connection saw", p.shown.Register, p.shown.Value)})
		}
	}
	return found
}

// before: the register's next write after the value, if it was acknowledged before `later` was even sent: whoever has
// `later` has it too.
func before(later Write, r *register, value int64) (Write, bool) {
	w, ok := r.next(value)
	return w, ok && w.Acked < later.Sent
}
