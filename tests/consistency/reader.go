// Readers: the moment a commit is acknowledged, one of them looks at it, on a connection of its own.
// Comes in: probes. Goes out: recorded views. Must never retry: an error is recorded as what a client would have got.

package main

import (
	"context"
	"fmt"
	"math/rand"
	"strings"
	"time"
)

type reader struct {
	name      string
	source    string
	registry  *recorder
	layout    layout
	random    *rand.Rand
	probes    <-chan probe
	perClient int // views on one connection before it is given up for a new one, about

	client     *client
	connection int
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
			r.look(p.register)
			if r.client != nil && r.random.Intn(r.perClient) == 0 {
				r.client.close()
				r.client = nil
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
			r.client, r.connection = c, r.registry.newConnection()
			break
		}
		r.failed(Failure{Step: stepConnect, Since: since}, err)
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

func (r *reader) look(register int) {
	prepared := r.random.Intn(2) == 0
	if r.random.Intn(4) == 0 {
		r.transaction(register, prepared)
		return
	}
	r.single(register, prepared)
}

func (r *reader) pick(register int) question {
	choice := []question{askTriple, askJoin, askA, askC}
	if r.layout.isSingle(register) {
		choice = []question{askSingle, askSingle, askSingle, askAll}
	}
	return choice[r.random.Intn(len(choice))]
}

// single is one autocommit statement.
func (r *reader) single(register int, prepared bool) {
	q := r.pick(register)
	if err := r.prepare(q, prepared); err != nil {
		r.failed(Failure{Step: stepRead, Since: r.registry.now()}, err)
		return
	}
	v := View{Client: r.name, Connection: r.connection, Kind: "autocommit, " + protocol(prepared), Arrived: r.registry.now()}
	server, seen, err := r.client.ask(context.Background(), q, register, 0, prepared)
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

type asked struct {
	question
	register int
}

// script is what a transaction asks: the register, others, everything, and the register again at the end.
func (r *reader) script(register int) []asked {
	var all []asked
	if r.layout.isSingle(register) {
		all = append(all, asked{askSingle, register})
	} else {
		all = append(all, asked{askA, register}, asked{askB, register}, asked{askC, register})
	}
	other := r.layout.singles + r.random.Intn(r.layout.triples)
	all = append(all, asked{askAll, 0}, asked{askTriple, other})
	r.random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return append(all, all[0], all[r.random.Intn(len(all))])
}

const (
	beginPlain    = "START TRANSACTION READ ONLY" // MySQL takes the snapshot at the first read
	beginSnapshot = "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY"
)

// transaction is one read-only transaction; all that it sees is one view, asked for when its snapshot is. If it fails
// in the middle, what it saw until then is one.
func (r *reader) transaction(register int, prepared bool) {
	begin := []string{beginPlain, beginSnapshot}[r.random.Intn(2)]
	v := View{Client: r.name, Connection: r.connection, Kind: "read-only transaction, " + protocol(prepared), Arrived: r.registry.now()}
	f := Failure{Step: stepBegin, Since: v.Arrived}
	defer func() {
		if len(v.Seen) > 0 {
			r.registry.view(v)
		}
	}()
	if _, err := r.client.exec(context.Background(), begin); err != nil {
		r.failed(f, err)
		return
	}
	f.Step = stepFirstRead
	for i, a := range r.script(register) {
		if err := r.prepare(a.question, prepared); err != nil {
			r.failed(f, err)
			return
		}
		if i == 0 && begin == beginPlain {
			v.Arrived = r.registry.now()
		}
		server, seen, err := r.client.ask(context.Background(), a.question, a.register, i, prepared)
		if err != nil {
			r.failed(f, err)
			return
		}
		v.Answered, v.Servers, v.Seen = r.registry.now(), append(v.Servers, server), append(v.Seen, seen...)
		f.Step, f.Server = stepLaterRead, server
		r.linger()
	}
	f.Step = stepCommit
	if _, err := r.client.exec(context.Background(), "COMMIT"); err != nil {
		r.failed(f, err)
	}
}

// linger: some transactions take their time, so that commits fall between their statements.
func (r *reader) linger() {
	if r.random.Intn(8) == 0 {
		<-time.After(time.Duration(r.random.Intn(20)) * time.Millisecond)
	}
}

// inline writes arguments, all numbers, into a statement.
func inline(text string, arguments []any) string {
	for _, a := range arguments {
		text = strings.Replace(text, "?", fmt.Sprint(a), 1)
	}
	return text
}
