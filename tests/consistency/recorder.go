// Takes down what clients do and get, with the time.
// Comes in: events of all clients, at once. Goes out: one History. Must never lose an event.

package main

import (
	"sync"
	"time"
)

type recorder struct {
	start time.Time
	// Held by each write for as long as its outcome is open.
	writing sync.RWMutex
	mu      sync.Mutex
	h       History
	conns   int
	names   map[string]string // servers by their hardware address
}

func newRecorder(names map[string]string) *recorder {
	return &recorder{start: time.Now(), names: names}
}

// server is the name that the operator knows it by.
func (r *recorder) server(address string) string {
	if name := r.names[address]; name != "" {
		return name
	}
	return address
}

func (r *recorder) now() Instant { return Instant(time.Since(r.start)) }

func (r *recorder) write(w Write) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.h.Writes = append(r.h.Writes, w)
}

func (r *recorder) view(v View) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, address := range v.Servers {
		v.Servers[i] = r.server(address)
	}
	r.h.Views = append(r.h.Views, v)
}

func (r *recorder) failure(f Failure) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f.Server = r.server(f.Server)
	r.h.Failures = append(r.h.Failures, f)
}

// newConnection numbers connections over the whole run.
func (r *recorder) newConnection() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.conns++
	return r.conns
}

func (r *recorder) faultBegins(kind, target string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.h.Faults = append(r.h.Faults, Fault{kind, target, r.now(), Never})
}

func (r *recorder) faultEnds(kind, target string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := len(r.h.Faults) - 1; i >= 0; i-- {
		if f := &r.h.Faults[i]; f.Kind == kind && f.Target == target && f.Ended == Never {
			f.Ended = r.now()
			return
		}
	}
}

// pause returns when no write is under way; none begins before resume.
func (r *recorder) pause() Instant {
	r.writing.Lock()
	return r.now()
}

func (r *recorder) resume() { r.writing.Unlock() }

// loss: between two moments of a pause.
func (r *recorder) loss(begun Instant, left map[int]int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.h.Losses = append(r.h.Losses, Loss{begun, r.now(), left})
}

// counted: writes, views and failures so far.
func (r *recorder) counted() (writes, views, failures int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.h.Writes), len(r.h.Views), len(r.h.Failures)
}

// history: a copy; complete once all clients have ended.
func (r *recorder) history() History {
	r.mu.Lock()
	defer r.mu.Unlock()
	return History{append([]Write(nil), r.h.Writes...), append([]View(nil), r.h.Views...),
		append([]Fault(nil), r.h.Faults...), append([]Failure(nil), r.h.Failures...), append([]Loss(nil), r.h.Losses...),
		satellites(r.names)}
}

// satellites: all named servers but the master.
func satellites(names map[string]string) map[string]bool {
	found := map[string]bool{}
	for _, name := range names {
		if name != "master" {
			found[name] = true
		}
	}
	return found
}
