// What whoever injects faults tells us, so that the history knows them.
// Comes in: lines "begin KIND TARGET" and "end KIND TARGET". Goes out: recorded faults. The line "over", or the end of
// the input, means that the run need not wait for more.

package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
)

func followFaults(input io.Reader, r *recorder, over chan<- struct{}) {
	var once sync.Once
	end := func() { once.Do(func() { close(over) }) }
	defer end()
	lines := bufio.NewScanner(input)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		switch {
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
