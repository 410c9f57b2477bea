// The judge's levels judged: for every promise of a level a history that breaks it, and the nearest one that does not.

package main

import (
	"testing"
	"time"
)

var (
	levelSession  = Level{Kind: session}
	levelBounded  = Level{bounded, 5 * time.Millisecond}
	levelEventual = Level{Kind: eventual}
	allLevels     = []Level{{}, levelSession, levelBounded, levelEventual}
)

func at(level Level, v View) View {
	v.Level = level
	return v
}

func by(connection int, w Write) Write {
	w.Connection = connection
	return w
}

// The same as someWrites, but the second write of register 1 is connection 7's own.
func writesOf7() []Write {
	writes := someWrites()
	writes[1].Connection = 7
	return writes
}

func expectOne(t *testing.T, writes []Write, want string, views ...View) {
	t.Helper()
	counts := map[string]int{}
	if want != "" {
		counts[want] = 1
	}
	expect(t, History{Writes: writes, Views: views}, counts)
}

func TestOnlyStrongMustShowAtOnceWhatOthersWrote(t *testing.T) {
	for _, level := range []Level{levelSession, levelBounded, levelEventual} {
		expectOne(t, someWrites(), "", at(level, view(7, 12*ms+1, 13*ms, cell(0, 1, "a", 1))))
	}
	expectOne(t, someWrites(), stale, view(7, 12*ms+1, 13*ms, cell(0, 1, "a", 1)))
}

func TestASessionThatMissesItsOwnWrite(t *testing.T) {
	missed := view(7, 12*ms+1, 13*ms, cell(0, 1, "a", 1))
	expectOne(t, writesOf7(), ownWriteMissed, at(levelSession, missed))
	for _, level := range []Level{levelBounded, levelEventual} {
		expectOne(t, writesOf7(), "", at(level, missed))
	}
}

func TestASessionNeedNotSeeWhatIsNotYetAcknowledgedOrNotItsOwn(t *testing.T) {
	for name, v := range map[string]View{
		"in the instant of the acknowledgement": view(7, 12*ms, 13*ms, cell(0, 1, "a", 1)),
		"another connection":                    view(8, 12*ms+1, 13*ms, cell(0, 1, "a", 1)),
		"seen":                                  view(7, 12*ms+1, 13*ms, cell(0, 1, "a", 2)),
	} {
		t.Run(name, func(t *testing.T) { expectOne(t, writesOf7(), "", at(levelSession, v)) })
	}
	lost := []Write{acked(1, 1, 1*ms, 2*ms), {Register: 1, Value: 2, Connection: 7, Sent: 3 * ms, Acked: Never}}
	expectOne(t, lost, "", at(levelSession, view(7, 9*ms, 10*ms, cell(0, 1, "a", 1))))
}

func TestASessionMissesItsOwnWriteInATransaction(t *testing.T) {
	v := view(7, 12*ms+1, 15*ms, cell(0, 2, "a", 1), cell(1, 1, "a", 1), cell(1, 1, "b", 1), cell(2, 1, "a", 1))
	expectOne(t, writesOf7(), ownWriteMissed, at(levelSession, v))
}

func TestASessionMissesWhatCameBeforeItsOwnWrite(t *testing.T) {
	// 1 of register 2 was acknowledged before connection 7 sent its write, 2 of register 2 was not.
	expectOne(t, writesOf7(), ownWriteMissed, at(levelSession, view(7, 15*ms, 16*ms, cell(0, 2, "a", 0))))
	expectOne(t, writesOf7(), "", at(levelSession, view(7, 15*ms, 16*ms, cell(0, 2, "a", 1))))
	expectOne(t, writesOf7(), "", at(levelSession, view(8, 15*ms, 16*ms, cell(0, 2, "a", 0))))
}

