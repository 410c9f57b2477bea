// What whoever injects faults tells us, so that the history knows them.
// Comes in: lines "begin KIND TARGET" and "end KIND TARGET". Goes out: recorded faults. The line "go" lets a run begin that was told
// to wait for it; "over", or the end of the input, means that the run need not wait for more. "master HOST:PORT" is where the master is now.
// Where the master goes back: "pause" (answered by "paused" when nothing is being written), "lost" when the master is there again (answered
// by "known" when its registers have been read), "resume".

package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
)

func followFaults(input io.Reader, r *recorder, m *master, begin, over chan<- struct{}) {
	var began, ended sync.Once
	start := func() { began.Do(func() { close(begin) }) }
	end := func() { ended.Do(func() { close(over) }) }
	defer end()
	defer start()
	p := pauses{r: r, m: m}
	defer p.end()
	lines := bufio.NewScanner(input)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		switch {
		case len(words) == 2 && words[0] == "master":
			m.moved(words[1])
		case len(words) == 1 && words[0] == "pause":
			p.begin()
		case len(words) == 1 && words[0] == "lost":
			p.lost()
		case len(words) == 1 && words[0] == "resume":
			p.end()
		case len(words) == 1 && words[0] == "go":
			start()
		case len(words) == 1 && words[0] == "over":
			end()
		case len(words) == 3 && words[0] == "begin":
			r.faultBegins(words[1], words[2])
		case len(words) == 3 && words[0] == "end":
			r.faultEnds(words[1], words[2])
		default:
			fmt.Fprintf(os.Stderr, "consistency: not a fault: %q\n", lines.Text())
		}
	}
}
