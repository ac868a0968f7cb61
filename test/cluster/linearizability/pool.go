package main

import (
	"log"
	"reflect"
	"strconv"
	"strings"

	"github.com/anishathalye/porcupine"
)

type loan struct {
	Numbers []string `json:"numbers"`
	Session string   `json:"session"`
	Number  string   `json:"number"`
	Lease   string   `json:"lease"`
}

// What a pool knows of a number: its last lease, and who holds it now, or nobody.
type tenure struct {
	lease, session string
}

// A pool of numbers whose holds outlast the history:
//
//	create            makes it, with all numbers free
//	lease SESSION     returns the session's lease, else a new one of a free number, else none: then no number is free
//	find LEASE        returns its number, or none if the lease is over
//	release LEASE     the same, and ends it: the number is free again
//	holder NUMBER     returns the lease that holds the number, or none
//
// Serial numbers of a number's leases grow. A lease of unknown fate names what it returned if anybody has seen it
// later.
var pool = porcupine.Model{
	Init:  func() interface{} { return map[string]tenure{} },
	Equal: reflect.DeepEqual,
	Step: func(state, input, output interface{}) (bool, interface{}) {
		numbers, called := state.(map[string]tenure), input.(call)
		switch called.Operation {
		case "create":
			made := map[string]tenure{}
			for _, number := range called.Numbers {
				made[number] = tenure{}
			}
			return true, made
		case "lease":
			return lend(numbers, called)
		case "find", "release":
			isHeld := false
			for number, last := range numbers {
				if last.session == "" || last.lease != called.Lease {
					continue
				}
				isHeld = true
				if called.isKnown() && called.Number != number {
					return false, numbers
				}
				if called.Operation == "release" {
					numbers = with(numbers, number, tenure{lease: last.lease})
				}
			}
			return isHeld || !called.isKnown() || called.Number == "", numbers
		case "holder":
			last := numbers[called.Number]
			return (last.session != "") == (called.Lease != "") && (last.session == "" || last.lease == called.Lease), numbers
		}
		log.Fatalf("a pool has no operation %s", called.Operation)
		return false, numbers
	},
}

func lend(numbers map[string]tenure, called call) (bool, map[string]tenure) {
	isFull := true
	for number, last := range numbers {
		if last.session == called.Session {
			return !called.isKnown() || (called.Number == number && called.Lease == last.lease), numbers
		}
		isFull = isFull && last.session != ""
	}
	if called.Number == "" {
		return isFull, numbers
	}
	last, isOfPool := numbers[called.Number]
	if !isOfPool || last.session != "" || serial(called.Lease) <= serial(last.lease) {
		return !called.isKnown(), numbers
	}
	return true, with(numbers, called.Number, tenure{called.Lease, called.Session})
}

// A lease's identifier ends with the serial number of its number's leases.
func serial(lease string) int {
	if lease == "" {
		return 0
	}
	found, err := strconv.Atoi(lease[strings.LastIndex(lease, "-")+1:])
	if err != nil {
		log.Fatalf("%s is no lease", lease)
	}
	return found
}

func with(numbers map[string]tenure, number string, changed tenure) map[string]tenure {
	copied := make(map[string]tenure, len(numbers))
	for other, last := range numbers {
		copied[other] = last
	}
	copied[number] = changed
	return copied
}
