// The tables of the test, and every question that a reader asks about them.
// Comes in: a connection to the master, register numbers. Goes out: tables at value 0, SQL texts.
//
// Registers 0 … singles-1 are one row each, in cons_reg. The others ("triples") are four rows in three tables that
// every transaction sets to one value: cons_a, two rows of cons_b, and a row of cons_c that is deleted and inserted anew.

package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

type layout struct{ singles, triples int }

func (l layout) isSingle(register int) bool { return register < l.singles }
func (l layout) registers() int             { return l.singles + l.triples }

// create makes the tables anew, every register at 0; last the one that tells the run.
func (l layout) create(ctx context.Context, c *client, run int64) error {
	statements := []string{
		"DROP TABLE IF EXISTS cons_reg, cons_a, cons_b, cons_c, cons_run",
		"CREATE TABLE cons_reg (id INT PRIMARY KEY, v BIGINT NOT NULL)",
		"CREATE TABLE cons_a (id INT PRIMARY KEY, v BIGINT NOT NULL)",
		"CREATE TABLE cons_b (id INT, side INT, v BIGINT NOT NULL, PRIMARY KEY (id, side), KEY (v))",
		"CREATE TABLE cons_c (id INT PRIMARY KEY, v BIGINT NOT NULL, filler VARCHAR(64) NOT NULL DEFAULT '')",
		"INSERT INTO cons_reg VALUES " + rows(0, l.singles, "(%d, 0)"),
		"INSERT INTO cons_a VALUES " + rows(l.singles, l.registers(), "(%d, 0)"),
		"INSERT INTO cons_b VALUES " + rows(l.singles, l.registers(), "(%[1]d, 0, 0), (%[1]d, 1, 0)"),
		"INSERT INTO cons_c (id, v) VALUES " + rows(l.singles, l.registers(), "(%d, 0)"),
		"CREATE TABLE cons_run (id INT PRIMARY KEY, v BIGINT NOT NULL)",
		fmt.Sprintf("INSERT INTO cons_run VALUES (0, %d)", run),
	}
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
	sql   string
	cells []string // of each register that it must return
}

var (
	askSingle = question{"SELECT RIGHT(UUID(), 12), 'r', id, v FROM cons_reg WHERE id = ?", []string{"r"}}
	askAll    = question{"SELECT RIGHT(UUID(), 12), 'r', id, v FROM cons_reg", []string{"r"}}
	askA      = question{"SELECT RIGHT(UUID(), 12), 'a', id, v FROM cons_a WHERE id = ?", []string{"a"}}
	askB      = question{"SELECT RIGHT(UUID(), 12), CONCAT('b', side), id, v FROM cons_b WHERE id = ? ORDER BY side", []string{"b0", "b1"}}
	askC      = question{"SELECT RIGHT(UUID(), 12), 'c', id, v FROM cons_c WHERE id = ?", []string{"c"}}
	askTriple = question{"SELECT RIGHT(UUID(), 12), 'a', id, v FROM cons_a WHERE id = ?" +
		" UNION ALL SELECT RIGHT(UUID(), 12), CONCAT('b', side), id, v FROM cons_b WHERE id = ?" +
		" UNION ALL SELECT RIGHT(UUID(), 12), 'c', id, v FROM cons_c WHERE id = ?", []string{"a", "b0", "b1", "c"}}
	askJoin = question{"SELECT RIGHT(UUID(), 12), 'a', a.id, a.v, CONCAT('b', b.side), b.id, b.v, 'c', c.id, c.v FROM cons_a a" +
		" JOIN cons_b b ON b.id = a.id JOIN cons_c c ON c.id = a.id WHERE a.id = ?", []string{"a", "b0", "b1", "c"}}
)

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
func (q question) after(hint string) question { return question{hint + q.sql, q.cells} }
