// What whoever injects faults tells us, so that the history knows them.
// Comes in: lines "begin KIND TARGET" and "end KIND TARGET". Goes out: recorded faults. The line "go" lets a run begin that was told
// to wait for it; "over", or the end of the input, means that the run need not wait for more.

package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
)

func followFaults(input io.Reader, r *recorder, begin, over chan<- struct{}) {
	var began, ended sync.Once
	start := func() { began.Do(func() { close(begin) }) }
	end := func() { ended.Do(func() { close(over) }) }
	defer end()
	defer start()
	lines := bufio.NewScanner(input)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		switch {
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
