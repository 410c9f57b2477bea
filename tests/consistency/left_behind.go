// Children that MySQL itself leaves behind when it deletes or changes their parents.
// Comes in: a history. Goes out: the same without what such children show, and which these are. Pure.
//
// docs/limits.md names the fault: right after a server's start, InnoDB passes over a child table that another session is just opening.
// What a transaction on the master's own connection sees of its own writes, neither the gate nor a satellite has touched.

package main

import "strings"

// child is a cell that a foreign key should have changed.
type child struct {
	register int
	cell     string
}

// The cells of families that nobody writes.
var children = map[string]bool{"k": true, "kk": true, "d": true}

// leftBehind: since when each child is.
func leftBehind(views []View) map[child]Instant {
	found := map[child]Instant{}
	for _, v := range views {
		if v.Own == 0 || !strings.HasSuffix(v.Client, direct) {
			continue
		}
		for _, o := range v.Seen {
			of := child{o.Register, o.Cell}
			known, twice := found[of]
			if children[o.Cell] && o.Register == v.OwnRegister && o.Value < v.Own && (!twice || v.Arrived < known) {
				found[of] = v.Arrived
			}
		}
	}
	return found
}

// withoutLeftBehind takes them out of all views from then on.
func withoutLeftBehind(h History) (History, map[child]Instant) {
	left := leftBehind(h.Views)
	if len(left) == 0 {
		return h, nil
	}
	views := h.Views
	h.Views = make([]View, len(views))
	for i, v := range views {
		var seen []Observation
		for _, o := range v.Seen {
			if since, is := left[child{o.Register, o.Cell}]; !is || v.Answered < since {
				seen = append(seen, o)
			}
		}
		v.Seen = seen
		h.Views[i] = v
	}
	return h, left
}
