// Readers: the moment a commit is acknowledged, one of them looks at it, on a connection of its own.
// Comes in: probes. Goes out: recorded views. Must never retry: an error is recorded as what a client would have got.

package main

import (
	"context"
	"math/rand"
	"time"
)

type reader struct {
	name      string
	source    string
	registry  *recorder
	layout    layout
	random    *rand.Rand
	probes    <-chan probe
	perClient int     // views on one connection before it is given up for a new one, about
	levels    []Level // one, or two that alternate on one connection
	owner     *owner  // of the registers that it writes itself between its views; nil: it only reads
	later     later

	client     *client
	connection int
	standing   Level // the session's, as the gate was told
}

func (r *reader) run(ctx context.Context) {
	defer func() {
		if r.client != nil {
			r.client.close()
		}
	}()
	for {
		// Connected before the probe arrives, so that the view begins with the probe.
		if !r.connected(ctx) {
			return
		}
		select {
		case <-ctx.Done():
			return
		case p := <-r.probes:
			r.react(p)
			if r.client != nil && r.random.Intn(r.perClient) == 0 {
				r.client.close()
				r.client = nil
			}
		case <-r.later.wake(r.registry.now()):
			if register, ok := r.later.take(r.registry.now()); ok {
				r.look(register, r.later.level)
			}
		}
	}
}

// connected dials until it works or the run is over; every refusal is recorded.
func (r *reader) connected(ctx context.Context) bool {
	for r.client == nil {
		since := r.registry.now()
		c, err := dial(context.Background(), r.source)
		if err == nil {
			r.client, r.connection, r.standing = c, r.registry.newConnection(), Level{}
			if r.settle(r.levels[0]) {
				break
			}
		} else {
			r.failed(Failure{Step: stepConnect, Since: since}, err)
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(100 * time.Millisecond):
		}
	}
	return ctx.Err() == nil
}

func (r *reader) failed(f Failure, err error) {
	f.Client, f.Kind, f.Text, f.At = r.name, kindOf(err), err.Error(), r.registry.now()
	r.registry.failure(f)
	if r.client != nil {
		r.client.close()
		r.client = nil
	}
}

// One view in so many is of any register: most likely of tables that nobody has just written.
const lookElsewhereOneIn = 4

// look asks for one view of this level.
func (r *reader) look(register int, level Level) {
	if r.random.Intn(lookElsewhereOneIn) == 0 {
		register = r.random.Intn(r.layout.registers())
	}
	hint, ok := r.promise(level)
	if !ok {
		return
	}
	v := View{Client: r.name, Connection: r.connection, Level: level}
	prepared := r.random.Intn(2) == 0
	if r.random.Intn(4) == 0 {
		r.transaction(v, hint, register, prepared)
		return
	}
	r.single(v, hint, register, prepared)
}

// single is one autocommit statement.
func (r *reader) single(v View, hint string, register int, prepared bool) {
	q := r.layout.pick(register, r.random).after(hint)
	v.About = []string{q.about}
	began := r.registry.now()
	if err := r.prepare(q, prepared); err != nil {
		r.failed(Failure{Step: stepRead, Since: began}, err)
		return
	}
	v.Kind, v.Arrived = "autocommit, "+protocol(prepared), r.registry.now()
	server, seen, err := r.client.ask(context.Background(), q, r.layout.argument(register), 0, prepared)
	if err != nil {
		r.failed(Failure{Step: stepRead, Since: v.Arrived}, err)
		return
	}
	v.Answered, v.Servers, v.Seen = r.registry.now(), []string{server}, seen
	r.registry.view(v)
}

// prepare: a step of its own, so that what follows is the execution alone.
func (r *reader) prepare(q question, prepared bool) error {
	if !prepared {
		return nil
	}
	_, err := r.client.statement(context.Background(), q.sql)
	return err
}

func protocol(prepared bool) string {
	if prepared {
		return "prepared"
	}
	return "text"
}
