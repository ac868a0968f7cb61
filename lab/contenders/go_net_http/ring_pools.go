package main

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	bolt "go.etcd.io/bbolt"
)

// ringPools keeps specs/ring_pools.md in bbolt, as far as the lab measures it: bulk requests, several of which share a commit. The free numbers of a
// pool stand in the order in which they became free. What was acknowledged outlives the process: it is written, and not synced.
type ringPools struct{ db *bolt.DB }

type pool struct {
	ID                uint64   `json:"id"`
	Name              string   `json:"name"`
	Numbers           []string `json:"numbers,omitempty"`
	LifetimeSeconds   float64  `json:"lifetime_seconds"`
	QuarantineSeconds float64  `json:"quarantine_seconds"`
	Policy            string   `json:"policy"`
	AllowOverflow     bool     `json:"allow_overflow"`
	OverflowNumber    string   `json:"overflow_number,omitempty"`
	TrackingURL       string   `json:"tracking_url"`
	Draining          bool     `json:"draining"`
	APIKey            string   `json:"api_key"`
}

type lease struct {
	HeldUntil  int64  `json:"held_until"`
	Parameters string `json:"parameters"`
}

// A bulkRow is the answer to one row, with what was given or with what was wrong.
type bulkRow struct {
	RequestID   json.RawMessage `json:"request_id,omitempty"`
	Formatted   string          `json:"promo_number_formatted,omitempty"`
	Number      string          `json:"promo_number,omitempty"`
	TrackingURL *string         `json:"tracking_url,omitempty"`
	Overflow    bool            `json:"overflow,omitempty"`
	ErrorClass  string          `json:"error_class,omitempty"`
	Message     string          `json:"message,omitempty"`
}

const (
	bulkRowsMax = 1000
	poolKey     = "ring_pool_key="
)

var (
	poolBucket  = []byte("pools")  // id: pool
	ownerBucket = []byte("owners") // number: id of its pool
	freeBucket  = []byte("free")   // pool, when it became free, number: nothing
	leaseBucket = []byte("leases") // number, when it began: lease
	suffixForm  = regexp.MustCompile(`(?s)^(\d{1,9})/allocate_number\.json(?:\?(.*))?$`)
	notDigits   = regexp.MustCompile(`\D`)
	telephone   = regexp.MustCompile(`^1?([2-9]\d{2}[2-9]\d{6})$`)
)

func openRingPools(path, _ string) (*ringPools, error) {
	db, err := openBolt(path, poolBucket, ownerBucket, freeBucket, leaseBucket)
	return &ringPools{db}, err
}

func (p *ringPools) routes(mux *http.ServeMux) {
	mux.HandleFunc("POST /pools", p.create)
	mux.HandleFunc("POST /api/2013-07-01/bulk.json", p.bulk)
}

// e164 returns the digits of a number in North America, or 0.
func e164(text string) uint64 {
	found := telephone.FindStringSubmatch(notDigits.ReplaceAllString(text, ""))
	if found == nil {
		return 0
	}
	digits, _ := strconv.ParseUint("1"+found[1], 10, 64)
	return digits
}

func freeKey(pool uint64, at int64, telephone uint64) []byte {
	key := binary.BigEndian.AppendUint64(make([]byte, 0, 24), pool)
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(key, uint64(at)), telephone)
}

func (p *ringPools) create(w http.ResponseWriter, r *http.Request) {
	one := pool{LifetimeSeconds: 1800, Policy: "longest_idle", AllowOverflow: true}
	err := readJSON(r, &one)
	var numbers []uint64
	for index, text := range one.Numbers {
		numbers = append(numbers, e164(text))
		one.Numbers[index] = fmt.Sprintf("+%d", numbers[index])
		if numbers[index] == 0 {
			err = cmp.Or(err, error(problem{422, "invalid_numbers"}))
		}
	}
	overflow := e164(one.OverflowNumber)
	switch {
	case err != nil:
	case len(numbers) < 2:
		err = problem{422, "invalid_numbers"}
	case !one.AllowOverflow:
		one.OverflowNumber = ""
	case overflow == 0:
		err = problem{422, "invalid_overflow_number"}
	default:
		one.OverflowNumber = fmt.Sprintf("+%d", overflow)
	}
	if err == nil {
		err = p.db.Update(func(tx *bolt.Tx) error { return insertPool(tx, &one, numbers) })
	}
	w.Header().Set("Location", base(r)+"/pools/"+strconv.FormatUint(one.ID, 10))
	finish(w, http.StatusCreated, one, err)
}

