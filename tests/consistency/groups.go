// Groups: six tables with one row each, of which a transaction changes one, two, three or all.
// Comes in: a register of a group. Goes out: its tables, what writers do to them, what readers ask about them.
//
// Each row is a register of its own. What one transaction does to several is seen together, or not at all.

package main

import (
	"context"
	"fmt"
	"math/rand"
)

const groupTables = 6

// table of a group's register.
func (l layout) table(register int) int { return (register - l.groups0()) % groupTables }

// createGroups: id is that of the group, register that of the row. cons_v reads two tables; cons_w reads it, and a third.
func (l layout) createGroups() []string {
	statements := []string{"DROP VIEW IF EXISTS cons_w, cons_v"}
	for t := 0; t < groupTables; t++ {
		name := tableName(t)
		statements = append(statements, "DROP TABLE IF EXISTS "+name,
			"CREATE TABLE "+name+" (id INT PRIMARY KEY, register INT NOT NULL, v BIGINT NOT NULL)")
		for unit := l.groups0(); unit < l.units(); unit++ {
			statements = append(statements, fmt.Sprintf("INSERT INTO %s VALUES (%d, %d, 0)", name, l.first(unit), l.first(unit)+t))
		}
	}
	return append(statements,
		"CREATE VIEW cons_v AS SELECT x.id, x.register r0, x.v v0, y.register r1, y.v v1 FROM cons_t0 x JOIN cons_t1 y ON y.id = x.id",
		"CREATE VIEW cons_w AS SELECT x.*, y.register r2, y.v v2 FROM cons_v x JOIN cons_t2 y ON y.id = x.id")
}

func tableName(t int) string { return fmt.Sprintf("cons_t%d", t) }

func ofTable(t int) string {
	return selecting + "'t', register, v FROM " + tableName(t)
}

func askTable(t int) question {
	return question{ofTable(t) + " WHERE id = ?", "one table", tableName(t), []wanted{{"t", t}}}
}

// askTables is two of them; the same one twice, at times.
func askTables(t, u int) question {
	return question{ofTable(t) + " WHERE id = ? UNION ALL " + ofTable(u) + " WHERE id = ?", "tables",
		tableName(t) + "," + tableName(u), []wanted{{"t", t}, {"t", u}}}
}

func askAllOf(t int) question { return question{ofTable(t), "one table", tableName(t), nil} }

var (
	askView = question{selecting + "'t', r0, v0, 't', r1, v1 FROM cons_v WHERE id = ?", "view", "cons_v",
		[]wanted{{"t", 0}, {"t", 1}}}
	askNested = question{selecting + "'t', r0, v0, 't', r1, v1, 't', r2, v2 FROM cons_w WHERE id = ?", "view", "cons_w",
		[]wanted{{"t", 0}, {"t", 1}, {"t", 2}}}
)

func (l layout) pickOfGroup(register int, random *rand.Rand) question {
	t, other := l.table(register), random.Intn(groupTables)
	choice := []question{askTable(t), askTable(t), askTable(other), askTables(t, other), askAllOf(t), askView, askNested}
	return choice[random.Intn(len(choice))]
}

// members: which registers of a group a transaction changes: one to three, or at times all. Half of the tables rest in a season.
func (l layout) members(first, season int, random *rand.Rand) (registers []int) {
	many, among := 1+random.Intn(groupTables/2), groupTables/2
	if random.Intn(10) == 0 {
		many, among = groupTables, groupTables
	}
	for _, t := range random.Perm(among)[:many] {
		registers = append(registers, first+(t+season)%groupTables)
	}
	return registers
}

// changeGroup is one transaction that changes the members; of one table also without BEGIN.
func (t task) changeGroup() error {
	l := t.owner.layout
	update := func(register int, value int64) error {
		return t.change("UPDATE "+tableName(l.table(register))+" SET v = ? WHERE register = ? AND id = ? AND v < ?", 1,
			value, register, l.argument(register), abs(value))
	}
	if len(t.one.With) == 0 && !t.one.RolledBack && t.prepared {
		return update(t.one.Register, t.one.Value)
	}
	steps := []func() error{t.begin, func() error { return update(t.one.Register, t.one.Value) }}
	for _, each := range t.one.With {
		part := each
		steps = append(steps, func() error { return update(part.Register, part.Value) })
	}
	return inOrder(append(steps, t.lookInside, t.end)...)
}

func (t task) begin() error {
	_, err := t.client.exec(context.Background(), "START TRANSACTION")
	return err
}

func (t task) end() error {
	end := "COMMIT"
	if t.one.RolledBack {
		end = "ROLLBACK"
	}
	_, err := t.client.exec(context.Background(), end)
	return err
}

func inOrder(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}
