// The judge: which promises a history breaks.
// Comes in: a finished history. Goes out: violations. Pure; must never excuse a view because of a fault.

package main

import (
	"fmt"
	"time"
)

// The properties, each with what breaks it. Those of the levels:
const (
	stale          = "stale"            // strong: a view lacks a write that was acknowledged before the view was asked for
	tooOld         = "too_old"          // bounded: a view lacks a write that was acknowledged longer ago than the bound
	ownWriteMissed = "own_write_missed" // session: a view lacks a write of its own connection, or one before it
	regressed      = "regressed"        // all but eventual: a connection sees less than it saw before, at whatever level
)

// Those of every view:
const (
	torn      = "torn"     // a view shows a transaction in part
	shifted   = "shifted"  // two statements of one read-only transaction show different snapshots
	disorder  = "disorder" // a view shows a write but not one that was acknowledged before that write was sent
	invented  = "invented" // a view shows what was rolled back, never written, not yet written, or lost by the master
	ownUnseen = "own"      // a transaction does not see exactly what it wrote itself
)

var properties = []string{stale, tooOld, ownWriteMissed, regressed, torn, shifted, disorder, invented, ownUnseen}

// Violation is one broken promise.
type Violation struct {
	Property string
	View     View
	Register int
	Expected int64 // at least (the levels' properties, disorder) or exactly (the others)
	Got      int64
	Because  string
}

// Check judges every view, between two losses of the master each time by what it had left.
func Check(h History) (found []Violation) {
	for _, each := range periods(h) {
		found = append(found, checkPeriod(each)...)
	}
	return found
}

// checkPeriod: views of one connection are judged in the order of their arrival.
func checkPeriod(h History) (found []Violation) {
	registers := index(h.Writes)
	walk(h, registers, func(v View, p *past) {
		if v.Own != 0 {
			found = append(found, checkOwn(v)...)
			return
		}
		found = append(found, checkLevel(v, p, registers)...)
		found = append(found, checkSnapshot(v)...)
		found = append(found, checkTogether(v, registers)...)
		found = append(found, checkOrder(v, registers)...)
		found = append(found, checkInvented(v, registers)...)
	})
	return found
}

// lowest gives each register's lowest value in a view; a missing row says nothing about its age.
func lowest(v View) map[int]int64 {
	low := map[int]int64{}
	for _, o := range v.Seen {
		if o.Value == Missing {
			continue
		}
		if known, ok := low[o.Register]; !ok || o.Value < known {
			low[o.Register] = o.Value
		}
	}
	return low
}

// checkSnapshot compares all cells of a register that a view shows: every transaction sets them to one value.
func checkSnapshot(v View) (found []Violation) {
	first := map[int]Observation{}
	done := map[int]bool{}
	for _, o := range v.Seen {
		f, ok := first[o.Register]
		if !ok {
			first[o.Register], f = o, o
		}
		if done[o.Register] || (o.Value == f.Value && o.Value != Missing) {
			continue
		}
		property := torn
		if o.Cell == f.Cell && o.Statement != f.Statement {
			property = shifted
		}
		done[o.Register] = true
		found = append(found, Violation{property, v, o.Register, f.Value, o.Value,
			fmt.Sprintf("cell %s of statement %d against cell %s of statement %d", f.Cell, f.Statement, o.Cell, o.Statement)})
	}
	return found
}

// checkTogether: a view that shows what a transaction did to one register shows what it did to the others.
func checkTogether(v View, registers map[int]*register) (found []Violation) {
	low := lowest(v)
	for id, value := range low {
		w, _ := registers[id].written(value)
		for _, p := range w.With {
			if got, shown := low[p.Register]; shown && got < p.Value && !w.RolledBack {
				found = append(found, Violation{torn, v, p.Register, p.Value, got,
					fmt.Sprintf("the same transaction wrote register %d = %d, which is visible", id, value)})
			}
		}
	}
	return found
}

// checkOrder: a view that shows a write must show everything acknowledged before that write was even sent.
func checkOrder(v View, registers map[int]*register) (found []Violation) {
	low := lowest(v)
	if len(low) < 2 {
		return nil
	}
	var latest Write
	for id, value := range low {
		if r := registers[id]; r != nil {
			if w := r.byValue[value]; w.Sent > latest.Sent {
				latest = w
			}
		}
	}
	for id, got := range low {
		if w, ok := registers[id].next(got); ok && id != latest.Register && w.Acked < latest.Sent {
			found = append(found, Violation{disorder, v, id, w.Value, got,
				fmt.Sprintf("register %d = %d, sent %v later, is visible", latest.Register, latest.Value, time.Duration(latest.Sent-w.Acked))})
		}
	}
	return found
}

func checkInvented(v View, registers map[int]*register) (found []Violation) {
	for _, o := range v.Seen {
		if o.Value == 0 || o.Value == Missing {
			continue
		}
		var w Write
		known := false
		if r := registers[o.Register]; r != nil {
			w, known = r.byValue[o.Value]
		}
		because := ""
		switch {
		case !known:
			because = "nobody ever wrote it"
		case w.RolledBack:
			because = "its transaction was rolled back"
		case w.Lost != 0 && v.Arrived > w.Lost:
			because = "the master has lost it"
		case w.Sent > v.Answered:
			because = "it was sent after the answer"
		default:
			continue
		}
		found = append(found, Violation{invented, v, o.Register, 0, o.Value, because})
	}
	return found
}

func checkOwn(v View) (found []Violation) {
	for _, o := range v.Seen {
		if o.Register == v.OwnRegister && o.Value != v.Own {
			found = append(found, Violation{ownUnseen, v, o.Register, v.Own, o.Value, "its own transaction wrote it just before"})
		}
	}
	return found
}