func insertPool(tx *bolt.Tx, one *pool, numbers []uint64) (err error) {
	key := make([]byte, 24)
	if _, err = rand.Read(key); err != nil {
		return err
	}
	one.APIKey = base64.RawURLEncoding.EncodeToString(key)
	if one.ID, err = tx.Bucket(poolBucket).NextSequence(); err != nil {
		return err
	}
	owners, free := tx.Bucket(ownerBucket), tx.Bucket(freeBucket)
	for _, telephone := range numbers {
		if owners.Get(number(telephone)) != nil {
			return problem{409, "number_taken"}
		}
		if err := owners.Put(number(telephone), number(one.ID)); err != nil {
			return err
		}
		if err := free.Put(freeKey(one.ID, 0, telephone), []byte{}); err != nil {
			return err
		}
	}
	kept := *one
	kept.Numbers = nil
	value, err := json.Marshal(kept)
	if err != nil {
		return err
	}
	return tx.Bucket(poolBucket).Put(number(one.ID), value)
}

// bulkRows returns the rows of a bulk request, or nil.
func bulkRows(r *http.Request) []json.RawMessage {
	var body struct{ Requests, Request []json.RawMessage }
	text, err := io.ReadAll(io.LimitReader(r.Body, bodyBytesMax))
	if err != nil || json.Unmarshal(text, &body) != nil {
		return nil
	}
	rows := body.Requests
	if rows == nil {
		rows = body.Request
	}
	if len(rows) > bulkRowsMax {
		return nil
	}
	return rows
}

