// The settings of a run.
// Comes in: flags, the password's file. Goes out: one immutable value, or every mistake at once and exit status 64.

package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

type settings struct {
	gate, master, user, password, database string
	writers, readers, rate, fanout         int
	levels                                 []Level
	checks, checksPerLevel                 int
	satelliteShare                         float64
	perClient                              int
	layout                                 layout
	duration, limit                        time.Duration
	seed                                   int64
	servers                                map[string]string
	satellites                             []string
	faults, wait                           bool
	until, report                          string
}

// named collects NAME=VALUE flags.
type named map[string]string

func (n named) String() string { return fmt.Sprint(map[string]string(n)) }
func (n named) Set(text string) error {
	name, value, found := strings.Cut(text, "=")
	if !found {
		return fmt.Errorf("%q is not ADDRESS=NAME", text)
	}
	n[name] = value
	return nil
}

// several collects the values of a flag that is repeated.
type several []string

func (s *several) String() string { return fmt.Sprint(*s) }
func (s *several) Set(text string) error {
	*s = append(*s, text)
	return nil
}

func readSettings(arguments []string, messages io.Writer) (settings, []string) {
	s := settings{servers: map[string]string{}}
	f := flag.NewFlagSet("consistency", flag.ContinueOnError)
	f.SetOutput(messages)
	f.StringVar(&s.gate, "gate", "", "HOST:PORT of the gate: all readers and half of the writers")
	f.StringVar(&s.master, "master", "", "HOST:PORT of the master itself: the other writers")
	f.Var((*several)(&s.satellites), "satellite", "HOST:PORT of a satellite, which must have the tables before the run begins; repeatable")
	f.StringVar(&s.user, "user", "", "account, with the same password on all")
	passwordFile := f.String("password-file", "", "file that holds the password")
	f.StringVar(&s.database, "database", "", "database for the tables cons_*, which are dropped and made anew")
	f.IntVar(&s.writers, "writers", 8, "writers")
	f.IntVar(&s.readers, "readers", 12, "readers")
	levels := f.String("levels", "strong", "the readers' levels, with commas: strong, session, bounded:MILLISECONDS, eventual; later readers alternate between two")
	f.IntVar(&s.rate, "rate", 100, "writes per second, all writers together")
	f.IntVar(&s.fanout, "fanout", 2, "readers woken by each acknowledgement")
	f.IntVar(&s.perClient, "views-per-connection", 100, "after how many views a reader connects anew, about")
	f.IntVar(&s.layout.singles, "singles", 16, "registers of one row")
	f.IntVar(&s.layout.triples, "triples", 16, "registers of four rows in three tables")
	f.IntVar(&s.layout.families, "families", 6, "registers of parents with children that change by foreign keys")
	f.IntVar(&s.layout.groups, "groups", 12, "groups of six registers in a table each, of which a transaction changes some")
	f.IntVar(&s.checks, "checks", 10000, "checks that the run must reach")
	f.IntVar(&s.checksPerLevel, "checks-per-level", 0, "checks that the run must reach at each of the levels")
	f.Float64Var(&s.satelliteShare, "satellite-share", 0, "share of all checks that satellites must answer, 0 to 1: servers named by -server other than master")
	f.StringVar(&s.until, "until", "", "end as soon as this property is violated, whatever has been reached")
	f.DurationVar(&s.duration, "duration", 100*time.Second, "shortest run")
	f.DurationVar(&s.limit, "limit", 180*time.Second, "longest run: by then the checks must be reached")
	f.Int64Var(&s.seed, "seed", 0, "seed of the clients' choices; 0 takes the clock")
	f.Var(named(s.servers), "server", "ADDRESS=NAME of a MySQL server by its hardware address, 12 digits; repeatable")
	f.BoolVar(&s.faults, "faults", false, "read faults from standard input, and go on until it says over")
	f.BoolVar(&s.wait, "wait", false, "with the tables made, begin only when standard input says go")
	f.StringVar(&s.report, "report", "", "file for the summary as JSON")
	if err := f.Parse(arguments); err != nil {
		return s, []string{err.Error()}
	}
	var mistakes []string
	s.levels, mistakes = parseLevels(*levels)
	mistakes = append(mistakes, check(s, f.Args())...)
	if password, err := os.ReadFile(*passwordFile); err != nil {
		mistakes = append(mistakes, "-password-file: "+err.Error())
	} else {
		s.password = strings.TrimRight(string(password), "\r\n")
	}
	if s.seed == 0 {
		s.seed = time.Now().UnixNano()
	}
	return s, mistakes
}

// enough: what the run must reach.
func (s settings) enough(sum Summary) bool {
	bySatellites, all := 0, 0
	for _, count := range sum.CheckAnswers {
		all += count
	}
	for _, name := range s.servers {
		if name != "master" {
			bySatellites += sum.CheckAnswers[name]
		}
	}
	for _, level := range s.levels {
		if sum.ChecksByLevel[level.String()] < s.checksPerLevel {
			return false
		}
	}
	return sum.Checks >= s.checks && float64(bySatellites) >= s.satelliteShare*float64(all)
}

// found: whether the run looks for a violation, and there it is.
func (s settings) found(h History) bool {
	if s.until == "" {
		return false
	}
	for _, v := range Check(h) {
		if v.Property == s.until {
			return true
		}
	}
	return false
}

func check(s settings, rest []string) (mistakes []string) {
	for name, value := range map[string]string{"gate": s.gate, "master": s.master, "user": s.user, "database": s.database} {
		if value == "" {
			mistakes = append(mistakes, "-"+name+" is missing")
		}
	}
	for name, value := range map[string]int{"readers": s.readers, "rate": s.rate, "fanout": s.fanout,
		"views-per-connection": s.perClient, "singles": s.layout.singles, "triples": s.layout.triples, "families": s.layout.families,
		"groups": s.layout.groups, "checks": s.checks} {
		if value < 1 {
			mistakes = append(mistakes, "-"+name+" must be at least 1")
		}
	}
	if s.writers < 2 {
		mistakes = append(mistakes, "-writers must be at least 2: one through the gate, one directly")
	}
	if s.readers < len(s.levels) {
		mistakes = append(mistakes, "-readers must be at least as many as -levels")
	}
	if len(s.levels) > 0 && s.layout.units() < s.owners() {
		mistakes = append(mistakes, fmt.Sprintf("-singles, -triples, -families and -groups together must be at least %d: writers, and readers at level session", s.owners()))
	}
	if s.wait && !s.faults {
		mistakes = append(mistakes, "-wait needs -faults")
	}
	if s.limit < s.duration {
		mistakes = append(mistakes, "-limit must not be below -duration")
	}
	if len(rest) > 0 {
		mistakes = append(mistakes, fmt.Sprintf("unknown arguments %q", rest))
	}
	return mistakes
}
