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
)

// stats keeps specs/stats.md as far as the lab measures it, in bbolt or in a database server: a record for each event, answered when it is where sums
// are read from.
type stats struct {
	store  eventStore
	secret string
}

type eventStore interface {
	put(one *event) error
	// sums adds up the events from since on, by units of milliseconds, and says how many events there are in all.
	sums(since, unit int64, visitors bool) ([]rollup, uint64, error)
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
	rollupBuckets = 60
	dayMS         = 86_400_000
)

var (
	rollupUnits    = map[string]int64{"minute": 60_000, "hour": 3_600_000, "day": dayMS}
	bots           = regexp.MustCompile(`(?i)bot|crawl|spider`)
	lastPart       = regexp.MustCompile(`\.\d+$`)
	privateHeaders = []string{"Cookie", "Authorization", "X-Forwarded-For"}
)

func openStats(path, url string) (*stats, error) {
	var store eventStore
	var err error
	switch {
	case url == "":
		store, err = openBoltEvents(path)
	case strings.HasPrefix(url, "mongodb:"):
		store, err = openMongoEvents(url)
	default:
		store, err = openSQLEvents(url)
	}
	return &stats{store, rand.Text()}, err
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
	one := event{at, r.URL.Path, params, headers, lastPart.ReplaceAllString(address, ".0"), s.visitor(address, r.UserAgent(), at), botOf(r.UserAgent())}
	finish(w, http.StatusOK, map[string]string{"durability": "delivered"}, s.store.put(&one))
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
	rows, offset, err := s.store.sums(since-since%unit, unit, per == "day")
	finish(w, http.StatusOK, map[string]any{"per": per, "by": "total", "as_of": map[string]uint64{"offset": offset, "queued": 0}, "rows": rows, "next_cursor": nil}, err)
}
