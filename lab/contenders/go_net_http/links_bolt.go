package main

import (
	"encoding/json"

	bolt "go.etcd.io/bbolt"
)

// boltLinks keeps links in bbolt. What a commit acknowledged outlives the process: the file is written, and not synced.
type boltLinks struct{ db *bolt.DB }

var linkBucket = []byte("links")

func openBoltLinks(path string) (boltLinks, error) {
	db, err := openBolt(path, linkBucket)
	return boltLinks{db}, err
}

func getLink(tx *bolt.Tx, code string) (*link, error) {
	text := tx.Bucket(linkBucket).Get([]byte(code))
	if text == nil {
		return nil, problem{404, "link_not_found"}
	}
	var found link
	return &found, json.Unmarshal(text, &found)
}

func putLink(tx *bolt.Tx, one *link) error {
	text, err := json.Marshal(one)
	if err != nil {
		return err
	}
	return tx.Bucket(linkBucket).Put([]byte(one.Code), text)
}

func (b boltLinks) get(code string) (found *link, err error) {
	err = b.db.View(func(tx *bolt.Tx) (err error) {
		found, err = getLink(tx, code)
		return err
	})
	return found, err
}

func (b boltLinks) insert(all []*link) ([]bool, error) {
	isNew := make([]bool, len(all))
	return isNew, b.db.Update(func(tx *bolt.Tx) error {
		for index, one := range all {
			if tx.Bucket(linkBucket).Get([]byte(one.Code)) != nil {
				continue
			}
			isNew[index] = true
			if err := putLink(tx, one); err != nil {
				return err
			}
		}
		return nil
	})
}

func (b boltLinks) change(code string, work func(*link) error) (changed *link, err error) {
	err = b.db.Update(func(tx *bolt.Tx) (err error) {
		if changed, err = getLink(tx, code); err != nil {
			return err
		}
		if err = work(changed); err != nil {
			return err
		}
		return putLink(tx, changed)
	})
	return changed, err
}

func (b boltLinks) remove(code string) error {
	return b.db.Update(func(tx *bolt.Tx) error {
		if _, err := getLink(tx, code); err != nil {
			return err
		}
		return tx.Bucket(linkBucket).Delete([]byte(code))
	})
}

// visit counts in the transaction that looks up.
func (b boltLinks) visit(code string) (*link, error) {
	return b.change(code, func(one *link) error {
		if err := one.refuse(); err != nil {
			return err
		}
		one.Visits++
		return nil
	})
}
