// The levels against the simulated database: a correct one never breaks a promise, though its weaker levels lag; one that
// breaks a level's promise is caught.

package main

import (
	"testing"
	"time"
)

const connections = 5

var simulatedLevels = []Level{{}, levelSession, {bounded, 0}, {bounded, 35 * time.Millisecond}, {bounded, time.Hour}, levelEventual}

// owned gives every write to a connection, or to none of those that read.
func (s simulation) owned() simulation {
	for i := range s.writes {
		s.writes[i].Connection = s.random.Intn(2 * connections)
	}
	return s
}

// acknowledged: how many commits were acknowledged before the moment.
func (s simulation) acknowledged(before Instant) (n int) {
	for n < len(s.writes) && s.writes[n].Acked < before {
		n++
	}
	return n
}

// lastOwn: the number of the connection's last commit among the first n, 0 if there is none.
func (s simulation) lastOwn(connection, n int) int {
	for ; n > 0; n-- {
		if s.writes[n-1].Connection == connection {
			return n
		}
	}
	return 0
}

// least: how many commits a view at this level must show, asked for when n are acknowledged, by a connection that saw so many.
func (s simulation) least(level Level, connection, n, seen int) int {
	switch level.Kind {
	case strong:
		return larger(n, seen)
	case session:
		return larger(s.lastOwn(connection, n), seen)
	case bounded:
		return larger(s.acknowledged(after(n)-Instant(level.Bound)), seen)
	default:
		return 0
	}
}

func larger(a, b int) int {
	if a > b {
		return a
	}
	return b
}

// ask is one view of a copy that has the first `shown` commits, asked for when n are acknowledged.
func (s simulation) ask(level Level, connection, n, shown int) View {
	seen := append(s.snapshot(shown, 0), s.snapshot(shown, 1)...)
	return at(level, view(connection, after(n), after(larger(n, shown))+1, seen...))
}

// views of a correct database, each with as little or as much as its level allows.
func (s simulation) correct(level func() Level) (views []View) {
	seen := map[int]int{}
	for n := 0; n < simulated; n++ {
		connection, chosen := s.random.Intn(connections), level()
		shown := s.least(chosen, connection, n, seen[connection])
		if s.random.Intn(2) == 0 {
			shown += s.random.Intn(larger(n, shown) + 1 - shown)
		}
		seen[connection] = larger(shown, seen[connection])
		views = append(views, s.ask(chosen, connection, n, shown))
	}
	return views
}

func TestACorrectDatabaseIsCleanAtEveryLevelAndWhenTheyAlternate(t *testing.T) {
	lagged := map[string]int{}
	for seed := int64(1); seed <= 200; seed++ {
		s := simulate(seed).owned()
		views := s.correct(func() Level { return simulatedLevels[s.random.Intn(len(simulatedLevels))] })
		h := History{Writes: s.writes, Views: views}
		violations := Check(h)
		if len(violations) > 0 {
			t.Fatalf("seed %d: %+v", seed, violations[0])
		}
		for level, count := range countLevels(h, violations).LaggedByLevel {
			lagged[level] += count
		}
	}
	for _, level := range simulatedLevels {
		promisesAll := level.Kind == strong || level == Level{bounded, 0}
		if got := lagged[level.String()]; promisesAll != (got == 0) {
			t.Errorf("%v: %d views lagged", level, got)
		}
	}
}

// The others in their place: what is promised by one level alone is missed by a database that keeps only another's.
func TestADatabaseThatKeepsAWeakerPromiseIsCaught(t *testing.T) {
	for _, each := range []struct {
		asked, kept Level
		want        string
	}{
		{Level{}, levelSession, stale},
		{Level{}, Level{bounded, 35 * time.Millisecond}, stale},
		{levelSession, Level{bounded, 35 * time.Millisecond}, ownWriteMissed},
		{levelSession, levelEventual, ownWriteMissed},
		{levelSession, levelEventual, regressed},
		{Level{bounded, 15 * time.Millisecond}, Level{bounded, 35 * time.Millisecond}, tooOld},
		{levelBounded, levelSession, tooOld},
		{levelBounded, levelEventual, regressed},
	} {
		forSomeSeeds(t, 20, each.want, func(s simulation) []View {
			s = s.owned()
			views := s.correct(func() Level { return each.kept })
			for i := range views {
				views[i].Level = each.asked
			}
			return views
		})
	}
}

func TestASessionThatForgetsWhatItSawEventuallyRegresses(t *testing.T) {
	for _, level := range []Level{levelSession, {bounded, time.Hour}} {
		forSeeds(t, regressed, func(s simulation) []View {
			n := 1 + s.random.Intn(simulated-1)
			return []View{s.ask(levelEventual, 1, n, n), s.ask(level, 1, n+1, n-1)}
		})
		forSeeds(t, "", func(s simulation) []View {
			n := 1 + s.random.Intn(simulated-1)
			return []View{s.ask(levelEventual, 1, n, n), s.ask(level, 1, n+1, n)}
		})
	}
}
