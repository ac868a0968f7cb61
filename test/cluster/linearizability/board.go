package main

import (
	"log"
	"reflect"

	"github.com/anishathalye/porcupine"
)

type submission struct {
	Member        string `json:"member"`
	Value         int64  `json:"value"`
	Score         *int64 `json:"score"`
	Rank          *int   `json:"rank"`
	PreviousScore *int64 `json:"previous_score"`
	PreviousRank  *int   `json:"previous_rank"`
	Members       []row  `json:"members"`
}

// A line of a list.
type row struct {
	Member string `json:"member"`
	Score  int64  `json:"score"`
	Rank   int    `json:"rank"`
}

// A board on which the larger score ranks first, and of equal scores the name that is first in the order of bytes:
//
//	set, max, increment MEMBER VALUE   changes its score, and returns score and rank, now and before
//	show MEMBER                        returns score and rank, or none
//	top                                returns all members in order
//
// A history of a single member is one of a register: what a call did not return is not compared.
var board = porcupine.Model{
	Init:  func() interface{} { return map[string]int64{} },
	Equal: reflect.DeepEqual,
	Step: func(state, input, output interface{}) (bool, interface{}) {
		scores, called := state.(map[string]int64), input.(call)
		if called.Operation == "top" {
			return hasOrder(scores, called.Members), scores
		}
		after := scores
		if called.Operation != "show" {
			after = changed(scores, called)
		}
		if !called.isKnown() {
			return true, after
		}
		if !isAt(after, called.Member, called.Score, called.Rank) {
			return false, after
		}
		return called.Operation == "show" || isAt(scores, called.Member, called.PreviousScore, called.PreviousRank), after
	},
}

func changed(scores map[string]int64, called call) map[string]int64 {
	before, wasThere := scores[called.Member]
	value := called.Value
	switch called.Operation {
	case "set":
	case "max":
		if wasThere && before > value {
			value = before
		}
	case "increment":
		value += before
	default:
		log.Fatalf("a board has no operation %s", called.Operation)
	}
	after := make(map[string]int64, len(scores)+1)
	for member, score := range scores {
		after[member] = score
	}
	after[called.Member] = value
	return after
}

// Whether a member has this score and this rank. Without a score it has none; without a rank that is not compared.
func isAt(scores map[string]int64, member string, score *int64, rank *int) bool {
	found, isThere := scores[member]
	if score == nil || !isThere {
		return score == nil && !isThere
	}
	return found == *score && (rank == nil || *rank == rankOf(scores, member))
}

func rankOf(scores map[string]int64, member string) int {
	rank := 1
	for other, score := range scores {
		if score > scores[member] || (score == scores[member] && other < member) {
			rank++
		}
	}
	return rank
}

func hasOrder(scores map[string]int64, rows []row) bool {
	if len(rows) != len(scores) {
		return false
	}
	for index, row := range rows {
		score, isThere := scores[row.Member]
		if !isThere || score != row.Score || row.Rank != index+1 || row.Rank != rankOf(scores, row.Member) {
			return false
		}
	}
	return true
}
