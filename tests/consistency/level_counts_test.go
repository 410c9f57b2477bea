// Which views count as checks at each level, which lagged, and who answered.

package main

import "testing"

func countsOf(writes []Write, views ...View) LevelCounts {
	h := History{Writes: writes, Views: views, Satellites: map[string]bool{"satellite-1": true}}
	return countLevels(h, Check(h))
}

func TestAViewIsACheckOnlyRightAfterWhatItsLevelMustShow(t *testing.T) {
	two := []Observation{cell(0, 1, "a", 2), cell(0, 1, "b", 2)}
	for name, each := range map[string]struct {
		view View
		want int
	}{
		"strong, at once":                   {view(8, 12*ms+1, 13*ms, two...), 1},
		"strong, later":                     {view(8, 18*ms, 19*ms, two...), 0},
		"session, another's write":          {at(levelSession, view(8, 12*ms+1, 13*ms, two...)), 0},
		"session, own write":                {at(levelSession, view(7, 12*ms+1, 13*ms, two...)), 1},
		"session, own write, later":         {at(levelSession, view(7, 18*ms, 19*ms, two...)), 0},
		"bounded, at once":                  {at(levelBounded, view(7, 12*ms+1, 13*ms, two...)), 0},
		"bounded, when the bound is over":   {at(levelBounded, view(7, 17*ms+1, 18*ms, two...)), 1},
		"bounded, later":                    {at(levelBounded, view(7, 23*ms, 24*ms, two...)), 0},
		"eventual, at once":                 {at(levelEventual, view(7, 12*ms+1, 13*ms, two...)), 1},
		"eventual, later":                   {at(levelEventual, view(7, 18*ms, 19*ms, two...)), 0},
		"eventual, of which no half can be": {at(levelEventual, view(7, 12*ms+1, 13*ms, two[0])), 0},
	} {
		if got := countsOf(writesOf7(), each.view).ChecksByLevel[each.view.Level.String()]; got != each.want {
			t.Errorf("%s: %d checks", name, got)
		}
	}
}

func TestWhatTheConnectionSawJustBeforeMakesACheck(t *testing.T) {
	saw := at(levelEventual, view(7, 11*ms, 12*ms, cell(0, 1, "a", 2)))
	for _, level := range []Level{levelSession, levelBounded} {
		again := at(level, view(7, 13*ms, 14*ms, cell(0, 1, "a", 2)))
		if got := countsOf(someWrites(), saw, again).ChecksByLevel[level.String()]; got != 1 {
			t.Errorf("%v: %d checks", level, got)
		}
		again.Connection = 8
		if got := countsOf(someWrites(), saw, again).ChecksByLevel[level.String()]; got != 0 {
			t.Errorf("%v on another connection: %d checks", level, got)
		}
	}
}

func TestAViewLagsThatLacksWhatWasAcknowledgedAndKeepsItsPromise(t *testing.T) {
	for _, level := range allLevels {
		name := level.String()
		lacking := at(level, view(8, 12*ms+1, 13*ms, cell(0, 1, "a", 1)))
		want := asNumber(level.Kind != strong) // there it is stale
		if got := countsOf(someWrites(), lacking).LaggedByLevel[name]; got != want {
			t.Errorf("%s: %d lagged, want %d", name, got, want)
		}
		complete := at(level, view(8, 12*ms, 13*ms, cell(0, 1, "a", 1)))
		if got := countsOf(someWrites(), complete).LaggedByLevel[name]; got != 0 {
			t.Errorf("%s: %d lagged though nothing was lacking", name, got)
		}
	}
	old := at(levelBounded, view(8, 17*ms+1, 18*ms, cell(0, 1, "a", 1)))
	if got := countsOf(someWrites(), old).LaggedByLevel[old.Level.String()]; got != 0 {
		t.Errorf("too old, and yet it lagged legitimately: %d", got)
	}
}

func TestAnswersOfSatellitesAreCountedByLevel(t *testing.T) {
	bySatellite, byMaster := at(levelSession, view(1, 1, 2)), at(levelSession, view(1, 2, 3))
	byMaster.Servers = []string{"master"}
	both := at(levelSession, view(1, 3, 4))
	both.Servers = []string{"satellite-1", "master"}
	got := countsOf(nil, bySatellite, byMaster, both, at(levelEventual, view(1, 4, 5)))
	if got.ViewsByLevel["session"] != 3 || got.SatelliteAnswersByLevel["session"] != 1 || got.SatelliteAnswersByLevel["eventual"] != 1 {
		t.Errorf("%+v", got)
	}
	inside := view(1, 5, 6, cell(0, 1, "a", 2))
	inside.Own, inside.OwnRegister = 2, 1
	if got := countsOf(nil, inside); len(got.ViewsByLevel) != 0 {
		t.Errorf("a look inside an own transaction has no level: %+v", got)
	}
}
