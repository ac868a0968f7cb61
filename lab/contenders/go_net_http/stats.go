package main

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	bolt "go.etcd.io/bbolt"
)

// stats keeps specs/stats.md in bbolt, as far as the lab measures it: a record for each event, answered when it is where sums are read from. What was
// acknowledged outlives the process: it is written, many at a time, and not synced.
type stats struct {
	db     *bolt.DB
	secret string
}

type event struct {
	AcceptedMS int64             `json:"accepted_ms"`
	Path       string            `json:"path"`
	Params     any               `json:"params"`
	Headers    map[string]string `json:"headers"`
	IP         string            `json:"ip"`
	Visitor    string            `json:"visitor"`
	Bot        *string           `json:"bot"`
}

type rollup struct {
	At       string `json:"at"`
	Events   int    `json:"events"`
	Bots     int    `json:"bots"`
	Visitors *int   `json:"visitors,omitempty"`
}

const (
	rollupBuckets   = 60
	eventBatchDelay = time.Millisecond
	dayMS           = 86_400_000
)

var (
	eventBucket    = []byte("events") // accepted_ms, number: event
	rollupUnits    = map[string]int64{"minute": 60_000, "hour": 3_600_000, "day": dayMS}
	bots           = regexp.MustCompile(`(?i)bot|crawl|spider`)
	lastPart       = regexp.MustCompile(`\.\d+$`)
	privateHeaders = []string{"Cookie", "Authorization", "X-Forwarded-For"}
)

func openStats(path string) (*stats, error) {
	db, err := openBolt(path, eventBucket)
	if err == nil {
		db.MaxBatchDelay = eventBatchDelay
	}
	return &stats{db, rand.Text()}, err
}

func (s *stats) routes(mux *http.ServeMux) {
	mux.HandleFunc("GET /stats", s.record)
	mux.HandleFunc("POST /stats", s.record)
	mux.HandleFunc("GET /stats/rollups", s.rollups)
}

// flat keeps the first value of each parameter.
func flat(values url.Values) map[string]string {
	params := make(map[string]string, len(values))
	for name, all := range values {
		params[name] = all[0]
	}
	return params
}

func eventParams(r *http.Request) (any, error) {
	if r.Method == http.MethodGet {
		return flat(r.URL.Query()), nil
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, bodyBytesMax))
	if err != nil {
		return nil, err
	}
	switch kind := r.Header.Get("Content-Type"); {
	case strings.HasPrefix(kind, "application/x-www-form-urlencoded"):
		values, err := url.ParseQuery(string(body))
		if err != nil {
			return nil, problem{400, "invalid_parameters"}
		}
		return flat(values), nil
	case strings.HasPrefix(kind, "application/json"), bytes.HasPrefix(body, []byte("{")):
		if !json.Valid(body) {
			return nil, problem{400, "malformed_json"}
		}
		if !bytes.HasPrefix(bytes.TrimSpace(body), []byte("{")) {
			return nil, problem{422, "not_an_object"}
		}
		return json.RawMessage(body), nil
	}
	return map[string]string{"text": string(body)}, nil
}

func (s *stats) visitor(address, agent string, at int64) string {
	sum := sha256.Sum256(binary.BigEndian.AppendUint64([]byte(s.secret+address+agent), uint64(at/dayMS)))
	return hex.EncodeToString(sum[:16])
}

func botOf(agent string) *string {
	why := ""
	switch {
	case agent == "":
		why = "no_agent"
	case bots.MatchString(agent):
		why = "agent"
	default:
		return nil
	}
	return &why
}

func (s *stats) record(w http.ResponseWriter, r *http.Request) {
	params, err := eventParams(r)
	if err != nil {
		refuse(w, err)
		return
	}
	headers := make(map[string]string, len(r.Header))
	for name := range r.Header {
		headers[strings.ToLower(name)] = r.Header.Get(name)
	}
	for _, name := range privateHeaders {
		delete(headers, strings.ToLower(name))
	}
	address, _, _ := net.SplitHostPort(r.RemoteAddr)
	at := time.Now().UnixMilli()
	value, err := json.Marshal(event{at, r.URL.Path, params, headers, lastPart.ReplaceAllString(address, ".0"), s.visitor(address, r.UserAgent(), at), botOf(r.UserAgent())})
	if err == nil {
		err = s.db.Batch(func(tx *bolt.Tx) error {
			events := tx.Bucket(eventBucket)
			number, err := events.NextSequence()
			if err != nil {
				return err
			}
			return events.Put(binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, uint64(at)), number), value)
		})
	}
	finish(w, http.StatusOK, map[string]string{"durability": "delivered"}, err)
}

func (s *stats) rollups(w http.ResponseWriter, r *http.Request) {
	per := r.URL.Query().Get("per")
	if per == "" {
		per = "minute"
	}
	unit, known := rollupUnits[per]
	if !known {
		refuse(w, problem{400, "validation_failed"})
		return
	}
	since := time.Now().UnixMilli() - (rollupBuckets-1)*unit
	if from := r.URL.Query().Get("from"); from != "" {
		parsed, err := time.Parse(time.RFC3339, from)
		if err != nil {
			refuse(w, problem{400, "invalid_time"})
			return
		}
		since = parsed.UnixMilli()
	}
	var offset uint64
	rows := []rollup{}
	err := s.db.View(func(tx *bolt.Tx) (err error) {
		offset = tx.Bucket(eventBucket).Sequence()
		rows, err = rollUp(tx, since-since%unit, unit, per == "day")
		return err
	})
	finish(w, http.StatusOK, map[string]any{"per": per, "by": "total", "as_of": map[string]uint64{"offset": offset, "queued": 0}, "rows": rows, "next_cursor": nil}, err)
}

// rollUp adds up the events from since on, which come in the order of time.
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
