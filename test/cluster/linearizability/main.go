// The check of a recorded history: whether the calls of each object could have run one at a time, each between its
// start and its end.
//
// Standard input has a line of JSON for each call, as test/support/history.rb writes them. The last line of the output
// has the sums. The status is 0 if the history is linearizable, 1 if not, and 2 if that was not found out in time.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"math"
	"os"
	"sort"
	"time"

	"github.com/anishathalye/porcupine"
)

// A call of an object. Without an end nobody knows whether it has run, or whether it still will, and what it returned.
type call struct {
	Client    int    `json:"client"`
	Object    string `json:"object"`
	Key       string `json:"key"`
	Operation string `json:"operation"`
	Start     int64  `json:"start"`
	End       *int64 `json:"end"`
	deposit
	loan
	submission
}

func (called call) isKnown() bool { return called.End != nil }

// What the objects are, by the name that calls have for them.
var models = map[string]porcupine.Model{"account": account, "pool": pool, "board": board}

func read() map[string][]porcupine.Operation {
	histories := map[string][]porcupine.Operation{}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var called call
		if err := json.Unmarshal(lines.Bytes(), &called); err != nil {
			log.Fatalf("%s: %v", lines.Text(), err)
		}
		if _, isKnown := models[called.Object]; !isKnown {
			log.Fatalf("%s: there is no such object", lines.Text())
		}
		operation := porcupine.Operation{ClientId: called.Client, Input: called, Call: called.Start, Return: math.MaxInt64}
		if called.isKnown() {
			operation.Return = *called.End
		}
		histories[called.Key] = append(histories[called.Key], operation)
	}
	if err := lines.Err(); err != nil {
		log.Fatal(err)
	}
	return histories
}

func main() {
	log.SetFlags(0)
	limit := flag.Duration("limit", time.Minute, "for each object")
	flag.Parse()
	histories := read()
	keys := make([]string, 0, len(histories))
	calls := 0
	for key, history := range histories {
		keys = append(keys, key)
		calls += len(history)
	}
	sort.Strings(keys)
	status := 0
	for _, key := range keys {
		history := histories[key]
		model := models[history[0].Input.(call).Object]
		switch porcupine.CheckOperationsTimeout(model, history, *limit) {
		case porcupine.Illegal:
			fmt.Printf("%s: no order of its %d calls explains what they returned\n", key, len(history))
			status = 1
		case porcupine.Unknown:
			fmt.Printf("%s: no order of its %d calls was found or excluded in %v\n", key, len(history), *limit)
			if status == 0 {
				status = 2
			}
		}
	}
	fmt.Printf("%d calls of %d objects\n", calls, len(keys))
	os.Exit(status)
}
