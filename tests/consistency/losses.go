// Losses: what a master that went back to an older copy of itself has lost, and what may still be seen of it.
// Comes in: a history. Goes out: a history for each time between two losses. Pure.

package main

// periods splits a history where the master went back. In each period what was lost before counts as not acknowledged, and must not be seen
// once the loss is known. No connection must see again what it saw in an earlier period; its own writes that are left it must.
func periods(h History) []History {
	all := []History{{Writes: h.Writes}}
	for i, l := range h.Losses {
		all = append(all, History{Writes: l.mark(all[i].Writes)})
	}
	for _, v := range h.Views {
		i := 0
		for i < len(h.Losses) && v.Answered >= h.Losses[i].Begun {
			i++
		}
		all[i].Views = append(all[i].Views, v)
	}
	return all
}

// mark: the writes, with what the master does not have any more.
func (l Loss) mark(writes []Write) []Write {
	marked := append([]Write(nil), writes...)
	for i, w := range marked {
		if w.Sent < l.Begun && w.Value > l.Left[w.Register] && w.Lost == 0 {
			marked[i].Acked, marked[i].Lost = Never, l.Known
		}
	}
	return marked
}
