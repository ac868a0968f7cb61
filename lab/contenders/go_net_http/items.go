package main

import (
	"bytes"
	"crypto/rand"
	"crypto/sha1"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	mathrand "math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"

	bolt "go.etcd.io/bbolt"
)

// items keeps specs/items.md in bbolt, as far as the lab measures it. Each item has one position among all and among those of each of its tags,
// without holes, so that a draw is one number and two look-ups by key. What was acknowledged outlives the process: it is written, and not synced.
type items struct{ db *bolt.DB }

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

var (
	itemBucket     = []byte("items")     // uuid: document
	placeBucket    = []byte("places")    // scope, 0, position: uuid
	positionBucket = []byte("positions") // uuid, scope: position
	totalBucket    = []byte("totals")    // 0, scope: how many
)

func openItems(path string) (*items, error) {
	db, err := openBolt(path, itemBucket, placeBucket, positionBucket, totalBucket)
	return &items{db}, err
}

func (i *items) routes(mux *http.ServeMux) {
	mux.HandleFunc("GET /items/random", i.random)
	mux.HandleFunc("POST /items", i.create)
	mux.HandleFunc("GET /items/{uuid}", i.show)
	mux.HandleFunc("DELETE /items/{uuid}", i.remove)
}

func number(value uint64) []byte { return binary.BigEndian.AppendUint64(nil, value) }

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
	var documents [][]byte
	err := i.db.View(func(tx *bolt.Tx) error {
		count := total(tx, scope)
		if count == 0 {
			return problem{404, "no_items"}
		}
		var drawn []uint64
		for uint64(len(drawn)) < min(wanted, count) {
			position := mathrand.Uint64N(count)
			if slices.Contains(drawn, position) {
				continue
			}
			drawn = append(drawn, position)
			uuid := tx.Bucket(placeBucket).Get(place(scope, position))
			documents = append(documents, bytes.Clone(tx.Bucket(itemBucket).Get(uuid)))
		}
		return nil
	})
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
	if err != nil {
		refuse(w, err)
		return
	}
	var document []byte
	err = i.db.Update(func(tx *bolt.Tx) (err error) {
		document, err = insertItem(tx, &one)
		return err
	})
	if err != nil {
		refuse(w, err)
		return
	}
	w.Header().Set("Location", base(r)+"/items/"+one.UUID)
	answerJSON(w, http.StatusCreated, document)
}

// insertItem completes one, stores it at the end of all its scopes and returns its document.
func insertItem(tx *bolt.Tx, one *itemDocument) ([]byte, error) {
	var err error
	if one.ID, err = tx.Bucket(itemBucket).NextSequence(); err != nil {
		return nil, err
	}
	if one.UUID, err = newUUID(); err != nil {
		return nil, err
	}
	one.CreatedAt = now()
	sum := sha1.Sum([]byte(one.Name + "-" + one.UUID + "-" + one.CreatedAt))
	one.HashCode = hex.EncodeToString(sum[:])
	var tags []string
	for _, tag := range one.Tags {
		if !slices.Contains(tags, tag) {
			tags = append(tags, tag)
		}
	}
	one.Tags = append([]string{}, tags...)
	for _, scope := range append(tags, all) {
		position := total(tx, scope)
		if err := setPlace(tx, scope, position, one.UUID); err != nil {
			return nil, err
		}
		if err := setTotal(tx, scope, position+1); err != nil {
			return nil, err
		}
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(one); err != nil {
		return nil, err
	}
	document := bytes.TrimSuffix(text.Bytes(), []byte("\n"))
	return document, tx.Bucket(itemBucket).Put([]byte(one.UUID), document)
}

func (i *items) show(w http.ResponseWriter, r *http.Request) {
	var document []byte
	_ = i.db.View(func(tx *bolt.Tx) error {
		document = bytes.Clone(tx.Bucket(itemBucket).Get([]byte(r.PathValue("uuid"))))
		return nil
	})
	if document == nil {
		refuse(w, problem{404, "item_not_found"})
		return
	}
	answerJSON(w, http.StatusOK, document)
}

func (i *items) remove(w http.ResponseWriter, r *http.Request) {
	uuid := r.PathValue("uuid")
	err := i.db.Update(func(tx *bolt.Tx) error {
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
	if err != nil {
		refuse(w, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
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
