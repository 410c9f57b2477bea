// The run begins when every satellite has its tables: a weak level may show what was there before them.
// Comes in: the gate's address, the names of the servers. Goes out: nil once all satellites that the gate uses show the tables of
// this run. Must never take an answer of the master for one of theirs, or wait for ever.

package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const (
	// New connections in a row that must show them; the gate spreads new connections over the satellites.
	barrierLooks    = 20
	barrierDeadline = 90 * time.Second
)

// askRun: the tables of which run are there? It is written last.
var askRun = question{Level{Kind: eventual}.hint() + selecting + "'run', id, v FROM cons_run", "one table", "cons_run", cells("run")}

var errNotYet = errors.New("the tables of this run are not there yet")

func awaitTables(source string, servers map[string]string, run int64) error {
	deadline := time.Now().Add(barrierDeadline)
	for shown := 0; shown < barrierLooks; {
		err := showsRun(source, servers, run)
		if err == nil {
			shown++
			continue
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("after %v: %w", barrierDeadline, err)
		}
		shown = 0
		time.Sleep(20 * time.Millisecond)
	}
	return nil
}

func showsRun(source string, servers map[string]string, run int64) error {
	c, err := dial(context.Background(), source)
	if err != nil {
		return err
	}
	defer c.close()
	server, seen, err := c.ask(context.Background(), askRun, 0, 0, false)
	if err != nil {
		return err
	}
	if servers[server] == "master" || len(seen) != 1 || seen[0].Value != run {
		return errNotYet
	}
	return nil
}
