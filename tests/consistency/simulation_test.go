// The judge against a simulated database: any history of a correct one is clean, and of one that breaks a promise is caught.
// Each seed is another history.

package main

import (
	"math/rand"
	"testing"
)

const simulated = 200 // commits

// simulation: commit number n (from 1) is writes[n-1], sent at 10n and acknowledged at 10n+5, in units of ms.
type simulation struct {
	random *rand.Rand
	writes []Write
}

func simulate(seed int64) simulation {
	s := simulation{random: rand.New(rand.NewSource(seed))}
	values := map[int]int64{}
	for n := 1; n <= simulated; n++ {
		id := s.random.Intn(4)
		values[id]++
		s.writes = append(s.writes, acked(id, values[id], Instant(10*n)*ms, Instant(10*n+5)*ms))
	}
	return s
}

// snapshot is what a copy shows that has the first n commits: two cells of each register.
func (s simulation) snapshot(n, statement int) (seen []Observation) {
	values := map[int]int64{}
	for _, w := range s.writes[:n] {
		values[w.Register] = w.Value
	}
	for id := 0; id < 4; id++ {
		seen = append(seen, cell(statement, id, "a", values[id]), cell(statement, id, "b", values[id]))
	}
	return seen
}

// after: a moment at which the first n commits are acknowledged and no more are sent.
func after(n int) Instant { return Instant(10*n+7) * ms }

func forSeeds(t *testing.T, want string, broken func(s simulation) []View) {
	t.Helper()
	forSomeSeeds(t, 200, want, broken)
}

func forSomeSeeds(t *testing.T, seeds int64, want string, broken func(s simulation) []View) {
	t.Helper()
	for seed := int64(1); seed <= seeds; seed++ {
		s := simulate(seed)
		got := found(History{Writes: s.writes, Views: broken(s)})
		if want == "" && len(got) > 0 || want != "" && got[want] == 0 {
			t.Fatalf("seed %d: want %q, got %v", seed, want, got)
		}
	}
}

func TestACorrectDatabaseIsClean(t *testing.T) {
	forSeeds(t, "", func(s simulation) (views []View) {
		has := map[int]int{}
		for n := 0; n < simulated; n++ {
			// Answered late, so that it may show commits that came after it was asked for; never less than the connection saw.
			connection := s.random.Intn(5)
			shown := n + s.random.Intn(simulated-n)/10
			if shown < has[connection] {
				shown = has[connection]
			}
			has[connection] = shown
			views = append(views, view(connection, after(n), after(shown)+1, append(s.snapshot(shown, 0), s.snapshot(shown, 1)...)...))
		}
		return views
	})
}

func TestACopyThatLagsIsStale(t *testing.T) {
	forSeeds(t, stale, func(s simulation) []View {
		n := 1 + s.random.Intn(simulated)
		return []View{view(1, after(n), after(n)+1, s.snapshot(n-1, 0)...)}
	})
}

func TestACopyThatAppliesHalfATransactionIsTorn(t *testing.T) {
	forSeeds(t, torn, func(s simulation) []View {
		n := 1 + s.random.Intn(simulated)
		seen, before := s.snapshot(n, 0), s.snapshot(n-1, 0)
		half := 2*s.writes[n-1].Register + s.random.Intn(2)
		seen[half] = before[half]
		return []View{view(1, Instant(10*n)*ms, after(n), seen...)}
	})
}

func TestATransactionThatChangesItsSnapshotIsShifted(t *testing.T) {
	forSeeds(t, shifted, func(s simulation) []View {
		n := 1 + s.random.Intn(simulated)
		return []View{view(1, after(n-1), after(n), append(s.snapshot(n-1, 0), s.snapshot(n, 1)...)...)}
	})
}

func TestACopyThatGoesBackRegresses(t *testing.T) {
	forSeeds(t, regressed, func(s simulation) []View {
		n := 1 + s.random.Intn(simulated)
		return []View{view(1, 0, after(n), s.snapshot(n, 0)...), view(1, 1, after(n), s.snapshot(n-1, 0)...)}
	})
}

func TestACopyThatAppliesOutOfOrderIsDisorderly(t *testing.T) {
	forSeeds(t, disorder, func(s simulation) []View {
		n := 2 + s.random.Intn(simulated-1)
		for s.writes[n-1].Register == s.writes[n-2].Register {
			if n--; n < 2 {
				n = simulated
			}
		}
		// Commit n is there, and n-1 is not.
		last := s.writes[n-1]
		seen := s.snapshot(n-2, 0)
		for i := range seen {
			if seen[i].Register == last.Register {
				seen[i].Value = last.Value
			}
		}
		return []View{view(1, 0, after(n), seen...)}
	})
}
