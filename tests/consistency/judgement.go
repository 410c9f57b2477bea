// The rest of the judgement: which errors clients may get, how much was seen, who answered.
// Comes in: a finished history. Goes out: numbers. Pure.

package main

import (
	"sort"
	"strings"
)

// Summary is what a run comes to.
type Summary struct {
	Views        int            `json:"views"`
	Checks       int            `json:"checks"`
	Violations   map[string]int `json:"violations"`    // views that break the property
	Answers      map[string]int `json:"answers"`       // views by the server that answered them
	CheckAnswers map[string]int `json:"check_answers"` // the same, of the views that count as checks
	Kinds        map[string]int `json:"kinds"`
	ChecksAbout  map[string]int `json:"checks_about"` // by what was asked for: a table, several, a view, the child of a foreign key
	Writes       int            `json:"writes"`
	Unknown      int            `json:"unknown"` // writes whose acknowledgement was lost
	Errors       map[string]int `json:"errors"`
	Disallowed   int            `json:"disallowed"`
	Faults       map[string]int `json:"faults"`
	LevelCounts
}

// Summarize counts. violations is what Check found in the same history.
func Summarize(h History, violations []Violation) Summary {
	s := Summary{Views: len(h.Views), Violations: map[string]int{}, Answers: map[string]int{}, CheckAnswers: map[string]int{},
		Kinds: map[string]int{}, ChecksAbout: map[string]int{}, Errors: map[string]int{}, Faults: map[string]int{}}
	for _, name := range properties {
		s.Violations[name] = 0
	}
	counted := map[string]bool{}
	for _, v := range violations {
		once := v.Property + " " + identity(v.View)
		if !counted[once] {
			counted[once] = true
			s.Violations[v.Property]++
		}
	}
	registers := index(h.Writes)
	walk(h, registers, func(v View, p *past) {
		server := strings.Join(distinct(v.Servers), "+")
		s.Answers[server]++
		s.Kinds[v.Kind]++
		if isCheck(v, p, registers) {
			s.Checks++
			for _, about := range distinct(v.About) {
				s.ChecksAbout[about]++
			}
			s.CheckAnswers[server]++
		}
	})
	s.LevelCounts = countLevels(h, violations)
	for _, w := range h.Writes {
		s.Writes++
		if w.Acked == Never && !w.RolledBack {
			s.Unknown++
		}
	}
	for _, f := range h.Failures {
		s.Errors[f.Step+": "+f.Kind]++
		if !Allowed(f, h.Faults) {
			s.Disallowed++
		}
	}
	for _, f := range h.Faults {
		s.Faults[f.Kind]++
	}
	return s
}

// Allowed: a read-only transaction whose server was killed under it may get an error, and only a clean one, that is an error
// packet of MySQL's protocol. And whoever is connected to the gate may lose the connection when the gate is killed. A read that a server
// died of is sent to one other satellite only, so that it fails where there is none. While the stream leaves transactions out, or
// capture is away, a transaction on a satellite may not learn what has become of views.
func Allowed(f Failure, faults []Fault) bool {
	if f.Kind == kindLost && !strings.HasSuffix(f.Client, direct) {
		return during(f, faults, faultKillGate, "gate")
	}
	if f.Kind == "mysql 1105" && strings.Contains(f.Text, diedOfIt) {
		return during(f, faults, faultKillServer, "satellite-1") || during(f, faults, faultKillServer, "satellite-2")
	}
	if f.Kind == "mysql 1105" && (strings.HasSuffix(f.Text, viewsUnknown) || strings.HasSuffix(f.Text, viewsUnsure)) {
		return during(f, faults, faultUntold, "gate") || during(f, faults, faultKillCapture, "capture")
	}
	if f.Step != stepLaterRead && f.Step != stepCommit {
		return false
	}
	if !strings.HasPrefix(f.Kind, "mysql ") || f.Server == "" {
		return false
	}
	return during(f, faults, faultKillServer, f.Server)
}

// What the gate says of a read whose satellite died while it ran.
const diedOfIt = "was lost while it ran this statement"

// What it says of a read in a transaction that must not leave its satellite.
const viewsUnknown = "not possible in a read-only transaction on a satellite: definitions of views not known"

// And after a read there.
const viewsUnsure = "a view may have been redefined while it was read; try again"

// during: whether it came while this was done.
func during(f Failure, faults []Fault, kind, target string) bool {
	for _, each := range faults {
		if each.Kind == kind && each.Target == target && each.Begun <= f.At && (each.Ended == Never || each.Ended >= f.Since) {
			return true
		}
	}
	return false
}

const (
	faultKillServer  = "kill-mysqld"  // ends a MySQL server; lasts until it is gone
	faultSlow        = "slow-applier" // stops an applier for a moment
	faultKillGate    = "kill-gate"    // lasts until the gate serves again
	faultKillCapture = "kill-capture" // lasts until satellites have what was committed before
	faultUntold      = "untold"       // the table stream leaves transactions out
)

func distinct(names []string) []string {
	set := map[string]bool{}
	var all []string
	for _, n := range names {
		if !set[n] {
			set[n] = true
			all = append(all, n)
		}
	}
	sort.Strings(all)
	return all
}
