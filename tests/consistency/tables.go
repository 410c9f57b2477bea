// The tables of the test, and every question that a reader asks about them.
// Comes in: a connection to the master, register numbers. Goes out: tables at value 0, SQL texts.
//
// Registers 0 … singles-1 are one row each, in cons_reg. The next ("triples") are four rows in three tables that
// every transaction sets to one value: cons_a, two rows of cons_b, and a row of cons_c that is deleted and inserted anew.
// Then come families (families.go) and, six registers each, groups (groups.go).

package main

import (
	"context"
	"fmt"
	"math/rand"
	"strconv"
	"strings"
)

type layout struct{ singles, triples, families, groups int }

func (l layout) isSingle(register int) bool { return register < l.singles }
func (l layout) isTriple(register int) bool { return !l.isSingle(register) && register < l.families0() }
func (l layout) isFamily(register int) bool { return !l.isGroup(register) && register >= l.families0() }
func (l layout) isGroup(register int) bool  { return register >= l.groups0() }

// The first of the families, and of the groups.
func (l layout) families0() int { return l.singles + l.triples }
func (l layout) groups0() int   { return l.families0() + l.families }

func (l layout) registers() int { return l.groups0() + l.groups*groupTables }

// units is what has an owner: a register, or a group of them.
func (l layout) units() int { return l.groups0() + l.groups }

// first register of a unit.
func (l layout) first(unit int) int {
	if unit < l.groups0() {
		return unit
	}
	return l.groups0() + (unit-l.groups0())*groupTables
}

// argument that questions take about a register: of a group, its first register.
func (l layout) argument(register int) int {
	if !l.isGroup(register) {
		return register
	}
	return register - (register-l.groups0())%groupTables
}

// mayRollBack: singles have no transaction, and the rows of a family have no room for what marks a value that nobody may see.
func (l layout) mayRollBack(register int) bool { return l.isTriple(register) || l.isGroup(register) }

// create makes the tables anew, every register at 0; last the one that tells the run.
func (l layout) create(ctx context.Context, c *client, run int64) error {
	statements := []string{
		"DROP TABLE IF EXISTS cons_reg, cons_a, cons_b, cons_c, cons_run",
		"CREATE TABLE cons_reg (id INT PRIMARY KEY, v BIGINT NOT NULL)",
		"CREATE TABLE cons_a (id INT PRIMARY KEY, v BIGINT NOT NULL)",
		"CREATE TABLE cons_b (id INT, side INT, v BIGINT NOT NULL, PRIMARY KEY (id, side), KEY (v))",
		"CREATE TABLE cons_c (id INT PRIMARY KEY, v BIGINT NOT NULL, filler VARCHAR(64) NOT NULL DEFAULT '')",
		"INSERT INTO cons_reg VALUES " + rows(0, l.singles, "(%d, 0)"),
		"INSERT INTO cons_a VALUES " + rows(l.singles, l.families0(), "(%d, 0)"),
		"INSERT INTO cons_b VALUES " + rows(l.singles, l.families0(), "(%[1]d, 0, 0), (%[1]d, 1, 0)"),
		"INSERT INTO cons_c (id, v) VALUES " + rows(l.singles, l.families0(), "(%d, 0)"),
	}
	statements = append(statements, l.createFamilies()...)
	statements = append(statements, l.createGroups()...)
	statements = append(statements,
		"CREATE TABLE cons_run (id INT PRIMARY KEY, v BIGINT NOT NULL)",
		fmt.Sprintf("INSERT INTO cons_run VALUES (0, %d)", run))
	for _, s := range statements {
		if _, err := c.exec(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
	}
	return nil
}

func rows(from, to int, format string) string {
	var all []string
	for i := from; i < to; i++ {
		all = append(all, fmt.Sprintf(format, i))
	}
	return strings.Join(all, ", ")
}

// The last 12 digits of UUID() are the hardware address of the server that answers: @@hostname and the like would tell
// more plainly, but the gate rightly asks the master about those.

// question is one SELECT; its rows are: server, then cell, register, value once or several times. With a ? it takes a register's number.
type question struct {
	sql    string
	about  string   // what kind of question it is
	tables string   // that it names, with commas
	cells  []wanted // that it must return
}

// wanted is a cell, and of which register: so many after the one that was asked about.
type wanted struct {
	cell  string
	after int
}

func cells(names ...string) (all []wanted) {
	for _, name := range names {
		all = append(all, wanted{name, 0})
	}
	return all
}

// selecting is the head of a query: who answers, then triples.
const selecting = "SELECT RIGHT(UUID(), 12), "

var (
	askSingle = question{selecting + "'r', id, v FROM cons_reg WHERE id = ?", "one table", "cons_reg", cells("r")}
	askAll    = question{selecting + "'r', id, v FROM cons_reg", "one table", "cons_reg", cells("r")}
	askA      = question{selecting + "'a', id, v FROM cons_a WHERE id = ?", "one table", "cons_a", cells("a")}
	askB      = question{selecting + "CONCAT('b', side), id, v FROM cons_b WHERE id = ? ORDER BY side", "one table", "cons_b", cells("b0", "b1")}
	askC      = question{selecting + "'c', id, v FROM cons_c WHERE id = ?", "one table", "cons_c", cells("c")}
	askTriple = question{selecting + "'a', id, v FROM cons_a WHERE id = ?" +
		" UNION ALL " + selecting + "CONCAT('b', side), id, v FROM cons_b WHERE id = ?" +
		" UNION ALL " + selecting + "'c', id, v FROM cons_c WHERE id = ?", "tables", "cons_a,cons_b,cons_c", cells("a", "b0", "b1", "c")}
	askJoin = question{selecting + "'a', a.id, a.v, CONCAT('b', b.side), b.id, b.v, 'c', c.id, c.v FROM cons_a a" +
		" JOIN cons_b b ON b.id = a.id JOIN cons_c c ON c.id = a.id WHERE a.id = ?", "tables", "cons_a,cons_b,cons_c", cells("a", "b0", "b1", "c")}
)

// whole shows all of a register's cells.
func (l layout) whole(register int) question {
	switch {
	case l.isSingle(register):
		return askSingle
	case l.isTriple(register):
		return askTriple
	case l.isFamily(register):
		return askFamily
	default:
		return askTable(l.table(register))
	}
}

// pick is one of the questions that may show the register, or what its transactions write besides.
func (l layout) pick(register int, random *rand.Rand) question {
	var choice []question
	switch {
	case l.isSingle(register):
		choice = []question{askSingle, askSingle, askSingle, askAll}
	case l.isTriple(register):
		choice = []question{askTriple, askJoin, askA, askC}
	case l.isFamily(register):
		choice = []question{askFamily, askChild, askChild, askGrandchild, askGrandchild, askDeleted, askDeleted, askChildView}
	default:
		return l.pickOfGroup(register, random)
	}
	return choice[random.Intn(len(choice))]
}

// text is the statement with the register's number written into it.
func (q question) text(register int) string {
	return strings.ReplaceAll(q.sql, "?", strconv.Itoa(register))
}

// arguments for the prepared statement.
func (q question) arguments(register int) []any {
	all := make([]any, strings.Count(q.sql, "?"))
	for i := range all {
		all[i] = register
	}
	return all
}

// after puts a hint for the gate before the statement.
func (q question) after(hint string) question {
	q.sql = hint + q.sql
	return q
}
