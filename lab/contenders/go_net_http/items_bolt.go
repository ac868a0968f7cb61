package main

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"strings"

	bolt "go.etcd.io/bbolt"
)

// boltItems keeps items in bbolt. What was acknowledged outlives the process: it is written, and not synced.
type boltItems struct{ db *bolt.DB }

var (
	itemBucket     = []byte("items")     // uuid: document
	placeBucket    = []byte("places")    // scope, 0, position: uuid
	positionBucket = []byte("positions") // uuid, scope: position
	totalBucket    = []byte("totals")    // 0, scope: how many
)

func openBoltItems(path string) (boltItems, error) {
	db, err := openBolt(path, itemBucket, placeBucket, positionBucket, totalBucket)
	return boltItems{db}, err
}

func place(scope string, position uint64) []byte {
	return append([]byte(scope+"\x00"), number(position)...)
}

func total(tx *bolt.Tx, scope string) uint64 {
	if value := tx.Bucket(totalBucket).Get([]byte("\x00" + scope)); value != nil {
		return binary.BigEndian.Uint64(value)
	}
	return 0
}

func setTotal(tx *bolt.Tx, scope string, value uint64) error {
	return tx.Bucket(totalBucket).Put([]byte("\x00"+scope), number(value))
}

// setPlace puts an item at a position of a scope.
func setPlace(tx *bolt.Tx, scope string, position uint64, uuid string) error {
	if err := tx.Bucket(placeBucket).Put(place(scope, position), []byte(uuid)); err != nil {
		return err
	}
	return tx.Bucket(positionBucket).Put([]byte(uuid+scope), number(position))
}

func (b boltItems) draw(scope string, wanted uint64) (documents [][]byte, err error) {
	err = b.db.View(func(tx *bolt.Tx) error {
		count := total(tx, scope)
		if count == 0 {
			return problem{404, "no_items"}
		}
		var drawn []uint64
		for uint64(len(drawn)) < min(wanted, count) {
			position := rand.Uint64N(count)
			if slices.Contains(drawn, position) {
				continue
			}
			drawn = append(drawn, position)
			uuid := tx.Bucket(placeBucket).Get(place(scope, position))
			documents = append(documents, bytes.Clone(tx.Bucket(itemBucket).Get(uuid)))
		}
		return nil
	})
	return documents, err
}

// insert stores an item at the end of all its scopes.
func (b boltItems) insert(one *itemDocument) (document []byte, err error) {
	err = b.db.Update(func(tx *bolt.Tx) (err error) {
		if one.ID, err = tx.Bucket(itemBucket).NextSequence(); err != nil {
			return err
		}
		if document, err = one.text(); err != nil {
			return err
		}
		return putItem(tx, one, document)
	})
	return document, err
}

func putItem(tx *bolt.Tx, one *itemDocument, document []byte) error {
	for _, scope := range one.scopes() {
		position := total(tx, scope)
		if err := setPlace(tx, scope, position, one.UUID); err != nil {
			return err
		}
		if err := setTotal(tx, scope, position+1); err != nil {
			return err
		}
	}
	return tx.Bucket(itemBucket).Put([]byte(one.UUID), document)
}

func (b boltItems) get(uuid string) (document []byte, err error) {
	err = b.db.View(func(tx *bolt.Tx) error {
		if document = bytes.Clone(tx.Bucket(itemBucket).Get([]byte(uuid))); document == nil {
			return problem{404, "item_not_found"}
		}
		return nil
	})
	return document, err
}

func (b boltItems) remove(uuid string) error {
	return b.db.Update(func(tx *bolt.Tx) error {
		if len(uuid) != 36 || tx.Bucket(itemBucket).Get([]byte(uuid)) == nil {
			return problem{404, "item_not_found"}
		}
		holes := map[string]uint64{}
		cursor := tx.Bucket(positionBucket).Cursor()
		for key, value := cursor.Seek([]byte(uuid)); key != nil && strings.HasPrefix(string(key), uuid); key, value = cursor.Next() {
			holes[string(key[len(uuid):])] = binary.BigEndian.Uint64(value)
		}
		for scope, hole := range holes {
			if err := closeHole(tx, scope, hole, uuid); err != nil {
				return err
			}
		}
		return tx.Bucket(itemBucket).Delete([]byte(uuid))
	})
}

// closeHole moves a scope's last item to where uuid was.
func closeHole(tx *bolt.Tx, scope string, hole uint64, uuid string) error {
	last := total(tx, scope) - 1
	mover := string(tx.Bucket(placeBucket).Get(place(scope, last)))
	if err := setPlace(tx, scope, hole, mover); err != nil {
		return err
	}
	if err := tx.Bucket(placeBucket).Delete(place(scope, last)); err != nil {
		return err
	}
	if err := tx.Bucket(positionBucket).Delete([]byte(uuid + scope)); err != nil {
		return err
	}
	return setTotal(tx, scope, last)
}
