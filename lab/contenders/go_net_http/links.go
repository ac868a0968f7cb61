package main

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"time"
)

// links keeps specs/links.md as far as the lab measures it, in bbolt or Redis.
type links struct{ store linkStore }

// A linkStore answers problems of the contract: link_not_found, and why a link does not redirect.
type linkStore interface {
	get(code string) (*link, error)
	// insert returns which of the links are new; of the others the code is taken.
	insert(all []*link) ([]bool, error)
	change(code string, work func(*link) error) (*link, error)
	remove(code string) error
	// visit counts and returns what the redirect needs.
	visit(code string) (*link, error)
}

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

const (
	timeLayout = "2006-01-02T15:04:05.000Z"
	characters = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
	codeLength = 6
)

var (
	scheme    = regexp.MustCompile(`(?i)^[a-z][a-z0-9+.-]*:`)
	httpOnly  = regexp.MustCompile(`(?i)^https?:`)
	target    = regexp.MustCompile(`(?i)^https?://[\w.-]+(:\d{1,5})?([/?#][!-~]*)?$`)
	statuses  = []int{301, 302, 307, 308}
	permanent = []int{301, 308}
)

func openLinks(path, url string) (*links, error) {
	if url != "" {
		store, err := openRedisLinks(url)
		return &links{store}, err
	}
	store, err := openBoltLinks(path)
	return &links{store}, err
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

// complete makes a new link of what came from outside.
func (one *link) complete(past bool) error {
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
	return nil
}

func (one *link) answer(w http.ResponseWriter, r *http.Request, status int) {
	one.ShortURL = base(r) + "/" + one.Code
	answer(w, status, "application/json", one)
}

func (l *links) create(w http.ResponseWriter, r *http.Request) {
	var one link
	err := readJSON(r, &one)
	if err == nil {
		err = one.complete(false)
	}
	if err == nil {
		var isNew []bool
		if isNew, err = l.store.insert([]*link{&one}); err == nil && !isNew[0] {
			err = problem{409, "code_taken"}
		}
	}
	if err != nil {
		refuse(w, err)
		return
	}
	w.Header().Set("Location", base(r)+"/links/"+one.Code)
	one.answer(w, r, http.StatusCreated)
}

func (l *links) show(w http.ResponseWriter, r *http.Request) {
	found, err := l.store.get(r.PathValue("code"))
	if err != nil {
		refuse(w, err)
		return
	}
	found.answer(w, r, http.StatusOK)
}

func (l *links) change(w http.ResponseWriter, r *http.Request) {
	changed, err := l.store.change(r.PathValue("code"), func(one *link) error {
		code := one.Code
		if err := readJSON(r, one); err != nil {
			return err
		}
		one.Code, one.UpdatedAt = code, now()
		return one.check(false)
	})
	if err != nil {
		refuse(w, err)
		return
	}
	changed.answer(w, r, http.StatusOK)
}

func (l *links) remove(w http.ResponseWriter, r *http.Request) {
	if err := l.store.remove(r.PathValue("code")); err != nil {
		refuse(w, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// visit counts; HEAD looks only.
func (l *links) visit(w http.ResponseWriter, r *http.Request) {
	var found *link
	var err error
	if r.Method == http.MethodHead {
		if found, err = l.store.get(r.PathValue("code")); err == nil {
			err = found.refuse()
		}
	} else {
		found, err = l.store.visit(r.PathValue("code"))
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

// An importLine is a link, or what is wrong with it.
type importLine struct {
	number int
	one    link
	why    error
}

func readImport(body io.Reader) ([]*importLine, error) {
	var lines []*importLine
	scanner := bufio.NewScanner(body)
	for number := 1; scanner.Scan(); number++ {
		if len(bytes.TrimSpace(scanner.Bytes())) == 0 {
			continue
		}
		line := &importLine{number: number}
		if json.Unmarshal(scanner.Bytes(), &line.one) != nil {
			line.why = problem{422, "invalid_line"}
		} else {
			line.why = line.one.complete(true)
		}
		lines = append(lines, line)
	}
	return lines, scanner.Err()
}

func (l *links) importAll(w http.ResponseWriter, r *http.Request) {
	lines, err := readImport(http.MaxBytesReader(w, r.Body, bodyBytesMax))
	var good []*importLine
	var all []*link
	for _, line := range lines {
		if line.why == nil {
			good, all = append(good, line), append(all, &line.one)
		}
	}
	var isNew []bool
	if err == nil {
		isNew, err = l.store.insert(all)
	}
	if err != nil {
		refuse(w, err)
		return
	}
	for index, line := range good {
		if !isNew[index] {
			line.why = problem{409, "code_taken"}
		}
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	encoder := json.NewEncoder(w)
	created := 0
	for _, line := range lines {
		var why problem
		if errors.As(line.why, &why) {
			_ = encoder.Encode(map[string]any{"line": line.number, "status": why.status, "error": map[string]string{"code": why.code, "detail": why.Error()}})
			continue
		}
		created++
		_ = encoder.Encode(map[string]any{"line": line.number, "status": 201, "code": line.one.Code, "short_url": fmt.Sprintf("%s/%s", base(r), line.one.Code)})
	}
	_ = encoder.Encode(map[string]any{"summary": map[string]int{"lines": len(lines), "created": created, "found": 0, "failed": len(lines) - created}})
}
