// The report for people: numbers, and for each of the first violations an excerpt of the history around it.
// Comes in: a judged history. Goes out: text. Must never print a secret.

package main

import (
	"fmt"
	"io"
	"sort"
	"strings"
	"time"
)

const (
	excerpts       = 5 // per property
	writesAround   = 3
	failuresListed = 20
)

func printReport(out io.Writer, h History, s Summary, violations []Violation) {
	fmt.Fprintf(out, "checks %d (views asked for within %v of when they must show an acknowledged write), of %d views; writes %d, unknown %d\n",
		s.Checks, freshFor, s.Views, s.Writes, s.Unknown)
	var verdict []string
	for _, name := range properties {
		verdict = append(verdict, fmt.Sprintf("%s %d", name, s.Violations[name]))
	}
	fmt.Fprintln(out, strings.Join(verdict, ", "))
	fmt.Fprintln(out, "views by kind:      ", counts(s.Kinds, s.Views))
	fmt.Fprintln(out, "checks about:       ", counts(s.ChecksAbout, s.Checks))
	fmt.Fprintln(out, "views answered by:  ", counts(s.Answers, s.Views))
	fmt.Fprintln(out, "checks answered by: ", counts(s.CheckAnswers, s.Checks))
	printLevels(out, s.LevelCounts)
	fmt.Fprintln(out, "answers took:       ", latencies(h.Views))
	fmt.Fprintln(out, "errors:             ", counts(s.Errors, 0), "disallowed:", s.Disallowed)
	fmt.Fprintln(out, "faults:             ", counts(s.Faults, 0))
	fmt.Fprintln(out, "the master went back:", len(h.Losses))
	printFaults(out, h.Faults)
	printFailures(out, h)
	printViolations(out, h, violations)
}

func printLevels(out io.Writer, c LevelCounts) {
	for _, level := range names(c.ViewsByLevel) {
		fmt.Fprintf(out, "at level %s: views %d, checks %d, lagged %d, answered by satellites %d\n", level,
			c.ViewsByLevel[level], c.ChecksByLevel[level], c.LaggedByLevel[level], c.SatelliteAnswersByLevel[level])
	}
}

func names(of map[string]int) (sorted []string) {
	for name := range of {
		sorted = append(sorted, name)
	}
	sort.Strings(sorted)
	return sorted
}

func counts(of map[string]int, total int) string {
	var all []string
	for _, n := range names(of) {
		text := fmt.Sprintf("%s %d", n, of[n])
		if total > 0 {
			text += fmt.Sprintf(" (%.1f %%)", 100*float64(of[n])/float64(total))
		}
		all = append(all, text)
	}
	if len(all) == 0 {
		return "none"
	}
	return strings.Join(all, ", ")
}

// latencies of single statements: transactions linger on purpose.
func latencies(views []View) string {
	var all []time.Duration
	for _, v := range views {
		if len(v.Servers) == 1 && v.Own == 0 {
			all = append(all, time.Duration(v.Answered-v.Arrived))
		}
	}
	if len(all) == 0 {
		return "none"
	}
	sort.Slice(all, func(i, j int) bool { return all[i] < all[j] })
	at := func(share float64) time.Duration {
		return all[int(share*float64(len(all)-1))].Round(10 * time.Microsecond)
	}
	return fmt.Sprintf("p50 %v, p95 %v, p99 %v, longest %v", at(0.5), at(0.95), at(0.99), at(1))
}

// printFaults lists the kills one by one; what comes in hundreds (appliers stopped for a moment) is summed up.
func printFaults(out io.Writer, faults []Fault) {
	sums := map[string]time.Duration{}
	for _, f := range faults {
		if f.Kind == faultSlow && f.Ended != Never {
			sums[f.Kind+" "+f.Target] += time.Duration(f.Ended - f.Begun)
			continue
		}
		fmt.Fprintf(out, "  %12v to %12v  %s %s\n", f.Begun, f.Ended, f.Kind, f.Target)
	}
	for name, sum := range sums {
		fmt.Fprintf(out, "  %s: %v in all\n", name, sum.Round(time.Millisecond))
	}
}

func printFailures(out io.Writer, h History) {
	listed := 0
	for _, f := range h.Failures {
		if Allowed(f, h.Faults) {
			continue
		}
		if listed++; listed > failuresListed {
			fmt.Fprintln(out, "  …")
			return
		}
		fmt.Fprintf(out, "disallowed error: %s, %s, begun %v, at %v, server %q: %s: %s\n", f.Client, f.Step, f.Since, f.At, f.Server, f.Kind, f.Text)
	}
}

func printViolations(out io.Writer, h History, violations []Violation) {
	printed := map[string]int{}
	for _, v := range violations {
		if printed[v.Property]++; printed[v.Property] <= excerpts {
			printViolation(out, h, v)
		}
	}
}

func printViolation(out io.Writer, h History, v Violation) {
	fmt.Fprintf(out, "\nVIOLATION %s: register %d, expected %d, got %s: %s\n", v.Property, v.Register, v.Expected, value(v.Got), v.Because)
	fmt.Fprintf(out, "  view of %s on connection %d (%s, %s), asked for %v, answered %v, by %s\n",
		v.View.Client, v.View.Connection, v.View.Level, v.View.Kind, v.View.Arrived, v.View.Answered, strings.Join(v.View.Servers, ", "))
	for _, o := range v.View.Seen {
		fmt.Fprintf(out, "    statement %d: register %d cell %s = %s\n", o.Statement, o.Register, o.Cell, value(o.Value))
	}
	for _, w := range around(h.Writes, v) {
		outcome := "acknowledged " + w.Acked.String()
		if w.RolledBack {
			outcome = "rolled back"
		}
		fmt.Fprintf(out, "  write of %s on connection %d: register %d = %d, sent %v, %s\n", w.Writer, w.Connection, w.Register, w.Value, w.Sent, outcome)
	}
	for _, f := range h.Faults {
		if f.Begun <= v.View.Answered && (f.Ended == Never || f.Ended >= v.View.Arrived) {
			fmt.Fprintf(out, "  during %s %s, %v to %v\n", f.Kind, f.Target, f.Begun, f.Ended)
		}
	}
}

// around: the register's writes whose values lie next to what was expected and what was got.
func around(writes []Write, v Violation) (found []Write) {
	for _, w := range writes {
		if w.Register == v.Register && (near(w.Value, v.Expected) || near(w.Value, v.Got)) {
			found = append(found, w)
		}
	}
	return found
}

func near(a, b int64) bool { return b != Missing && abs(abs(a)-abs(b)) <= writesAround }

func value(n int64) string {
	if n == Missing {
		return "missing"
	}
	return fmt.Sprint(n)
}
