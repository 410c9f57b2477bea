// The levels' texts, who reads at which, and when a run has enough.

package main

import (
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestALevelReadsBackAsItIsWritten(t *testing.T) {
	for _, level := range append(allLevels, Level{bounded, 0}) {
		if got, err := parseLevel(level.String()); err != nil || got != level {
			t.Errorf("%v: %v, %v", level, got, err)
		}
	}
}

func TestALevelThatIsNotUnderstoodIsAMistake(t *testing.T) {
	for _, text := range []string{"", "stong", "Strong", " strong", "bounded", "bounded:", "bounded:-1", "bounded:1.5", "bounded:1:2",
		"session:5"} {
		if level, err := parseLevel(text); err == nil {
			t.Errorf("%q was taken for %v", text, level)
		}
	}
}

func TestTheGateIsToldInItsOwnWords(t *testing.T) {
	level := Level{bounded, 500 * time.Millisecond}
	if level.assignment() != "SET @multimed_consistency = 'bounded:500'" {
		t.Error(level.assignment())
	}
	if got := askSingle.after(level.hint()).text(3); !strings.HasPrefix(got, "/* multimed: consistency=bounded:500 */ SELECT ") {
		t.Error(got)
	}
	if got := askSingle.after(""); !reflect.DeepEqual(got, askSingle) {
		t.Error(got)
	}
}

func settingsOf(t *testing.T, flags ...string) (settings, []string) {
	t.Helper()
	password := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(password, []byte("x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	needed := []string{"-gate=g:1", "-master=m:1", "-user=u", "-database=d", "-password-file=" + password, "-seed=1"}
	return readSettings(append(needed, flags...), io.Discard)
}

func TestMistakesInTheLevelsAreTold(t *testing.T) {
	for flags, want := range map[string]int{
		"-levels=strong":                             0,
		"-levels=session,eventual,bounded:0":         0,
		"-levels=":                                   1,
		"-levels=weak,strong,bounded":                2,
		"-levels=strong,session,eventual -readers=2": 1,
		"-levels=session -readers=100":               1,
		"-readers=100":                               0,
	} {
		if _, mistakes := settingsOf(t, strings.Fields(flags)...); len(mistakes) != want {
			t.Errorf("%s: %q", flags, mistakes)
		}
	}
}

func TestReadersAreSpreadOverTheLevelsAndSomeAlternate(t *testing.T) {
	s, _ := settingsOf(t, "-levels=strong,session,eventual", "-readers=10")
	want := [][]Level{
		{{}}, {levelSession}, {levelEventual},
		{{}, levelSession}, {levelSession, levelEventual}, {levelEventual, {}},
		{{}, levelEventual}, {levelSession, {}}, {levelEventual, levelSession},
		{{}},
	}
	for i := range want {
		if got := s.levelsOf(i); !reflect.DeepEqual(got, want[i]) {
			t.Errorf("reader %d: %v", i, got)
		}
	}
	s, _ = settingsOf(t)
	for i := 0; i < s.readers; i++ {
		if got := s.reader(i, nil, "", nil); len(got.levels) != 1 || got.owner != nil || got.later.level != (Level{}) {
			t.Errorf("reader %d does more than read at strong: %+v", i, got)
		}
	}
}

func TestEveryUnitHasOneOwner(t *testing.T) {
	for _, levels := range []string{"strong", "strong,session,bounded:500,eventual", "session"} {
		s, _ := settingsOf(t, "-levels="+levels)
		owners := map[int]int{}
		for i := 0; i < s.writers; i++ {
			for _, id := range s.writer(i, nil, s.masterAt(""), "", nil).own {
				owners[id]++
			}
		}
		for i := 0; i < s.readers; i++ {
			r := s.reader(i, nil, "", nil)
			if s.writes(i) != (r.owner != nil && len(r.owner.own) > 0) {
				t.Errorf("%s: reader %d owns %+v", levels, i, r.owner)
			}
			if r.owner != nil {
				for _, id := range r.owner.own {
					owners[id]++
				}
			}
		}
		for unit := 0; unit < s.layout.units(); unit++ {
			if id := s.layout.first(unit); owners[id] != 1 {
				t.Errorf("%s: register %d has %d owners", levels, id, owners[id])
			}
		}
	}
}

func TestARunGoesOnUntilEveryLevelHasItsChecks(t *testing.T) {
	s, _ := settingsOf(t, "-levels=session,eventual", "-checks=10", "-checks-per-level=4")
	sum := Summary{Checks: 10, LevelCounts: LevelCounts{ChecksByLevel: map[string]int{"session": 6, "eventual": 3, "strong": 1}}}
	if s.enough(sum) {
		t.Error("one level has too few")
	}
	sum.ChecksByLevel["eventual"]++
	if !s.enough(sum) {
		t.Error("every level has enough")
	}
	sum.Checks--
	if s.enough(sum) {
		t.Error("together they have too few")
	}
}
