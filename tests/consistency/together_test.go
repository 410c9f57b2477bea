// Transactions that write several registers: what one of them shows, the others show.

package main

import (
	"math/rand"
	"testing"
)

// together is one transaction that writes 1 to two registers, acknowledged, and no other.
func together() []Write {
	a, b := acked(1, 1, 1*ms, 2*ms), acked(2, 1, 1*ms, 2*ms)
	a.With, b.With = []Part{{2, 1}}, []Part{{1, 1}}
	return []Write{a, b}
}

func TestATransactionOfSeveralRegistersIsTorn(t *testing.T) {
	// Asked for before the acknowledgement, so that nothing need be seen.
	h := History{Writes: together(), Views: []View{view(1, 1*ms, 5*ms, cell(0, 1, "t", 1), cell(1, 2, "t", 0))}}
	expect(t, h, map[string]int{torn: 1})
	for _, value := range []int64{0, 1} {
		h.Views = []View{view(1, 1*ms, 5*ms, cell(0, 1, "t", value), cell(1, 2, "t", value))}
		expect(t, h, clean)
	}
	h.Views = []View{view(1, 1*ms, 5*ms, cell(0, 1, "t", 1))}
	expect(t, h, clean)
}

func TestWhoSawOnePartOfATransactionSeesTheOthers(t *testing.T) {
	early, late := view(7, 1*ms, 2*ms, cell(0, 1, "t", 1)), at(levelSession, view(7, 2*ms, 5*ms, cell(0, 2, "t", 0)))
	expect(t, History{Writes: together(), Views: []View{early, late}}, map[string]int{regressed: 1})
	late.Connection = 8
	expect(t, History{Writes: together(), Views: []View{early, late}}, clean)
}

func TestOwnWritesAreAllRegistersOfATransaction(t *testing.T) {
	h := History{Writes: together(), Views: []View{at(levelSession, view(7, 3*ms, 5*ms, cell(0, 2, "t", 0)))}}
	expect(t, h, clean)
	for i := range h.Writes {
		h.Writes[i].Connection = 7
	}
	expect(t, h, map[string]int{ownWriteMissed: 1})
}

// Recorded is what the owner takes down: each register's write names the others.
func TestATransactionIsAWriteOfEachRegister(t *testing.T) {
	r := newRecorder(nil)
	o := owner{registry: r}
	parts := []Part{{3, 1}, {4, 7}, {5, 2}}
	o.record(Write{Sent: 1, Acked: 2}, parts)
	for i, w := range r.history().Writes {
		if (Part{w.Register, w.Value}) != parts[i] || len(w.With) != 2 || w.With[0] == parts[i] || w.With[1] == parts[i] || w.Acked != 2 {
			t.Errorf("%+v", w)
		}
	}
}

func TestRegistersOfAGroupLieInItsTables(t *testing.T) {
	l := layout{singles: 3, triples: 2, families: 4, groups: 2}
	random := rand.New(rand.NewSource(1))
	for unit := l.groups0(); unit < l.units(); unit++ {
		first := l.first(unit)
		for _, register := range l.members(first, unit, random) {
			if l.argument(register) != first || register-first != l.table(register) || !l.isGroup(register) {
				t.Errorf("register %d of the group that begins with %d", register, first)
			}
		}
	}
	if l.registers() != 9+2*groupTables || l.isGroup(8) || !l.isFamily(8) || !l.isFamily(5) || !l.isTriple(4) || l.isTriple(5) {
		t.Error("the kinds' borders")
	}
}
