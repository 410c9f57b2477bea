// A reader's read-only transactions.
// Comes in: a register to look at. Goes out: one view of all that the transaction saw. Must never retry.

package main

import (
	"context"
	"time"
)

type asked struct {
	question
	register int
}

// script is what a transaction asks: the register, others, everything, and the register again at the end.
func (r *reader) script(register int) []asked {
	var all []asked
	if r.layout.isTriple(register) {
		all = append(all, asked{askA, register}, asked{askB, register}, asked{askC, register})
	} else {
		all = append(all, r.asked(register), r.asked(register))
	}
	other := r.layout.singles + r.random.Intn(r.layout.triples)
	all = append(all, asked{askAll, 0}, asked{askTriple, other})
	r.random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return append(all, all[0], all[r.random.Intn(len(all))])
}

func (r *reader) asked(register int) asked {
	return asked{r.layout.pick(register, r.random), r.layout.argument(register)}
}

// declaredScript asks about the register alone, several times, and says for which tables.
func (r *reader) declaredScript(register int) (all []asked, declaration string) {
	all = append(all, r.asked(register))
	declaration = all[0].question.tables
	if r.random.Intn(2) == 0 {
		all = append(all, r.asked(register))
		declaration += "," + all[1].question.tables
	}
	return append(all, all[0]), " /* multimed: tables=" + declaration + " */"
}

const (
	beginPlain    = "START TRANSACTION READ ONLY" // MySQL takes the snapshot at the first read
	beginSnapshot = "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY"
)

// transaction is one read-only transaction; all that it sees is one view, asked for when its snapshot is. If it fails
// in the middle, what it saw until then is one.
func (r *reader) transaction(v View, hint string, register int, prepared bool) {
	begin := []string{beginPlain, beginSnapshot}[r.random.Intn(2)]
	script, kind := r.script(register), "read-only transaction, "
	opening := begin
	if r.random.Intn(2) == 0 {
		var declaration string
		script, declaration = r.declaredScript(register)
		kind, opening = "declared "+kind, begin+declaration
	}
	v.Kind, v.Arrived = kind+protocol(prepared), r.registry.now()
	f := Failure{Step: stepBegin, Since: v.Arrived}
	defer func() {
		if len(v.Seen) > 0 {
			r.registry.view(v)
		}
	}()
	if _, err := r.client.exec(context.Background(), hint+opening); err != nil {
		r.failed(f, err)
		return
	}
	f.Step = stepFirstRead
	for i, a := range script {
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
		v.About = append(v.About, a.question.about)
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
