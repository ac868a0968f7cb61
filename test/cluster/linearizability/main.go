// The check of a recorded history: whether the calls of each account could have run one at a time, each between its start and its
// end.
//
// Standard input has a line of JSON for each call, as test/support/history.rb writes them. The last line of the output has the sums.
// The status is 0 if the history is linearizable, 1 if not, and 2 if that was not found out in time.
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

// A call of an account. Without an end nobody knows whether it has run, or whether it still will.
type call struct {
	Client    int    `json:"client"`
	Key       string `json:"key"`
	Operation string `json:"operation"`
	Amount    int64  `json:"amount"`
	Balance   int64  `json:"balance"`
	Start     int64  `json:"start"`
	End       *int64 `json:"end"`
}

// An account: a deposit returns the new balance, and a read returns the balance.
var account = porcupine.Model{
	Init: func() interface{} { return int64(0) },
	Step: func(state, input, output interface{}) (bool, interface{}) {
		balance, called := state.(int64), input.(call)
		if called.Operation == "deposit" {
			balance += called.Amount
		}
		return called.End == nil || called.Balance == balance, balance
	},
}

func read() map[string][]porcupine.Operation {
	histories := map[string][]porcupine.Operation{}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var called call
		if err := json.Unmarshal(lines.Bytes(), &called); err != nil {
			log.Fatalf("%s: %v", lines.Text(), err)
		}
		switch called.Operation {
		case "deposit", "read":
		default:
			log.Fatalf("%s: the operation is deposit or read", lines.Text())
		}
		operation := porcupine.Operation{ClientId: called.Client, Input: called, Call: called.Start, Return: math.MaxInt64}
		if called.End != nil {
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
	limit := flag.Duration("limit", time.Minute, "for each account")
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
		switch porcupine.CheckOperationsTimeout(account, histories[key], *limit) {
		case porcupine.Illegal:
			fmt.Printf("%s: no order of its %d calls explains what they returned\n", key, len(histories[key]))
			status = 1
		case porcupine.Unknown:
			fmt.Printf("%s: no order of its %d calls was found or excluded in %v\n", key, len(histories[key]), *limit)
			if status == 0 {
				status = 2
			}
		}
	}
	fmt.Printf("%d calls of %d accounts\n", calls, len(keys))
	os.Exit(status)
}
