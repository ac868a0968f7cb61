package main

import (
	"log"

	"github.com/anishathalye/porcupine"
)

type deposit struct {
	Amount  int64 `json:"amount"`
	Balance int64 `json:"balance"`
}

// An account: a deposit returns the new balance, and a read returns the balance.
var account = porcupine.Model{
	Init: func() interface{} { return int64(0) },
	Step: func(state, input, output interface{}) (bool, interface{}) {
		balance, called := state.(int64), input.(call)
		switch called.Operation {
		case "deposit":
			balance += called.Amount
		case "read":
		default:
			log.Fatalf("an account has no operation %s", called.Operation)
		}
		return !called.isKnown() || called.Balance == balance, balance
	},
}
