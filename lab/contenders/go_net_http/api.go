package main

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	bolt "go.etcd.io/bbolt"
)

// What the APIs have in common: a store, JSON in and out, refusals.

const (
	bodyBytesMax = 10 << 20
	// For how long a write waits for others that share its commit, where they may.
	batchDelay = time.Millisecond
)

// A problem is a request that a contract refuses.
type problem struct {
	status int
	code   string
}

func (p problem) Error() string { return strings.ReplaceAll(p.code, "_", " ") }

// number is a key that sorts as the number does.
func number(value uint64) []byte { return binary.BigEndian.AppendUint64(nil, value) }

// openBolt opens a file whose commits outlive the process: they are written, and not synced.
func openBolt(path string, buckets ...[]byte) (*bolt.DB, error) {
	db, err := bolt.Open(path, 0o600, &bolt.Options{NoSync: true, NoFreelistSync: true, FreelistType: bolt.FreelistMapType})
	if err != nil {
		return nil, err
	}
	db.MaxBatchDelay = batchDelay
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

func base(r *http.Request) string { return "http://" + r.Host }

func answer(w http.ResponseWriter, status int, kind string, value any) {
	body, err := json.Marshal(value)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", kind)
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

func refuse(w http.ResponseWriter, err error) {
	var why problem
	if !errors.As(err, &why) {
		why = problem{http.StatusInternalServerError, "internal_error"}
	}
	w.Header().Set("Cache-Control", "no-store")
	answer(w, why.status, "application/problem+json", map[string]any{"type": "about:blank", "title": why.Error(), "status": why.status, "detail": err.Error(), "code": why.code, "request_id": rand.Text()})
}
