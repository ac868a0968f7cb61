package main

import (
	"bytes"
	"crypto/rand"
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// items keeps specs/items.md as far as the lab measures it, in bbolt or in a database server. Each item has one position among all and among those of
// each of its tags, without holes, so that a draw is one number.
type items struct{ store itemStore }

// An itemStore answers problems of the contract: item_not_found, no_items.
type itemStore interface {
	// draw returns documents of different items.
	draw(scope string, wanted uint64) ([][]byte, error)
	insert(one *itemDocument) ([]byte, error)
	get(uuid string) ([]byte, error)
	remove(uuid string) error
}

type itemDocument struct {
	ID          uint64   `json:"id"`
	UUID        string   `json:"uuid"`
	Name        string   `json:"name"`
	HashCode    string   `json:"hash_code"`
	CreatedAt   string   `json:"created_at"`
	Description string   `json:"description"`
	Tags        []string `json:"tags"`
}

// all is the scope of every item; any other scope is a tag.
const all = ""

func openItems(path, url string) (*items, error) {
	var store itemStore
	var err error
	switch {
	case url == "":
		store, err = openBoltItems(path)
	case strings.HasPrefix(url, "mongodb:"):
		store, err = openMongoItems(url)
	default:
		store, err = openSQLItems(url)
	}
	return &items{store}, err
}

func (i *items) routes(mux *http.ServeMux) {
	mux.HandleFunc("GET /items/random", i.random)
	mux.HandleFunc("POST /items", i.create)
	mux.HandleFunc("GET /items/{uuid}", i.show)
	mux.HandleFunc("DELETE /items/{uuid}", i.remove)
}

// complete makes a new item of what came from outside, but for its id.
func (one *itemDocument) complete() error {
	var err error
	if one.UUID, err = newUUID(); err != nil {
		return err
	}
	one.CreatedAt = now()
	sum := sha1.Sum([]byte(one.Name + "-" + one.UUID + "-" + one.CreatedAt))
	one.HashCode = hex.EncodeToString(sum[:])
	tags := []string{}
	for _, tag := range one.Tags {
		if !slices.Contains(tags, tag) {
			tags = append(tags, tag)
		}
	}
	one.Tags = tags
	return nil
}

// scopes returns those in which it has a position.
func (one *itemDocument) scopes() []string { return append([]string{all}, one.Tags...) }

func (one *itemDocument) text() ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(one)
	return bytes.TrimSuffix(text.Bytes(), []byte("\n")), err
}

func newUUID() (string, error) {
	random := make([]byte, 16)
	if _, err := rand.Read(random); err != nil {
		return "", err
	}
	random[6], random[8] = random[6]&0x0f|0x40, random[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", random[:4], random[4:6], random[6:8], random[8:10], random[10:]), nil
}

func (i *items) random(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	scope, several := query.Get("tag"), query.Has("n")
	wanted := uint64(1)
	if n, err := strconv.ParseUint(query.Get("n"), 10, 32); err == nil {
		wanted = n
	}
	documents, err := i.store.draw(scope, wanted)
	if err != nil {
		refuse(w, err)
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	if several {
		answerJSON(w, http.StatusOK, slices.Concat([]byte(`{"items":[`), bytes.Join(documents, []byte(",")), []byte("]}")))
		return
	}
	answerJSON(w, http.StatusOK, documents[0])
}

func (i *items) create(w http.ResponseWriter, r *http.Request) {
	one := itemDocument{Tags: []string{}}
	err := readJSON(r, &one)
	if err == nil && one.Name == "" {
		err = problem{400, "validation_failed"}
	}
	if err == nil {
		err = one.complete()
	}
	if err != nil {
		refuse(w, err)
		return
	}
	document, err := i.store.insert(&one)
	if err != nil {
		refuse(w, err)
		return
	}
	w.Header().Set("Location", base(r)+"/items/"+one.UUID)
	answerJSON(w, http.StatusCreated, document)
}

func (i *items) show(w http.ResponseWriter, r *http.Request) {
	document, err := i.store.get(r.PathValue("uuid"))
	if err != nil {
		refuse(w, err)
		return
	}
	answerJSON(w, http.StatusOK, document)
}

func (i *items) remove(w http.ResponseWriter, r *http.Request) {
	if err := i.store.remove(r.PathValue("uuid")); err != nil {
		refuse(w, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}
