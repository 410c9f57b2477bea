// The queue of looks at the end of a bound.

package main

import "testing"

func TestAProbeIsGivenWhenItsBoundIsOver(t *testing.T) {
	l := later{level: levelBounded}
	l.add(probe{1, 10 * ms})
	l.add(probe{2, 11 * ms})
	if register, ok := l.take(15 * ms); ok {
		t.Errorf("register %d while the bound was not over", register)
	}
	for at, want := range map[Instant]int{15*ms + 1: 1, 16*ms + 1: 2} {
		fresh := later{l.level, append([]probe(nil), l.waiting[want-1:]...)}
		if register, ok := fresh.take(at); !ok || register != want {
			t.Errorf("%v: register %d, %v", at, register, ok)
		}
	}
}

func TestAProbeThatIsTooLateIsForgotten(t *testing.T) {
	l := later{level: levelBounded}
	l.add(probe{1, 10 * ms})
	l.add(probe{2, 20 * ms})
	if register, ok := l.take(26 * ms); !ok || register != 2 {
		t.Errorf("register %d, %v", register, ok)
	}
	if l.wake(0) != nil {
		t.Error("nothing waits any more")
	}
}

func TestOnlyABoundHasItsEndAndOnlyAFewProbesWait(t *testing.T) {
	unbounded, crowded := later{level: levelEventual}, later{level: levelBounded}
	for i := 0; i < 2*mostLater; i++ {
		unbounded.add(probe{i, ms})
		crowded.add(probe{i, ms})
	}
	if len(unbounded.waiting) != 0 || len(crowded.waiting) != mostLater {
		t.Errorf("%d and %d wait", len(unbounded.waiting), len(crowded.waiting))
	}
}
