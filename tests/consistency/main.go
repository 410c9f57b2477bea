// consistency: loads the stack with writes, looks at each the moment it is acknowledged, and judges what was seen.
// Comes in: flags (settings.go), faults on standard input. Goes out: a report on standard output, a summary as JSON.
// Exit status 0: every promise kept and enough checked; 1: not so; 2: the run could not begin or end; 64: wrong settings.

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

func main() {
	s, mistakes := readSettings(os.Args[1:], os.Stderr)
	if len(mistakes) > 0 {
		for _, m := range mistakes {
			fmt.Fprintln(os.Stderr, "consistency:", m)
		}
		os.Exit(64)
	}
	h, err := run(s)
	if err != nil {
		fmt.Fprintln(os.Stderr, "consistency:", err)
		os.Exit(2)
	}
	os.Exit(judge(s, h))
}

func judge(s settings, h History) int {
	h, left := withoutLeftBehind(h)
	violations := Check(h)
	summary := Summarize(h, violations)
	printReport(os.Stdout, h, summary, violations)
	for each, since := range left {
		fmt.Printf("left behind by MySQL itself: register %d, cell %s, since %v\n", each.register, each.cell, since)
	}
	if s.report != "" {
		text, err := json.MarshalIndent(summary, "", "  ")
		if err == nil {
			err = os.WriteFile(s.report, append(text, '\n'), 0o644)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "consistency:", err)
			return 2
		}
	}
	if len(violations) > 0 || summary.Disallowed > 0 || !s.enough(summary) {
		return 1
	}
	return 0
}

func run(s settings) (History, error) {
	fmt.Printf("seed %d: %d writers at %d writes/s together, %d readers at levels %v\n", s.seed, s.writers, s.rate, s.readers, s.levels)
	m := s.masterAt(s.master)
	gate := dsn(s.gate, s.user, s.password, s.database)
	run := time.Now().UnixNano()
	if err := prepareTables(s.layout, m.source(), run); err != nil {
		return History{}, fmt.Errorf("making the tables: %w", err)
	}
	var satellites []string
	for _, address := range s.satellites {
		satellites = append(satellites, dsn(address, s.user, s.password, s.database))
	}
	if err := awaitTables(satellites, run); err != nil {
		return History{}, fmt.Errorf("waiting for the tables on every satellite: %w", err)
	}
	fmt.Println("ready")
	r := newRecorder(s.servers)
	begin, faultsOver := make(chan struct{}), make(chan struct{})
	if s.faults {
		go followFaults(os.Stdin, r, m, begin, faultsOver)
	} else {
		close(faultsOver)
	}
	if s.wait {
		<-begin
	}
	load(s, r, m, gate, faultsOver)
	if err := lastLook(s.layout, r, map[string]string{"last look, master": m.source(), "last look, gate": gate}); err != nil {
		return History{}, fmt.Errorf("the last look: %w", err)
	}
	return r.history(), nil
}

func prepareTables(l layout, source string, run int64) error {
	c, err := dial(context.Background(), source)
	if err != nil {
		return err
	}
	defer c.close()
	return l.create(context.Background(), c, run)
}

// load runs all clients until time, checks and faults are done, or until the limit.
func load(s settings, r *recorder, m *master, gate string, faultsOver <-chan struct{}) {
	writing, stopWriting := context.WithCancel(context.Background())
	reading, stopReading := context.WithCancel(context.Background())
	defer stopWriting()
	defer stopReading()
	// Short: a probe that waits for a reader is no longer about "the moment".
	probes := make(chan probe, s.fanout)
	var writers, readers sync.WaitGroup
	for i := 0; i < s.readers; i++ {
		one := s.reader(i, r, gate, probes)
		start(&readers, func() { one.run(reading) })
	}
	for i := 0; i < s.writers; i++ {
		one := s.writer(i, r, m, gate, probes)
		start(&writers, func() { one.run(writing) })
	}
	await(s, r, faultsOver)
	stopWriting()
	writers.Wait()
	stopReading()
	readers.Wait()
}

func start(group *sync.WaitGroup, work func()) {
	group.Add(1)
	go func() {
		defer group.Done()
		work()
	}()
}

// await returns when the shortest time is over, the checks are reached and no more faults will come; or at the limit; or on
// SIGTERM: what was seen until then is judged all the same.
func await(s settings, r *recorder, faultsOver <-chan struct{}) {
	limit := time.After(s.limit)
	told := make(chan os.Signal, 1)
	signal.Notify(told, syscall.SIGTERM, os.Interrupt)
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	shortest := time.After(s.duration)
	over, long, ticks := false, false, 0
	for {
		select {
		case <-limit:
			return
		case <-told:
			return
		case <-faultsOver:
			over, faultsOver = true, nil
		case <-shortest:
			long = true
		case <-tick.C:
			if ticks++; ticks%5 != 0 {
				break
			}
			writes, views, failures := r.counted()
			fmt.Printf("%v: %d writes, %d views, %d errors\n", time.Duration(r.now()).Round(time.Second), writes, views, failures)
		}
		if over && long {
			if h := r.history(); s.found(h) || s.until == "" && s.enough(Summarize(h, nil)) {
				return
			}
		}
	}
}

// lastLook: no acknowledged commit is lost. Judged like every other view.
func lastLook(l layout, r *recorder, sources map[string]string) error {
	for name, source := range sources {
		c, err := dial(context.Background(), source)
		if err != nil {
			return err
		}
		defer c.close()
		connection := r.newConnection()
		for id := 0; id < l.registers(); id++ {
			v := View{Client: name, Connection: connection, Kind: "last look", Arrived: r.now()}
			server, seen, err := c.ask(context.Background(), l.whole(id), l.argument(id), 0, false)
			if err != nil {
				return err
			}
			v.Answered, v.Servers, v.Seen = r.now(), []string{server}, seen
			r.view(v)
		}
	}
	return nil
}
