// The judge judged: for every property a history that breaks it and is caught, and the nearest one that does not.

package main

import "testing"

const ms = Instant(1e6)

func acked(register int, value int64, sent, ack Instant) Write {
	return Write{Register: register, Value: value, Writer: "w", Sent: sent, Acked: ack}
}

func cell(statement, register int, name string, value int64) Observation {
	return Observation{Statement: statement, Register: register, Cell: name, Value: value}
}

func view(connection int, arrived, answered Instant, seen ...Observation) View {
	return View{Client: "r", Connection: connection, Arrived: arrived, Answered: answered, Servers: []string{"satellite-1"}, Seen: seen}
}

// found counts the violations by property.
func found(h History) map[string]int {
	counts := map[string]int{}
	for _, v := range Check(h) {
		counts[v.Property]++
	}
	return counts
}

func expect(t *testing.T, h History, want map[string]int) {
	t.Helper()
	got := found(h)
	for _, name := range properties {
		if got[name] != want[name] {
			t.Errorf("%s: found %d, want %d", name, got[name], want[name])
		}
	}
}

var clean = map[string]int{}

// Two writes of register 1, three of register 2, all acknowledged.
func someWrites() []Write {
	return []Write{
		acked(1, 1, 1*ms, 2*ms), acked(1, 2, 10*ms, 12*ms),
		acked(2, 1, 3*ms, 4*ms), acked(2, 2, 13*ms, 14*ms), acked(2, 3, 20*ms, 21*ms),
	}
}

func TestNothingIsCleanAndSoIsTheFirstState(t *testing.T) {
	expect(t, History{}, clean)
	expect(t, History{Views: []View{view(1, 1*ms, 2*ms, cell(0, 1, "a", 0))}}, clean)
}

func TestStale(t *testing.T) {
	h := History{Writes: someWrites(), Views: []View{view(1, 12*ms+1, 13*ms, cell(0, 1, "a", 1))}}
	expect(t, h, map[string]int{stale: 1})
}

func TestOldValueIsAllowedUntilTheAcknowledgement(t *testing.T) {
	// Asked for while the write was under way, or in the very instant of its acknowledgement: both answers are right.
	for _, value := range []int64{1, 2} {
		expect(t, History{Writes: someWrites(), Views: []View{view(1, 12*ms, 30*ms, cell(0, 1, "a", value))}}, clean)
	}
}

func TestLostAcknowledgementPromisesNothing(t *testing.T) {
	writes := []Write{acked(1, 1, 1*ms, 2*ms), {Register: 1, Value: 2, Sent: 3 * ms, Acked: Never}, acked(1, 3, 9*ms, 10*ms)}
	for _, value := range []int64{1, 2} {
		expect(t, History{Writes: writes, Views: []View{view(1, 8*ms, 9*ms, cell(0, 1, "a", value))}}, clean)
	}
	// But a later acknowledgement of the same register does.
	expect(t, History{Writes: writes, Views: []View{view(1, 11*ms, 12*ms, cell(0, 1, "a", 2))}}, map[string]int{stale: 1})
}

func TestTornInOneStatement(t *testing.T) {
	h := History{Writes: someWrites(), Views: []View{view(1, 11*ms, 12*ms, cell(0, 1, "a", 2), cell(0, 1, "b0", 1))}}
	expect(t, h, map[string]int{torn: 1})
}

func TestTornAcrossStatementsAndTables(t *testing.T) {
	h := History{Writes: someWrites(), Views: []View{view(1, 11*ms, 12*ms, cell(0, 1, "a", 1), cell(2, 1, "c", 2))}}
	expect(t, h, map[string]int{torn: 1})
}

func TestTornByAMissingRow(t *testing.T) {
	h := History{Writes: someWrites(), Views: []View{view(1, 11*ms, 12*ms, cell(0, 1, "a", 1), cell(0, 1, "c", Missing))}}
	expect(t, h, map[string]int{torn: 1})
	h = History{Writes: someWrites(), Views: []View{view(1, 11*ms, 12*ms, cell(0, 1, "c", Missing))}}
	expect(t, h, map[string]int{torn: 1})
}

func TestShiftedInATransaction(t *testing.T) {
	h := History{Writes: someWrites(), Views: []View{view(1, 11*ms, 13*ms, cell(0, 1, "a", 1), cell(3, 1, "a", 2))}}
	expect(t, h, map[string]int{shifted: 1})
	h = History{Writes: someWrites(), Views: []View{view(1, 11*ms, 13*ms, cell(0, 1, "a", 1), cell(3, 1, "a", 1))}}
	expect(t, h, clean)
}

func TestRegressed(t *testing.T) {
	early := view(7, 11*ms, 12*ms, cell(0, 1, "a", 2))
	late := view(7, 12*ms, 13*ms, cell(0, 1, "a", 1))
	expect(t, History{Writes: someWrites(), Views: []View{late, early}}, map[string]int{regressed: 1})
	late.Connection = 8
	expect(t, History{Writes: someWrites(), Views: []View{early, late}}, clean)
}

func TestDisorder(t *testing.T) {
	// 2 of register 1 was acknowledged before 2 of register 2 was sent; a view in between arrived before both.
	h := History{Writes: someWrites(), Views: []View{view(1, 11*ms, 30*ms, cell(0, 1, "a", 1), cell(0, 2, "a", 2))}}
	expect(t, h, map[string]int{disorder: 1})
	h = History{Writes: someWrites(), Views: []View{view(1, 11*ms, 30*ms, cell(0, 1, "a", 2), cell(0, 2, "a", 1))}}
	expect(t, h, clean)
}

func TestConcurrentWritesMayBeSeenInAnyOrder(t *testing.T) {
	writes := []Write{acked(1, 1, 1*ms, 5*ms), acked(2, 1, 2*ms, 4*ms)}
	for _, pair := range [][2]int64{{0, 0}, {1, 0}, {0, 1}, {1, 1}} {
		h := History{Writes: writes, Views: []View{view(1, 1*ms, 9*ms, cell(0, 1, "a", pair[0]), cell(0, 2, "a", pair[1]))}}
		expect(t, h, clean)
	}
}

func TestInvented(t *testing.T) {
	writes := append(someWrites(), Write{Register: 1, Value: -3, Sent: 15 * ms, Acked: Never, RolledBack: true})
	for name, value := range map[string]int64{"rolled back": -3, "never written": 99} {
		got := found(History{Writes: writes, Views: []View{view(1, 0, 30*ms, cell(0, 1, "a", value))}})
		if got[invented] != 1 {
			t.Errorf("%s: %v", name, got)
		}
	}
	h := History{Writes: writes, Views: []View{view(1, 5*ms, 9*ms, cell(0, 1, "a", 2))}}
	expect(t, h, map[string]int{invented: 1})
}

func TestOwnWriteUnseen(t *testing.T) {
	own := view(1, 11*ms, 12*ms, cell(0, 1, "a", 1))
	own.Own, own.OwnRegister = 2, 1
	expect(t, History{Writes: someWrites(), Views: []View{own}}, map[string]int{ownUnseen: 1})
	own.Seen[0].Value = 2
	expect(t, History{Writes: someWrites(), Views: []View{own}}, clean)
}

func TestEveryRegisterOfAViewIsJudged(t *testing.T) {
	h := History{Writes: someWrites(), Views: []View{view(1, 25*ms, 26*ms, cell(0, 1, "a", 1), cell(0, 2, "a", 2))}}
	if got := found(h); got[stale] != 2 {
		t.Errorf("want both stale, got %v", got)
	}
}
