package main

import (
	"bufio"
	"encoding/json"
	"os"

	bolt "go.etcd.io/bbolt"
)

// Items of a transaction.
const loadBatch = 10_000

// loadItems fills the store of boltItems with the documents of a file, one in a line, as so many requests would.
func loadItems(path, file string) error {
	source, err := os.Open(file)
	if err != nil {
		return err
	}
	defer source.Close()
	items, err := openBoltItems(path)
	if err != nil {
		return err
	}
	for lines := bufio.NewScanner(source); ; {
		more := false
		err := items.db.Update(func(tx *bolt.Tx) error {
			for range loadBatch {
				if more = lines.Scan(); !more {
					return lines.Err()
				}
				var one itemDocument
				if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
					return err
				}
				if err := putItem(tx, &one, lines.Bytes()); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		if !more {
			return items.db.Close()
		}
	}
}
