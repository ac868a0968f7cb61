package main

import (
	"encoding/binary"
	"encoding/json"
	"time"

	bolt "go.etcd.io/bbolt"
)

// boltEvents keeps events in bbolt. What was acknowledged outlives the process: it is written, many at a time, and not synced.
type boltEvents struct{ db *bolt.DB }

var eventBucket = []byte("events") // accepted_ms, number: event

func openBoltEvents(path string) (boltEvents, error) {
	db, err := openBolt(path, eventBucket)
	return boltEvents{db}, err
}

func (b boltEvents) put(one *event) error {
	value, err := json.Marshal(one)
	if err != nil {
		return err
	}
	return b.db.Batch(func(tx *bolt.Tx) error {
		events := tx.Bucket(eventBucket)
		sequence, err := events.NextSequence()
		if err != nil {
			return err
		}
		return events.Put(append(number(uint64(one.AcceptedMS)), number(sequence)...), value)
	})
}

func (b boltEvents) sums(since, unit int64, visitors bool) (rows []rollup, offset uint64, err error) {
	err = b.db.View(func(tx *bolt.Tx) (err error) {
		offset = tx.Bucket(eventBucket).Sequence()
		rows, err = rollUp(tx, since, unit, visitors)
		return err
	})
	return rows, offset, err
}

// rollUp reads the events in the order of time.
func rollUp(tx *bolt.Tx, since, unit int64, countVisitors bool) ([]rollup, error) {
	rows := []rollup{}
	visitors := map[string]bool{}
	last := int64(-1)
	cursor := tx.Bucket(eventBucket).Cursor()
	for key, value := cursor.Seek(binary.BigEndian.AppendUint64(nil, uint64(since))); key != nil; key, value = cursor.Next() {
		var one event
		if err := json.Unmarshal(value, &one); err != nil {
			return nil, err
		}
		if at := one.AcceptedMS / unit * unit; at != last {
			last = at
			clear(visitors)
			rows = append(rows, rollup{At: time.UnixMilli(at).UTC().Format(time.RFC3339)})
		}
		row := &rows[len(rows)-1]
		row.Events++
		if one.Bot != nil {
			row.Bots++
		}
		if visitors[one.Visitor] = true; countVisitors {
			count := len(visitors)
			row.Visitors = &count
		}
	}
	return rows, nil
}
