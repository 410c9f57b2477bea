// Owners: each owns some registers and raises their values, one transaction at a time.
// Comes in: a connection. Goes out: recorded writes. Must never use a value twice, nor call a write acknowledged whose
// acknowledgement did not arrive.

package main

import (
	"context"
	"errors"
	"math/rand"
)

type owner struct {
	name     string
	registry *recorder
	layout   layout
	own      []int
	random   *rand.Rand
	values   map[int]int64
}

// ownedBy deals the registers out: those of owner i of so many.
func (l layout) ownedBy(i, owners int) (own []int) {
	for id := i; id < l.registers(); id += owners {
		own = append(own, id)
	}
	return own
}

// write raises one of the owner's registers, and records how that went.
func (o *owner) write(c *client, connection int) (Write, error) {
	if o.values == nil {
		o.values = map[int]int64{}
	}
	id := o.own[o.random.Intn(len(o.own))]
	o.values[id]++
	t := task{o, c, connection, o.random.Intn(2) == 0,
		Write{Register: id, Value: o.values[id], Writer: o.name, Connection: connection, Acked: Never}}
	if !o.layout.isSingle(id) && o.random.Intn(10) == 0 {
		t.one.RolledBack, t.one.Value = true, -t.one.Value
	}
	t.one.Sent = o.registry.now()
	err := t.perform()
	if err == nil && !t.one.RolledBack {
		t.one.Acked = o.registry.now()
	}
	o.registry.write(t.one)
	return t.one, err
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
	if t.owner.layout.isSingle(t.one.Register) {
		return t.update("cons_reg", 1)
	}
	return t.transaction()
}

// Values only rise, even if a write whose connection was lost is still under way.
func (t task) update(table string, rows int64) error {
	return t.change("UPDATE "+table+" SET v = ? WHERE id = ? AND v < ?", rows, t.one.Value, t.one.Register, abs(t.one.Value))
}

var errNotThere = errors.New("the rows to change are not there")

func (t task) change(text string, rows int64, arguments ...any) error {
	if !t.prepared {
		text, arguments = inline(text, arguments), nil
	}
	affected, err := t.client.exec(context.Background(), text, arguments...)
	if err == nil && affected != rows {
		return errNotThere
	}
	return err
}

// transaction sets the four rows of a triple, looks at what it did before it ends, and commits or rolls back.
func (t task) transaction() error {
	steps := []func() error{
		func() error { _, err := t.client.exec(context.Background(), "START TRANSACTION"); return err },
		func() error { return t.update("cons_a", 1) },
		func() error { return t.update("cons_b", 2) },
		func() error {
			return t.change("DELETE FROM cons_c WHERE id = ? AND v < ?", 1, t.one.Register, abs(t.one.Value))
		},
		func() error {
			return t.change("INSERT INTO cons_c (id, v) VALUES (?, ?)", 1, t.one.Register, t.one.Value)
		},
		t.lookInside,
		func() error {
			end := "COMMIT"
			if t.one.RolledBack {
				end = "ROLLBACK"
			}
			_, err := t.client.exec(context.Background(), end)
			return err
		},
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func (t task) lookInside() error {
	v := View{Client: t.owner.name, Connection: t.connection, Kind: "inside its own transaction", Arrived: t.owner.registry.now(),
		Own: t.one.Value, OwnRegister: t.one.Register}
	server, seen, err := t.client.ask(context.Background(), askTriple, t.one.Register, 0, t.prepared)
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
