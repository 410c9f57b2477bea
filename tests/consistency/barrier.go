// The run begins when every satellite has its tables: a weak level may show what was there before them.
// Comes in: the satellites' addresses. Goes out: nil once all of them show the tables of this run. Must never ask the gate, which
// may ask the master; nor wait for ever.

package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const barrierDeadline = 90 * time.Second

// askRun: the tables of which run are there? It is written last.
var askRun = question{selecting + "'run', id, v FROM cons_run", "one table", "cons_run", cells("run")}

var errNotYet = errors.New("the tables of this run are not there yet")

func awaitTables(sources []string, run int64) error {
	deadline := time.Now().Add(barrierDeadline)
	for _, source := range sources {
		for err := showsRun(source, run); err != nil; err = showsRun(source, run) {
			if time.Now().After(deadline) {
				return fmt.Errorf("after %v: %w", barrierDeadline, err)
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
	return nil
}

func showsRun(source string, run int64) error {
	c, err := dial(context.Background(), source)
	if err != nil {
		return err
	}
	defer c.close()
	_, seen, err := c.ask(context.Background(), askRun, 0, 0, false)
	if err != nil {
		return err
	}
	if len(seen) != 1 || seen[0].Value != run {
		return errNotYet
	}
	return nil
}