func (p *ringPools) bulk(w http.ResponseWriter, r *http.Request) {
	startedAt := time.Now()
	rows := bulkRows(r)
	if len(rows) == 0 {
		refusal := map[string]string{"class": "RecordInvalid", "invalid_data": "The body is an object with a list of 1 to 1000 requests"}
		answer(w, http.StatusForbidden, "application/json", map[string]any{"errors": refusal})
		return
	}
	headerKey := cmp.Or(r.Header.Get("X-Ring-Pool-Key"), r.Header.Get("X-Api-Key"), strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
	var answers []bulkRow
	overflows := 0
	err := p.db.Batch(func(tx *bolt.Tx) error {
		answers, overflows = make([]bulkRow, len(rows)), 0
		pools := map[uint64]*pool{}
		now := time.Now().UnixMicro()
		for index, row := range rows {
			if err := answers[index].fill(tx, row, headerKey, pools, now); err != nil {
				return err
			}
			if answers[index].Overflow {
				overflows++
			}
		}
		return nil
	})
	if overflows > 0 {
		w.Header().Set("Overflow-Reasons", fmt.Sprintf("exhausted=%d", overflows))
	}
	w.Header().Set("Processing-Time", strconv.FormatFloat(float64(time.Since(startedAt).Microseconds())/1000, 'f', 3, 64))
	text := bytes.Buffer{}
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err == nil {
		err = encoder.Encode(map[string]any{"responses": answers})
	}
	if err != nil {
		refuse(w, err)
		return
	}
	answerJSON(w, http.StatusOK, bytes.TrimSuffix(text.Bytes(), []byte("\n")))
}

// fill gives the number that one row asks for, or says what is wrong with the row.
func (b *bulkRow) fill(tx *bolt.Tx, row json.RawMessage, headerKey string, pools map[uint64]*pool, now int64) error {
	var asked struct {
		Suffix    string          `json:"api_suffix"`
		RequestID json.RawMessage `json:"request_id"`
	}
	_ = json.Unmarshal(row, &asked)
	b.RequestID = asked.RequestID
	found := suffixForm.FindStringSubmatch(asked.Suffix)
	if found == nil {
		b.fail("InvalidRequest", "A request has an api_suffix: POOL/allocate_number.json?ring_pool_key=KEY&NAME=VALUE")
		return nil
	}
	one, err := poolOf(tx, found[1], pools)
	if err != nil {
		return err
	}
	key, parameters := splitQuery(found[2], headerKey)
	switch {
	case one == nil:
		b.fail("RecordNotFound", "Could not find RingPool '"+found[1]+"'")
	case subtle.ConstantTimeCompare([]byte(key), []byte(one.APIKey)) == 0:
		b.fail("InvalidKey", "API Key '"+key+"' is not valid for resource '"+found[1]+"'")
	case parameters == "":
		b.fail("MissingParameter", "At least one RingPool parameter must be present, even if its value is empty")
	default:
		return b.give(tx, one, parameters, now)
	}
	return nil
}

func (b *bulkRow) fail(class, message string) { b.ErrorClass, b.Message = class, message }

// poolOf reads each pool of a request once.
func poolOf(tx *bolt.Tx, id string, pools map[uint64]*pool) (*pool, error) {
	key, err := strconv.ParseUint(id, 10, 64)
	if err != nil {
		return nil, nil
	}
	if one, known := pools[key]; known {
		return one, nil
	}
	value := tx.Bucket(poolBucket).Get(number(key))
	if value == nil {
		return nil, nil
	}
	pools[key] = &pool{}
	return pools[key], json.Unmarshal(value, pools[key])
}

// splitQuery returns the key and the other parameters as they came.
func splitQuery(query, headerKey string) (key, parameters string) {
	key = headerKey
	var others []string
	for _, parameter := range strings.Split(query, "&") {
		if offered, isKey := strings.CutPrefix(parameter, poolKey); isKey {
			key = offered
		} else {
			others = append(others, parameter)
		}
	}
	return key, strings.Join(others, "&")
}

// give takes the number of a pool that nobody has had for the longest time, or its overflow number.
func (b *bulkRow) give(tx *bolt.Tx, one *pool, parameters string, now int64) error {
	free := tx.Bucket(freeBucket)
	shown := ""
	key, _ := free.Cursor().Seek(number(one.ID))
	if key != nil && bytes.HasPrefix(key, number(one.ID)) && int64(binary.BigEndian.Uint64(key[8:16])) <= now {
		telephone := binary.BigEndian.Uint64(key[16:])
		shown = strconv.FormatUint(telephone, 10)[1:]
		held := lease{now + int64(one.LifetimeSeconds*1e6), parameters}
		if err := free.Delete(key); err != nil {
			return err
		}
		if err := free.Put(freeKey(one.ID, held.HeldUntil+int64(one.QuarantineSeconds*1e6), telephone), []byte{}); err != nil {
			return err
		}
		value, err := json.Marshal(held)
		if err != nil {
			return err
		}
		if err := tx.Bucket(leaseBucket).Put(binary.BigEndian.AppendUint64(number(telephone), uint64(now)), value); err != nil {
			return err
		}
	} else if one.OverflowNumber == "" {
		b.fail("NoNumberAvailable", fmt.Sprintf("No number of RingPool '%d' is free (exhausted)", one.ID))
		return nil
	} else {
		shown, b.Overflow = strings.TrimPrefix(one.OverflowNumber, "+1"), true
	}
	b.Number, b.Formatted = shown, shown[:3]+"-"+shown[3:6]+"-"+shown[6:]
	url := one.TrackingURL
	if url != "" {
		joint := "?"
		if strings.Contains(url, "?") {
			joint = "&"
		}
		url += joint + "sid=" + shown + "&PPCPN=" + shown
	}
	b.TrackingURL = &url
	return nil
}
