// What happened, as the clients saw it: the only thing that the checker judges.
// Comes in: nothing. Goes out: plain values. Must never hold a connection or ask the time itself.

package main

import (
	"fmt"
	"time"
)

// Instant is a moment on this process's monotonic clock, since the run began.
type Instant time.Duration

// Never stands for an acknowledgement that did not come.
const Never Instant = -1

func (i Instant) String() string {
	if i == Never {
		return "never"
	}
	return fmt.Sprintf("%.3fms", float64(i)/1e6)
}

// Write is what one transaction does to one register: it sets every cell to Value. Values of a register rise, and one writer
// owns it, so its writes are ordered: the next is sent only after the one before has ended, well or badly. A transaction that
// writes several registers is a Write for each.
type Write struct {
	Register   int
	Value      int64
	Writer     string
	Connection int     // on which it was sent
	Sent       Instant // before the statement that could commit it was sent
	Acked      Instant // after the commit was acknowledged; Never: lost, so its outcome is unknown
	RolledBack bool    // rolled back on purpose: nobody may ever see it
	With       []Part  // what the same transaction does to others
	Lost       Instant // since when the master is known to have lost it, and nobody may see it; 0: it has not (periods)
}

// Part is what a transaction does to another register.
type Part struct {
	Register int
	Value    int64
}

// Missing is the value of a cell whose row was not there.
const Missing int64 = -1 << 62

// Observation is one cell as one statement of a view returned it.
type Observation struct {
	Statement int
	Register  int
	Cell      string
	Value     int64
}

// View is what one read-only statement, or one read-only transaction, saw.
type View struct {
	Client     string
	Connection int // unique over the run: a client that reconnects begins a new one
	Kind       string
	About      []string // what kinds of questions were asked
	Level      Level
	Arrived    Instant // before the request was sent that takes its snapshot
	Answered   Instant // after its last row was received
	Servers    []string
	Seen       []Observation
	// Own is what the client's own open transaction wrote to OwnRegister just before: exactly that must be seen.
	Own         int64
	OwnRegister int
}

// Fault is something done to the stack from outside.
type Fault struct {
	Kind   string
	Target string
	Begun  Instant
	Ended  Instant // Never while it lasts
}

// Loss is that the master went back to an older copy of itself, while nothing was written.
type Loss struct {
	Begun Instant       // before that
	Known Instant       // after it: who asks from here on must not see what is lost
	Left  map[int]int64 // what each register has on the master since
}

// Failure is an error that a client got.
type Failure struct {
	Client string
	Step   string // what the client was doing, one of the step constants
	Kind   string // "mysql 1053", "connection lost", "no answer"
	Text   string
	Server string  // the server that had answered before in this transaction, if any
	Since  Instant // when this transaction, or else this statement, began
	At     Instant
}

const (
	stepConnect   = "connect"
	stepWrite     = "write"
	stepLevel     = "choice of the level"
	stepRead      = "read"
	stepBegin     = "begin of a read-only transaction"
	stepFirstRead = "first read of a read-only transaction"
	stepLaterRead = "later read of a read-only transaction"
	stepCommit    = "commit of a read-only transaction"
)

// History is everything that happened in a run.
type History struct {
	Writes   []Write
	Views    []View
	Faults   []Fault
	Failures []Failure
	Losses   []Loss // rising
	// Satellites are the names of the servers that are known to be satellites.
	Satellites map[string]bool
}
