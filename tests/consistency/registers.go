// The writes of a history by register.
// Comes in: writes. Goes out: what a register must or may show. Pure.

package main

import "sort"

// register holds the writes of one register by value, and those acknowledged by time.
type register struct {
	byValue map[int64]Write
	acked   []Write // rising in Value and in Acked
}

// index sorts the writes by register.
func index(writes []Write) map[int]*register {
	registers := map[int]*register{}
	for _, w := range writes {
		r := registers[w.Register]
		if r == nil {
			r = &register{byValue: map[int64]Write{}}
			registers[w.Register] = r
		}
		r.byValue[w.Value] = w
		if w.Acked != Never && !w.RolledBack {
			r.acked = append(r.acked, w)
		}
	}
	for _, r := range registers {
		acked := r.acked
		sort.Slice(acked, func(i, j int) bool { return acked[i].Value < acked[j].Value })
	}
	return registers
}

// floor is the last write acknowledged strictly before the moment, if any.
func (r *register) floor(at Instant) (Write, bool) {
	if r == nil {
		return Write{}, false
	}
	n := sort.Search(len(r.acked), func(i int) bool { return r.acked[i].Acked >= at })
	if n == 0 {
		return Write{}, false
	}
	return r.acked[n-1], true
}

// next is the first acknowledged write above a value, if any.
func (r *register) next(value int64) (Write, bool) {
	if r == nil {
		return Write{}, false
	}
	n := sort.Search(len(r.acked), func(i int) bool { return r.acked[i].Value > value })
	if n == len(r.acked) {
		return Write{}, false
	}
	return r.acked[n], true
}

// written is the write of a value, if there was one.
func (r *register) written(value int64) (Write, bool) {
	if r == nil {
		return Write{}, false
	}
	w, ok := r.byValue[value]
	return w, ok
}
