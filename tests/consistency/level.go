// The levels of consistency: what a read was promised.
// Comes in: the texts of -levels. Goes out: levels, and how the gate is told of them. Pure; must never take a text that it
// does not understand for a weaker promise.

package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

type levelKind int

// At every level a view is a prefix of the master's history, whole transactions, one snapshot throughout. Besides:
const (
	strong   levelKind = iota // all that was acknowledged before it was asked for; the gate's default
	session                   // its own connection's writes, and never less than that connection saw before
	bounded                   // all that was acknowledged longer ago than the bound, and never less than was seen before
	eventual                  // nothing more
)

// Level is a kind of promise with its bound; the zero value is strong.
type Level struct {
	Kind  levelKind
	Bound time.Duration // of bounded alone, in whole milliseconds
}

var levelNames = map[levelKind]string{strong: "strong", session: "session", bounded: "bounded", eventual: "eventual"}

// String is what the gate takes.
func (l Level) String() string {
	if l.Kind == bounded {
		return fmt.Sprintf("bounded:%d", l.Bound.Milliseconds())
	}
	return levelNames[l.Kind]
}

// hint tells the gate the level of the one statement that it stands before.
func (l Level) hint() string { return "/* multimed: consistency=" + l.String() + " */ " }

// assignment tells the gate the level of the session from here on.
func (l Level) assignment() string { return "SET @multimed_consistency = '" + l.String() + "'" }

func parseLevel(text string) (Level, error) {
	for _, kind := range []levelKind{strong, session, eventual} {
		if text == levelNames[kind] {
			return Level{Kind: kind}, nil
		}
	}
	name, number, _ := strings.Cut(text, ":")
	bound, err := strconv.ParseUint(number, 10, 31)
	if name != levelNames[bounded] || err != nil {
		return Level{}, fmt.Errorf("%q is not strong, session, bounded:MILLISECONDS or eventual", text)
	}
	return Level{bounded, time.Duration(bound) * time.Millisecond}, nil
}

// parseLevels reads a list with commas; every mistake in it is told.
func parseLevels(text string) (levels []Level, mistakes []string) {
	for _, each := range strings.Split(text, ",") {
		level, err := parseLevel(each)
		if err != nil {
			mistakes = append(mistakes, "-levels: "+err.Error())
			continue
		}
		levels = append(levels, level)
	}
	return levels, mistakes
}

// ofKind is the first of that kind, if any.
func ofKind(kind levelKind, levels []Level) (Level, bool) {
	for _, l := range levels {
		if l.Kind == kind {
			return l, true
		}
	}
	return Level{}, false
}