func TestABoundedViewThatIsTooOld(t *testing.T) {
	late := view(7, 17*ms+1, 18*ms, cell(0, 1, "a", 1))
	expectOne(t, someWrites(), tooOld, at(levelBounded, late))
	expectOne(t, someWrites(), "", at(levelEventual, late))
	expectOne(t, someWrites(), "", at(levelBounded, view(7, 17*ms, 18*ms, cell(0, 1, "a", 1))))
	expectOne(t, someWrites(), "", at(Level{bounded, 6 * time.Millisecond}, late))
	expectOne(t, someWrites(), "", at(levelBounded, view(7, 17*ms+1, 18*ms, cell(0, 1, "a", 2))))
}

func TestAtEveryLevelButEventualAConnectionNeverGoesBack(t *testing.T) {
	for _, first := range allLevels {
		for _, second := range []Level{levelSession, levelBounded} {
			early := at(first, view(7, 12*ms, 13*ms, cell(0, 1, "a", 2)))
			expectOne(t, someWrites(), regressed, early, at(second, view(7, 13*ms, 14*ms, cell(0, 1, "a", 1))))
			expectOne(t, someWrites(), "", early, at(second, view(7, 13*ms, 14*ms, cell(0, 1, "a", 2))))
			expectOne(t, someWrites(), "", early, at(second, view(8, 13*ms, 14*ms, cell(0, 1, "a", 1))))
		}
		early := at(first, view(7, 12*ms, 13*ms, cell(0, 1, "a", 2)))
		expectOne(t, someWrites(), "", early, at(levelEventual, view(7, 13*ms, 14*ms, cell(0, 1, "a", 1))))
	}
}

func TestAnEventualViewThatGoesBackIsNoExcuseForTheNext(t *testing.T) {
	back := []View{
		at(levelSession, view(7, 12*ms, 13*ms, cell(0, 1, "a", 2))),
		at(levelEventual, view(7, 13*ms, 14*ms, cell(0, 1, "a", 1))),
	}
	expectOne(t, someWrites(), regressed, append(back, at(levelSession, view(7, 14*ms, 15*ms, cell(0, 1, "a", 1))))...)
	// Nor for another register: 2 of register 1 comes before 2 of register 2.
	back = []View{
		at(levelSession, view(7, 14*ms, 15*ms, cell(0, 2, "a", 2))),
		at(levelEventual, view(7, 15*ms, 16*ms, cell(0, 2, "a", 1))),
	}
	expectOne(t, someWrites(), regressed, append(back, at(levelSession, view(7, 16*ms, 17*ms, cell(0, 1, "a", 1))))...)
}

func TestAConnectionDoesNotLoseWhatCameBeforeWhatItSaw(t *testing.T) {
	// It saw 2 of register 2, which was sent after 2 of register 1 was acknowledged.
	for _, first := range allLevels {
		early := at(first, view(7, 14*ms, 15*ms, cell(0, 2, "a", 2)))
		late := view(7, 15*ms, 16*ms, cell(0, 1, "a", 1))
		expectOne(t, someWrites(), regressed, early, at(levelSession, late))
		expectOne(t, someWrites(), "", early, at(levelEventual, late))
		// What it saw of register 2 before says nothing about 2 of register 1.
		early.Seen = []Observation{cell(0, 2, "a", 1)}
		early.Arrived = 13 * ms
		if first != (Level{}) {
			expectOne(t, someWrites(), "", early, at(levelSession, late))
		}
	}
}

func TestPrefixAndSnapshotArePromisedAtEveryLevel(t *testing.T) {
	for _, level := range allLevels {
		expectOne(t, someWrites(), torn, at(level, view(7, 11*ms, 12*ms, cell(0, 1, "a", 2), cell(0, 1, "b0", 1))))
		expectOne(t, someWrites(), shifted, at(level, view(7, 11*ms, 13*ms, cell(0, 1, "a", 1), cell(3, 1, "a", 2))))
		expectOne(t, someWrites(), disorder, at(level, view(7, 11*ms, 30*ms, cell(0, 1, "a", 1), cell(0, 2, "a", 2))))
		expectOne(t, someWrites(), invented, at(level, view(7, 5*ms, 9*ms, cell(0, 1, "a", 2))))
	}
}
