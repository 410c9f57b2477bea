// Families: parents that transactions change, and children that change with them by foreign keys.
// Comes in: a register. Goes out: its tables, what writers do to them, what readers ask about them.
//
// cons_p has a register's value, which cascades to cons_k and from there to cons_kk. cons_q has a row for each value to come, cons_d
// a child of each; a transaction deletes those below its value. Nobody writes the children, but for new rows of cons_d now and then.

package main

import (
	"fmt"
	"strings"
)

const (
	rowsAhead  = 128 // of cons_q and cons_d, before a register's value
	stockEvery = 16  // values
)

func (l layout) createFamilies() []string {
	statements := []string{
		"DROP VIEW IF EXISTS cons_kv",
		"DROP TABLE IF EXISTS cons_kk, cons_k, cons_p, cons_d, cons_q",
		"CREATE TABLE cons_p (id INT PRIMARY KEY, v BIGINT NOT NULL, UNIQUE KEY (id, v))",
		"CREATE TABLE cons_k (id INT PRIMARY KEY, v BIGINT NOT NULL, UNIQUE KEY (id, v)," +
			" FOREIGN KEY (id, v) REFERENCES cons_p (id, v) ON UPDATE CASCADE ON DELETE CASCADE)",
		"CREATE TABLE cons_kk (id INT PRIMARY KEY, v BIGINT NOT NULL, KEY (id, v)," +
			" FOREIGN KEY (id, v) REFERENCES cons_k (id, v) ON UPDATE CASCADE ON DELETE CASCADE)",
		"CREATE TABLE cons_q (id INT, n BIGINT, PRIMARY KEY (id, n))",
		"CREATE TABLE cons_d (id INT, n BIGINT, PRIMARY KEY (id, n), FOREIGN KEY (id, n) REFERENCES cons_q (id, n) ON DELETE CASCADE)",
		"CREATE VIEW cons_kv AS SELECT id, v FROM cons_kk",
	}
	for id := l.families0(); id < l.groups0(); id++ {
		for _, table := range []string{"cons_p", "cons_k", "cons_kk"} {
			statements = append(statements, fmt.Sprintf("INSERT INTO %s VALUES (%d, 0)", table, id))
		}
		statements = append(statements, stock(id, 0)...)
	}
	return statements
}

// stock: the rows for the values from here on, where there are none.
func stock(id int, from int64) (statements []string) {
	var values []string
	for n := from; n < from+rowsAhead; n++ {
		values = append(values, fmt.Sprintf("(%d, %d)", id, n))
	}
	for _, table := range []string{"cons_q", "cons_d"} {
		statements = append(statements, "INSERT IGNORE INTO "+table+" VALUES "+strings.Join(values, ", "))
	}
	return statements
}

var (
	askChild      = question{selecting + "'k', id, v FROM cons_k WHERE id = ?", "child", "cons_k", cells("k")}
	askGrandchild = question{selecting + "'kk', id, v FROM cons_kk WHERE id = ?", "child", "cons_kk", cells("kk")}
	askChildView  = question{selecting + "'kk', id, v FROM cons_kv WHERE id = ?", "child", "cons_kv", cells("kk")}
	askDeleted    = question{selecting + "'d', id, MIN(n) FROM cons_d WHERE id = ? GROUP BY id", "child", "cons_d", cells("d")}
	askFamily     = question{selecting + "'p', id, v FROM cons_p WHERE id = ? UNION ALL " + askChild.sql + " UNION ALL " + askGrandchild.sql +
		" UNION ALL " + selecting + "'q', id, MIN(n) FROM cons_q WHERE id = ? GROUP BY id UNION ALL " + askDeleted.sql,
		"tables", "cons_p,cons_k,cons_kk,cons_q,cons_d", cells("p", "k", "kk", "q", "d")}
)

// changeFamily writes the parents alone, mostly.
func (t task) changeFamily() error {
	steps := []func() error{
		t.begin,
		func() error { return t.update("cons_p", 1) },
		func() error {
			return t.change("DELETE FROM cons_q WHERE id = ? AND n < ?", anyNumber, t.one.Register, abs(t.one.Value))
		},
	}
	if abs(t.one.Value)%stockEvery == 0 {
		for _, each := range stock(t.one.Register, abs(t.one.Value)) {
			statement := each
			steps = append(steps, func() error { return t.change(statement, anyNumber) })
		}
	}
	return inOrder(append(steps, t.lookInside, t.end)...)
}
