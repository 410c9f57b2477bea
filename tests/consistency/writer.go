// Writers: owners that write all the time.
// Comes in: an address (the gate's or the master's own). Goes out: recorded writes, and a probe at every acknowledgement.
// Must never retry.

package main

import (
	"context"
	"time"
)

// probe asks a reader to look at a register at once.
type probe struct {
	register int
	acked    Instant
}

type writer struct {
	owner
	source func() string
	pause  time.Duration // between two writes: the load's pace
	probes chan<- probe
	fanout int

	client     *client
	connection int
}

func (w *writer) run(ctx context.Context) {
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
	c, err := dial(context.Background(), w.source())
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
	one, err := w.write(w.client, w.connection)
	if err != nil {
		w.failed(stepWrite, err, one.Sent)
		return
	}
	if one.RolledBack {
		return
	}
	for i := 0; i < w.fanout; i++ {
		select {
		case w.probes <- probe{one.Register, one.Acked}:
		default: // every reader is busy
		}
	}
	if w.random.Intn(4) == 0 {
		w.look(one.Register, w.random.Intn(2) == 0)
	}
}

// look: the writer reads its own write back on the same connection.
func (w *writer) look(id int, prepared bool) {
	q := w.layout.pick(id, w.random)
	v := View{Client: w.name, Connection: w.connection, Kind: "writer's own connection", About: []string{q.about}, Arrived: w.registry.now()}
	server, seen, err := w.client.ask(context.Background(), q, w.layout.argument(id), 0, prepared)
	if err != nil {
		w.failed(stepRead, err, v.Arrived)
		return
	}
	v.Answered, v.Servers, v.Seen = w.registry.now(), []string{server}, seen
	w.registry.view(v)
}
