// The master itself, without the gate: where it is, and what it has.
// Comes in: its address, which may change: a container that starts again can get another. Goes out: where to connect; its registers; pauses
// in which it may go back. Must never say what the master has while something is being written.

package main

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"
)

type master struct {
	layout  layout
	dsn     func(address string) string
	address atomic.Pointer[string]
}

func (s settings) masterAt(address string) *master {
	m := &master{layout: s.layout, dsn: func(address string) string { return dsn(address, s.user, s.password, s.database) }}
	m.moved(address)
	return m
}

func (m *master) moved(address string) { m.address.Store(&address) }

func (m *master) source() string { return m.dsn(*m.address.Load()) }

// registers: what each of them has.
func (m *master) registers() (map[int]int64, error) {
	c, err := dial(context.Background(), m.source())
	if err != nil {
		return nil, err
	}
	defer c.close()
	values := map[int]int64{}
	for id := 0; id < m.layout.registers(); id++ {
		_, seen, err := c.ask(context.Background(), m.layout.whole(id), m.layout.argument(id), 0, false)
		if err != nil {
			return nil, err
		}
		for register, value := range lowest(View{Seen: seen}) {
			values[register] = value
		}
	}
	return values, nil
}

// pauses are those in which the master may go back. Used by one goroutine.
type pauses struct {
	r     *recorder
	m     *master
	begun Instant
	on    bool
}

func (p *pauses) begin() {
	p.begun, p.on = p.r.pause(), true
	fmt.Println("paused")
}

func (p *pauses) lost() {
	left, err := p.m.registers()
	if err != nil {
		fmt.Fprintln(os.Stderr, "consistency: what the master has left:", err)
		return
	}
	p.r.loss(p.begun, left)
	fmt.Println("known")
}

func (p *pauses) end() {
	if p.on {
		p.on = false
		p.r.resume()
	}
}
