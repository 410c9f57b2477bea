// Who reads at which level, and who writes what.
// Comes in: settings. Goes out: readers and writers that are not yet running. Must never give one register to two owners.

package main

import (
	"fmt"
	"math/rand"
	"time"
)

// levelsOf spreads the readers over the levels, round by round. In the first round each keeps its level; in the others it
// alternates with the level that stands as many places further, so that all pairs occur.
func (s settings) levelsOf(reader int) []Level {
	n := len(s.levels)
	round, first := reader/n%n, reader%n
	if round == 0 {
		return []Level{s.levels[first]}
	}
	return []Level{s.levels[first], s.levels[(first+round)%n]}
}

// writes: what a session reads of its own writes is only seen where it writes.
func (s settings) writes(reader int) bool {
	_, found := ofKind(session, s.levelsOf(reader))
	return found
}

// ownersBefore: the writers, and the readers before this one that write.
func (s settings) ownersBefore(reader int) int {
	owners := s.writers
	for i := 0; i < reader; i++ {
		owners += asNumber(s.writes(i))
	}
	return owners
}

func (s settings) owners() int { return s.ownersBefore(s.readers) }

func (s settings) owner(name string, i int, r *recorder, random *rand.Rand) owner {
	return owner{name: name, registry: r, layout: s.layout, random: random, own: s.layout.ownedBy(i, s.owners())}
}

func (s settings) reader(i int, r *recorder, gate string, probes <-chan probe) *reader {
	made := &reader{name: fmt.Sprintf("reader-%d", i), source: gate, registry: r, layout: s.layout, levels: s.levelsOf(i),
		random: rand.New(rand.NewSource(s.seed + int64(1000+i))), probes: probes, perClient: s.perClient}
	made.later.level, _ = ofKind(bounded, made.levels)
	if s.writes(i) {
		o := s.owner(made.name, s.ownersBefore(i), r, made.random)
		made.owner = &o
	}
	return made
}

// direct: how the names of those end that go to the master itself.
const direct = "-direct"

func (s settings) writer(i int, r *recorder, m *master, gate string, probes chan<- probe) *writer {
	name, source := fmt.Sprintf("writer-%d%s", i, direct), m.source
	if i%2 == 1 {
		name, source = fmt.Sprintf("writer-%d-gate", i), func() string { return gate }
	}
	return &writer{owner: s.owner(name, i, r, rand.New(rand.NewSource(s.seed+int64(i)))), source: source,
		pause: time.Second * time.Duration(s.writers) / time.Duration(s.rate), probes: probes, fanout: s.fanout}
}
