// What a reader does for the sake of its levels: it tells the gate, alternates, writes itself, and looks again.
// Comes in: probes. Goes out: recorded views and writes. Must never call a view of a level that the gate was not told of.

package main

import "context"

// One probe in so many makes a reader that owns registers write one of them; the writers make the load.
const writeOneIn = 4

// react looks at the register, or at one that it has just written itself. Twice, where a view's promise depends on what its
// connection did before; and once more when the bound is over.
func (r *reader) react(p probe) {
	register, looks := p.register, 1
	if len(r.levels) > 1 || r.owner != nil {
		looks = 2
	}
	if r.owner != nil && r.random.Intn(writeOneIn) == 0 {
		one, err := r.owner.write(r.client, r.connection)
		if err != nil {
			r.failed(Failure{Step: stepWrite, Since: one.Sent}, err)
			return
		}
		register = one.Register
	}
	r.later.add(p)
	for i := 0; i < looks && r.client != nil; i++ {
		r.look(register, r.levels[r.random.Intn(len(r.levels))])
	}
}

// promise tells the gate the next view's level, if the session's is another: for the session from here on, or with a hint
// for that view alone.
func (r *reader) promise(level Level) (hint string, ok bool) {
	if level != r.standing && r.random.Intn(2) == 0 {
		return level.hint(), true
	}
	return "", r.settle(level)
}

// settle makes the level the session's; false if that failed.
func (r *reader) settle(level Level) bool {
	if level == r.standing {
		return true
	}
	since := r.registry.now()
	if _, err := r.client.exec(context.Background(), level.assignment()); err != nil {
		r.failed(Failure{Step: stepLevel, Since: since}, err)
		return false
	}
	r.standing = level
	return true
}
