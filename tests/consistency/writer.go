// Writers: each owns some registers and raises their values, one transaction at a time.
// Comes in: an address (the gate's or the master's own). Goes out: recorded writes, and a probe at every acknowledgement.
// Must never use a value twice, nor call a write acknowledged whose acknowledgement did not arrive.

package main

import (
	"context"
	"errors"
	"math/rand"
	"time"
)

// probe asks a reader to look at a register at once.
type probe struct{ register int }

type writer struct {
	name     string
	source   string
	registry *recorder
	layout   layout
	own      []int
	pause    time.Duration // between two writes: the load's pace
	random   *rand.Rand
	probes   chan<- probe
	fanout   int

	client     *client
	connection int
	values     map[int]int64
}

func (w *writer) run(ctx context.Context) {
	w.values = map[int]int64{}
	pace := time.NewTicker(w.pause)
	defer pace.Stop()
	for {
		select {
		case <-ctx.Done():
			if w.client != nil {
				w.client.close()
			}
			return
		case <-pace.C:
			// A write that was begun is finished: the run's end must not make its outcome unknown.
			w.writeOnce()
		}
	}
}

func (w *writer) connected() bool {
	if w.client != nil {
		return true
	}
	c, err := dial(context.Background(), w.source)
	if err != nil {
		w.failed(stepConnect, err, w.registry.now())
		return false
	}
	w.client, w.connection = c, w.registry.newConnection()
	return true
}

// failed records an error and gives the connection up.
func (w *writer) failed(step string, err error, since Instant) {
	w.registry.failure(Failure{Client: w.name, Step: step, Kind: kindOf(err), Text: err.Error(), Since: since, At: w.registry.now()})
	if w.client != nil {
		w.client.close()
		w.client = nil
	}
}

func (w *writer) writeOnce() {
	if !w.connected() {
		return
	}
	id := w.own[w.random.Intn(len(w.own))]
	w.values[id]++
	one := Write{Register: id, Value: w.values[id], Writer: w.name, Acked: Never}
	prepared := w.random.Intn(2) == 0
	if !w.layout.isSingle(id) && w.random.Intn(10) == 0 {
		one.RolledBack, one.Value = true, -one.Value
	}
	one.Sent = w.registry.now()
	err := w.perform(one, prepared)
	if err == nil && !one.RolledBack {
		one.Acked = w.registry.now()
	}
	w.registry.write(one)
	if err != nil {
		w.failed(stepWrite, err, one.Sent)
		return
	}
	if one.RolledBack {
		return
	}
	for i := 0; i < w.fanout; i++ {
		select {
		case w.probes <- probe{id}:
		default: // every reader is busy
		}
	}
	if w.random.Intn(4) == 0 {
		w.look(id, prepared)
	}
}

func (w *writer) perform(one Write, prepared bool) error {
	if w.layout.isSingle(one.Register) {
		return w.update("cons_reg", one, prepared, 1)
	}
	return w.transaction(one, prepared)
}

// Values only rise, even if a write whose connection was lost is still under way.
func (w *writer) update(table string, one Write, prepared bool, rows int64) error {
	return w.change("UPDATE "+table+" SET v = ? WHERE id = ? AND v < ?", prepared, rows, one.Value, one.Register, abs(one.Value))
}

var errNotThere = errors.New("the rows to change are not there")

func (w *writer) change(text string, prepared bool, rows int64, arguments ...any) error {
	if !prepared {
		text, arguments = inline(text, arguments), nil
	}
	affected, err := w.client.exec(context.Background(), text, arguments...)
	if err == nil && affected != rows {
		return errNotThere
	}
	return err
}

// transaction sets the four rows of a triple, looks at what it did before it ends, and commits or rolls back.
func (w *writer) transaction(one Write, prepared bool) error {
	steps := []func() error{
		func() error { _, err := w.client.exec(context.Background(), "START TRANSACTION"); return err },
		func() error { return w.update("cons_a", one, prepared, 1) },
		func() error { return w.update("cons_b", one, prepared, 2) },
		func() error {
			return w.change("DELETE FROM cons_c WHERE id = ? AND v < ?", prepared, 1, one.Register, abs(one.Value))
		},
		func() error {
			return w.change("INSERT INTO cons_c (id, v) VALUES (?, ?)", prepared, 1, one.Register, one.Value)
		},
		func() error { return w.lookInside(one, prepared) },
		func() error {
			end := "COMMIT"
			if one.RolledBack {
				end = "ROLLBACK"
			}
			_, err := w.client.exec(context.Background(), end)
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

func (w *writer) lookInside(one Write, prepared bool) error {
	v := View{Client: w.name, Connection: w.connection, Kind: "inside its own transaction", Arrived: w.registry.now(),
		Own: one.Value, OwnRegister: one.Register}
	server, seen, err := w.client.ask(context.Background(), askTriple, one.Register, 0, prepared)
	if err != nil {
		return err
	}
	v.Answered, v.Servers, v.Seen = w.registry.now(), []string{server}, seen
	w.registry.view(v)
	return nil
}

// look: the writer reads its own write back on the same connection.
func (w *writer) look(id int, prepared bool) {
	q := askTriple
	if w.layout.isSingle(id) {
		q = askSingle
	}
	v := View{Client: w.name, Connection: w.connection, Kind: "writer's own connection", Arrived: w.registry.now()}
	server, seen, err := w.client.ask(context.Background(), q, id, 0, prepared)
	if err != nil {
		w.failed(stepRead, err, v.Arrived)
		return
	}
	v.Answered, v.Servers, v.Seen = w.registry.now(), []string{server}, seen
	w.registry.view(v)
}

func abs(n int64) int64 {
	if n < 0 {
		return -n
	}
	return n
}
