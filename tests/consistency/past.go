// What each connection did and saw before a view: what the levels session and bounded promise not to lose.
// Comes in: a history. Goes out: its views one by one, each with its connection's past. Pure.

package main

import "sort"

// past is what one connection knows when it asks for a view.
type past struct {
	seen    map[int]int64 // the highest value of each register that it was shown, or a part of its transaction, at whatever level
	shown   Write         // of all writes that it was shown, the one that was sent last
	own     map[int]Write // its own last acknowledged write of each register
	lastOwn Write         // its own last acknowledged write
	coming  []Write       // its own acknowledged writes that are not yet in own, rising in Acked
}

// walk visits the views in the order in which they were asked for; the past is good until the visit returns.
func walk(h History, registers map[int]*register, visit func(View, *past)) {
	views := append([]View(nil), h.Views...)
	sort.SliceStable(views, func(i, j int) bool { return views[i].Arrived < views[j].Arrived })
	pasts := pastsOf(h)
	for _, v := range views {
		p := pasts[v.Connection]
		p.advance(v.Arrived)
		visit(v, p)
		if v.Own == 0 {
			p.remember(v, registers)
		}
	}
}

func pastsOf(h History) map[int]*past {
	pasts := map[int]*past{}
	for _, v := range h.Views {
		if pasts[v.Connection] == nil {
			pasts[v.Connection] = &past{seen: map[int]int64{}, own: map[int]Write{}}
		}
	}
	for _, w := range h.Writes {
		if p := pasts[w.Connection]; p != nil && w.Acked != Never && !w.RolledBack {
			p.coming = append(p.coming, w)
		}
	}
	for _, p := range pasts {
		coming := p.coming
		sort.SliceStable(coming, func(i, j int) bool { return coming[i].Acked < coming[j].Acked })
	}
	return pasts
}

// advance takes in the own writes that were acknowledged strictly before the moment.
func (p *past) advance(at Instant) {
	for len(p.coming) > 0 && p.coming[0].Acked < at {
		p.lastOwn = p.coming[0]
		p.own[p.lastOwn.Register] = p.lastOwn
		p.coming = p.coming[1:]
	}
}

func (p *past) remember(v View, registers map[int]*register) {
	for id, value := range lowest(v) {
		w, ok := registers[id].written(value)
		if w.Lost != 0 {
			continue
		}
		p.saw(id, value)
		if !ok || w.RolledBack {
			continue
		}
		for _, part := range w.With {
			p.saw(part.Register, part.Value)
		}
		if w.Sent > p.shown.Sent {
			p.shown = w
		}
	}
}

func (p *past) saw(id int, value int64) {
	if value > p.seen[id] {
		p.seen[id] = value
	}
}
