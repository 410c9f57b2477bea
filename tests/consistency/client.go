// One connection of one client, with a deadline on every step: what does not answer in time is an error too.
// Comes in: an address, SQL. Goes out: rows, or an error with its kind. Must never connect again by itself, nor try twice.

package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
)

// answerIn is far above what the stack may take: the gate's waits and queues are bounded by about a second.
const answerIn = 15 * time.Second

type client struct {
	db       *sql.DB
	conn     *sql.Conn
	prepared map[string]*sql.Stmt
}

// quiet: the driver's own messages would only repeat what is recorded.
type quiet struct{}

func (quiet) Print(...any) {}

func init() { _ = mysql.SetLogger(quiet{}) }

// dsn makes the driver's connection string.
func dsn(address, user, password, database string) string {
	c := mysql.NewConfig()
	c.Net, c.Addr, c.User, c.Passwd, c.DBName = "tcp", address, user, password, database
	c.Timeout = answerIn
	return c.FormatDSN()
}

func dial(ctx context.Context, source string) (*client, error) {
	ctx, cancel := context.WithTimeout(ctx, answerIn)
	defer cancel()
	db, err := sql.Open("mysql", source)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	conn, err := db.Conn(ctx)
	if err != nil {
		db.Close()
		return nil, err
	}
	return &client{db, conn, map[string]*sql.Stmt{}}, nil
}

func (c *client) close() {
	for _, s := range c.prepared {
		s.Close()
	}
	c.conn.Close()
	c.db.Close()
}

// exec runs one statement; without arguments it goes as text, with them as a prepared statement kept for the next time.
func (c *client) exec(ctx context.Context, text string, arguments ...any) (affected int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerIn)
	defer cancel()
	var result sql.Result
	if len(arguments) == 0 {
		result, err = c.conn.ExecContext(ctx, text)
	} else {
		var s *sql.Stmt
		if s, err = c.statement(ctx, text); err == nil {
			result, err = s.ExecContext(ctx, arguments...)
		}
	}
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

func (c *client) statement(ctx context.Context, text string) (*sql.Stmt, error) {
	if s := c.prepared[text]; s != nil {
		return s, nil
	}
	s, err := c.conn.PrepareContext(ctx, text)
	if err == nil {
		c.prepared[text] = s
	}
	return s, err
}

// ask puts one question about a register (or about all, when it takes none) and returns the server that answered and every cell.
// Rows that should be there and are not are Missing.
func (c *client) ask(ctx context.Context, q question, register, number int, prepared bool) (server string, seen []Observation, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerIn)
	defer cancel()
	var answer *sql.Rows
	arguments := q.arguments(register)
	if prepared {
		var s *sql.Stmt
		if s, err = c.statement(ctx, q.sql); err == nil {
			answer, err = s.QueryContext(ctx, arguments...)
		}
	} else {
		answer, err = c.conn.QueryContext(ctx, q.text(register))
	}
	if err != nil {
		return "", nil, err
	}
	defer answer.Close()
	server, seen, err = scan(answer, number)
	if err == nil && len(arguments) > 0 {
		seen = append(seen, missing(seen, q, register, number)...)
	}
	return server, seen, err
}

func scan(answer *sql.Rows, number int) (server string, seen []Observation, err error) {
	columns, err := answer.Columns()
	if err != nil {
		return "", nil, err
	}
	for answer.Next() {
		row := make([]Observation, (len(columns)-1)/3)
		fields := []any{&server}
		for i := range row {
			row[i].Statement = number
			fields = append(fields, &row[i].Cell, &row[i].Register, &row[i].Value)
		}
		if err = answer.Scan(fields...); err != nil {
			return "", nil, err
		}
		seen = append(seen, row...)
	}
	return server, seen, answer.Err()
}

func missing(seen []Observation, q question, register, number int) (absent []Observation) {
	for _, w := range q.cells {
		there := false
		for _, o := range seen {
			there = there || o.Cell == w.cell && o.Register == register+w.after
		}
		if !there {
			absent = append(absent, Observation{number, register + w.after, w.cell, Missing})
		}
	}
	return absent
}

const kindLost = "connection lost"

// kindOf names an error by what a client could tell from it.
func kindOf(err error) string {
	var answered *mysql.MySQLError
	switch {
	case errors.As(err, &answered):
		return fmt.Sprintf("mysql %d", answered.Number)
	case errors.Is(err, context.DeadlineExceeded):
		return "no answer"
	default:
		return kindLost
	}
}

// inline writes arguments, all numbers, into a statement.
func inline(text string, arguments []any) string {
	for _, a := range arguments {
		text = strings.Replace(text, "?", fmt.Sprint(a), 1)
	}
	return text
}
