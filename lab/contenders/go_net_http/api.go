package main

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"

	bolt "go.etcd.io/bbolt"
)

// What the APIs have in common: a store, JSON in and out. Refusals are those of links.go.

// openBolt opens a file whose commits outlive the process: they are written, and not synced.
func openBolt(path string, buckets ...[]byte) (*bolt.DB, error) {
	db, err := bolt.Open(path, 0o600, &bolt.Options{NoSync: true, NoFreelistSync: true, FreelistType: bolt.FreelistMapType})
	if err != nil {
		return nil, err
	}
	return db, db.Update(func(tx *bolt.Tx) error {
		for _, name := range buckets {
			if _, err := tx.CreateBucketIfNotExists(name); err != nil {
				return err
			}
		}
		return nil
	})
}

func answerJSON(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

func readJSON(r *http.Request, into any) error {
	body, err := io.ReadAll(io.LimitReader(r.Body, bodyBytesMax))
	if err != nil {
		return err
	}
	var wrongType *json.UnmarshalTypeError
	if err := json.Unmarshal(body, into); errors.As(err, &wrongType) {
		return problem{400, "validation_failed"}
	} else if err != nil {
		return problem{400, "invalid_body"}
	}
	return nil
}
