package main

import (
	"bytes"
	"encoding/binary"

	bolt "go.etcd.io/bbolt"
)

// boltBoards keeps boards in bbolt. A rank is counted over an index of scores, as in the original. What was acknowledged outlives the process: it is
// written, and not synced.
type boltBoards struct{ db *bolt.DB }

var (
	gameBucket  = []byte("games")  // id: game
	boardBucket = []byte("boards") // id: board
	scoreBucket = []byte("scores") // board, member: the key in order
	orderBucket = []byte("order")  // board, score from high to low, turn: member. Of equal scores the first has the lower turn
	sizeBucket  = []byte("sizes")  // board: how many members
)

func openBoltBoards(path string) (boltBoards, error) {
	db, err := openBolt(path, gameBucket, boardBucket, scoreBucket, orderBucket, sizeBucket)
	return boltBoards{db}, err
}

// orderKey sorts by board, then the higher score, then the earlier turn.
func orderKey(board []byte, score int64, turn uint64) []byte {
	key := append([]byte{}, board...)
	key = binary.BigEndian.AppendUint64(key, ^(uint64(score) ^ 1<<63))
	return binary.BigEndian.AppendUint64(key, turn)
}

func scoreIn(key []byte) int64 { return int64(^binary.BigEndian.Uint64(key[8:16]) ^ 1<<63) }

func memberKey(board []byte, member string) []byte {
	return append(append([]byte{}, board...), member...)
}

// boardKey returns the key of a board that there is.
func boardKey(tx *bolt.Tx, id uint64) ([]byte, error) {
	if tx.Bucket(boardBucket).Get(number(id)) == nil {
		return nil, problem{404, "leaderboard_not_found"}
	}
	return number(id), nil
}

// rank counts who is before the key.
func rank(tx *bolt.Tx, board, key []byte) int {
	before := 1
	cursor := tx.Bucket(orderBucket).Cursor()
	for other, _ := cursor.Seek(board); other != nil && bytes.Compare(other, key) < 0; other, _ = cursor.Next() {
		before++
	}
	return before
}

func size(tx *bolt.Tx, board []byte) uint64 {
	if value := tx.Bucket(sizeBucket).Get(board); value != nil {
		return binary.BigEndian.Uint64(value)
	}
	return 0
}

// setScore stores a score and returns its key in the order.
func setScore(tx *bolt.Tx, board []byte, member string, score int64) ([]byte, error) {
	scores, order := tx.Bucket(scoreBucket), tx.Bucket(orderBucket)
	if old := scores.Get(memberKey(board, member)); old != nil {
		if err := order.Delete(old); err != nil {
			return nil, err
		}
	} else if err := tx.Bucket(sizeBucket).Put(board, number(size(tx, board)+1)); err != nil {
		return nil, err
	}
	turn, err := order.NextSequence()
	if err != nil {
		return nil, err
	}
	key := orderKey(board, score, turn)
	if err := scores.Put(memberKey(board, member), key); err != nil {
		return nil, err
	}
	return key, order.Put(key, []byte(member))
}

// list reads limit standings from the rank first on.
func list(tx *bolt.Tx, board []byte, first, limit int) standings {
	members := []standing{}
	cursor := tx.Bucket(orderBucket).Cursor()
	at := 1
	for key, member := cursor.Seek(board); key != nil && bytes.HasPrefix(key, board) && at < first+limit; key, member = cursor.Next() {
		if at >= first {
			members = append(members, standing{at, string(member), scoreIn(key)})
		}
		at++
	}
	return standings{1, size(tx, board), members}
}

func create(tx *bolt.Tx, bucket []byte, name string) (uint64, error) {
	id, err := tx.Bucket(bucket).NextSequence()
	if err != nil {
		return 0, err
	}
	return id, tx.Bucket(bucket).Put(number(id), []byte(name))
}

func (b boltBoards) createGame(name string) (id uint64, err error) {
	err = b.db.Update(func(tx *bolt.Tx) (err error) {
		id, err = create(tx, gameBucket, name)
		return err
	})
	return id, err
}

func (b boltBoards) createBoard(game uint64, name string) (id uint64, err error) {
	err = b.db.Update(func(tx *bolt.Tx) (err error) {
		if tx.Bucket(gameBucket).Get(number(game)) == nil {
			return problem{404, "game_not_found"}
		}
		id, err = create(tx, boardBucket, name)
		return err
	})
	return id, err
}

func (b boltBoards) submitAll(id uint64, all []standing) error {
	return b.db.Update(func(tx *bolt.Tx) error {
		board, err := boardKey(tx, id)
		for _, one := range all {
			if err != nil {
				return err
			}
			_, err = setScore(tx, board, one.Member, one.Score)
		}
		return err
	})
}

func (b boltBoards) submit(id uint64, member string, score int64) (submission, error) {
	done := submission{standing: standing{Member: member, Score: score}, Changed: true}
	err := b.db.Update(func(tx *bolt.Tx) error {
		board, err := boardKey(tx, id)
		if err != nil {
			return err
		}
		if old := tx.Bucket(scoreBucket).Get(memberKey(board, member)); old != nil {
			kept, place := scoreIn(old), rank(tx, board, old)
			done.PreviousRank, done.PreviousScore = &place, &kept
			if kept >= score {
				done.Rank, done.Score, done.Changed = place, kept, false
				return nil
			}
		}
		key, err := setScore(tx, board, member, score)
		done.Rank = rank(tx, board, key)
		return err
	})
	return done, err
}

// find returns the keys of a board and of a member's score.
func find(tx *bolt.Tx, id uint64, member string) (board, key []byte, err error) {
	if board, err = boardKey(tx, id); err != nil {
		return nil, nil, err
	}
	if key = tx.Bucket(scoreBucket).Get(memberKey(board, member)); key == nil {
		return nil, nil, problem{404, "member_not_found"}
	}
	return board, key, nil
}

func (b boltBoards) standing(id uint64, member string) (standing, error) {
	found := standing{Member: member}
	err := b.db.View(func(tx *bolt.Tx) error {
		board, key, err := find(tx, id, member)
		if err == nil {
			found.Rank, found.Score = rank(tx, board, key), scoreIn(key)
		}
		return err
	})
	return found, err
}

func (b boltBoards) top(id uint64, limit int) (found standings, err error) {
	err = b.db.View(func(tx *bolt.Tx) error {
		board, err := boardKey(tx, id)
		if err == nil {
			found = list(tx, board, 1, limit)
		}
		return err
	})
	return found, err
}

func (b boltBoards) around(id uint64, member string, distance int) (found standings, err error) {
	err = b.db.View(func(tx *bolt.Tx) error {
		board, key, err := find(tx, id, member)
		if err == nil {
			middle := rank(tx, board, key)
			first := max(middle-distance, 1)
			found = list(tx, board, first, middle-first+distance+1)
		}
		return err
	})
	return found, err
}
