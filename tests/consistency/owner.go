// Owners: each owns some registers and raises their values, one transaction at a time.
// Comes in: a connection. Goes out: recorded writes. Must never use a value twice, nor call a write acknowledged whose
// acknowledgement did not arrive.

package main

import (
	"context"
	"errors"
	"math/rand"
	"time"
)

type owner struct {
	name     string
	registry *recorder
	layout   layout
	own      []int
	random   *rand.Rand
	values   map[int]int64
}

// ownedBy deals the units out: the first registers of those of owner i of so many.
func (l layout) ownedBy(i, owners int) (own []int) {
	for unit := i; unit < l.units(); unit += owners {
		own = append(own, l.first(unit))
	}
	return own
}

// write raises one of the owner's registers, or several of a group, and records how that went. It returns one of the writes.
func (o *owner) write(c *client, connection int) (Write, error) {
	o.registry.writing.RLock()
	defer o.registry.writing.RUnlock()
	if o.values == nil {
		o.values = map[int]int64{}
	}
	season := int(time.Duration(o.registry.now()) / seasonLasts)
	registers := []int{o.choose(season)}
	if o.layout.isGroup(registers[0]) {
		registers = o.layout.members(registers[0], season, o.random)
	}
	rolledBack := o.layout.mayRollBack(registers[0]) && o.random.Intn(10) == 0
	parts := o.raised(registers, rolledBack)
	t := task{o, c, connection, o.random.Intn(2) == 0, Write{Register: parts[0].Register, Value: parts[0].Value, Writer: o.name,
		Connection: connection, Acked: Never, RolledBack: rolledBack, With: parts[1:]}}
	t.one.Sent = o.registry.now()
	err := t.perform()
	if err == nil && !t.one.RolledBack {
		t.one.Acked = o.registry.now()
	}
	o.record(t.one, parts)
	return t.one, err
}

// Which tables are written changes with time, and others rest: a read of these need not wait.
const seasonLasts = 1500 * time.Millisecond

// choose is one of the owner's; most of the time of the kind of the season, if there is one.
func (o *owner) choose(season int) int {
	l := o.layout
	kinds := []func(int) bool{l.isGroup, l.isSingle, l.isFamily, l.isTriple}
	ofSeason := kinds[season%len(kinds)]
	for range o.own {
		if id := o.own[o.random.Intn(len(o.own))]; ofSeason(id) {
			return id
		}
	}
	return o.own[o.random.Intn(len(o.own))]
}

// raised: the registers' next values; negative, if nobody may ever see them.
func (o *owner) raised(registers []int, rolledBack bool) (parts []Part) {
	for _, id := range registers {
		o.values[id]++
		value := o.values[id]
		if rolledBack {
			value = -value
		}
		parts = append(parts, Part{id, value})
	}
	return parts
}

// record: the transaction is a write of each register.
func (o *owner) record(one Write, parts []Part) {
	for i, p := range parts {
		one.Register, one.Value = p.Register, p.Value
		one.With = append(append([]Part(nil), parts[:i]...), parts[i+1:]...)
		o.registry.write(one)
	}
}

// task is one write on its way.
type task struct {
	owner      *owner
	client     *client
	connection int
	prepared   bool
	one        Write
}

func (t task) perform() error {
	switch l := t.owner.layout; {
	case l.isSingle(t.one.Register):
		return t.update("cons_reg", 1)
	case l.isTriple(t.one.Register):
		return t.changeTriple()
	case l.isFamily(t.one.Register):
		return t.changeFamily()
	default:
		return t.changeGroup()
	}
}

// Values only rise, even if a write whose connection was lost is still under way.
func (t task) update(table string, rows int64) error {
	return t.change("UPDATE "+table+" SET v = ? WHERE id = ? AND v < ?", rows, t.one.Value, t.one.Register, abs(t.one.Value))
}

var errNotThere = errors.New("the rows to change are not there")

const anyNumber = -1 // of rows

func (t task) change(text string, rows int64, arguments ...any) error {
	if !t.prepared {
		text, arguments = inline(text, arguments), nil
	}
	affected, err := t.client.exec(context.Background(), text, arguments...)
	if err == nil && affected != rows && rows != anyNumber {
		return errNotThere
	}
	return err
}

// changeTriple sets the four rows of a triple, looks at what it did before it ends, and commits or rolls back.
func (t task) changeTriple() error {
	return inOrder(
		t.begin,
		func() error { return t.update("cons_a", 1) },
		func() error { return t.update("cons_b", 2) },
		func() error {
			return t.change("DELETE FROM cons_c WHERE id = ? AND v < ?", 1, t.one.Register, abs(t.one.Value))
		},
		func() error {
			return t.change("INSERT INTO cons_c (id, v) VALUES (?, ?)", 1, t.one.Register, t.one.Value)
		},
		t.lookInside, t.end)
}

func (t task) lookInside() error {
	v := View{Client: t.owner.name, Connection: t.connection, Kind: "inside its own transaction", Arrived: t.owner.registry.now(),
		Own: t.one.Value, OwnRegister: t.one.Register}
	server, seen, err := t.client.ask(context.Background(), t.owner.layout.whole(t.one.Register), t.owner.layout.argument(t.one.Register), 0, t.prepared)
	if err != nil {
		return err
	}
	v.Answered, v.Servers, v.Seen = t.owner.registry.now(), []string{server}, seen
	t.owner.registry.view(v)
	return nil
}

func abs(n int64) int64 {
	if n < 0 {
		return -n
	}
	return n
}
