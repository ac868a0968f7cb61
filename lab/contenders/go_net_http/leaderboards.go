package main

import (
	"bufio"
	"encoding/json"
	"math"
	"net/http"
	"strconv"
)

// leaderboards keeps specs/leaderboards.md as far as the lab measures it, in bbolt or in Redis.
type leaderboards struct{ store boardStore }

// A boardStore answers problems of the contract: game_not_found, leaderboard_not_found, member_not_found.
type boardStore interface {
	createGame(name string) (uint64, error)
	createBoard(game uint64, name string) (uint64, error)
	submitAll(board uint64, all []standing) error
	// submit keeps the better score.
	submit(board uint64, member string, score int64) (submission, error)
	standing(board uint64, member string) (standing, error)
	top(board uint64, limit int) (standings, error)
	// around returns those who are up to distance places from a member.
	around(board uint64, member string, distance int) (standings, error)
}

type game struct {
	ID   uint64 `json:"id"`
	Name string `json:"name"`
}

type board struct {
	ID       uint64   `json:"id"`
	GameID   uint64   `json:"game_id"`
	Name     string   `json:"name"`
	Operator string   `json:"operator"`
	Order    []string `json:"order"`
	Decimals []int    `json:"decimals"`
	Ties     string   `json:"ties"`
}

type standing struct {
	Rank   int    `json:"rank"`
	Member string `json:"member"`
	Score  int64  `json:"score"`
}

type submission struct {
	standing
	PreviousRank  *int   `json:"previous_rank"`
	PreviousScore *int64 `json:"previous_score"`
	Changed       bool   `json:"changed"`
}

type standings struct {
	Season  int        `json:"season"`
	Size    uint64     `json:"size"`
	Members []standing `json:"members"`
}

const (
	topLimit       = 10
	aroundDistance = 5
)

func openLeaderboards(path, url string) (*leaderboards, error) {
	if url != "" {
		store, err := openRedisBoards(url)
		return &leaderboards{store}, err
	}
	store, err := openBoltBoards(path)
	return &leaderboards{store}, err
}

func (l *leaderboards) routes(mux *http.ServeMux) {
	mux.HandleFunc("POST /games", l.createGame)
	mux.HandleFunc("POST /games/{game}/leaderboards", l.createBoard)
	mux.HandleFunc("POST /leaderboards/{board}/import", l.importAll)
	mux.HandleFunc("PUT /leaderboards/{board}/members/{member}", l.submit)
	mux.HandleFunc("GET /leaderboards/{board}/top", l.top)
	mux.HandleFunc("GET /leaderboards/{board}/members/{member}", l.show)
	mux.HandleFunc("GET /leaderboards/{board}/members/{member}/around", l.around)
}

// id returns the number at a place of the path, or 0, which none has.
func id(r *http.Request, name string) uint64 {
	number, _ := strconv.ParseUint(r.PathValue(name), 10, 64)
	return number
}

func queryNumber(r *http.Request, name string, otherwise int) int {
	if value, err := strconv.Atoi(r.URL.Query().Get(name)); err == nil {
		return value
	}
	return otherwise
}

// finish answers with what a transaction found, or with why it did not.
func finish(w http.ResponseWriter, status int, value any, err error) {
	if err != nil {
		refuse(w, err)
		return
	}
	answer(w, status, "application/json", value)
}

func (l *leaderboards) createGame(w http.ResponseWriter, r *http.Request) {
	var one game
	err := readJSON(r, &one)
	if err == nil {
		one.ID, err = l.store.createGame(one.Name)
	}
	finish(w, http.StatusCreated, one, err)
}

func (l *leaderboards) createBoard(w http.ResponseWriter, r *http.Request) {
	one := board{GameID: id(r, "game"), Operator: "best", Order: []string{"desc"}, Decimals: []int{0}, Ties: "earliest"}
	fields := map[string]any{}
	err := readJSON(r, &fields)
	name, isText := fields["name"].(string)
	if err == nil && (!isText || len(fields) > 1) {
		err = problem{422, "invalid_settings"}
	}
	if err == nil {
		one.Name = name
		one.ID, err = l.store.createBoard(one.GameID, name)
	}
	w.Header().Set("Location", base(r)+"/leaderboards/"+strconv.FormatUint(one.ID, 10))
	finish(w, http.StatusCreated, one, err)
}

func (l *leaderboards) importAll(w http.ResponseWriter, r *http.Request) {
	var all []standing
	var err error
	lines := bufio.NewScanner(http.MaxBytesReader(w, r.Body, bodyBytesMax))
	for err == nil && lines.Scan() {
		var line standing
		if json.Unmarshal(lines.Bytes(), &line) != nil {
			err = problem{400, "invalid_body"}
		}
		all = append(all, line)
	}
	if err == nil {
		err = lines.Err()
	}
	if err == nil {
		err = l.store.submitAll(id(r, "board"), all)
	}
	finish(w, http.StatusOK, map[string]any{"lines": len(all), "imported": len(all), "failed": 0, "failures": []any{}}, err)
}

func (l *leaderboards) submit(w http.ResponseWriter, r *http.Request) {
	given := struct{ Score *float64 }{}
	err := readJSON(r, &given)
	if err == nil && (given.Score == nil || math.Trunc(*given.Score) != *given.Score || math.Abs(*given.Score) > 1<<53) {
		err = problem{422, "invalid_score"}
	}
	if err != nil {
		refuse(w, err)
		return
	}
	done, err := l.store.submit(id(r, "board"), r.PathValue("member"), int64(*given.Score))
	finish(w, http.StatusOK, done, err)
}

func (l *leaderboards) top(w http.ResponseWriter, r *http.Request) {
	found, err := l.store.top(id(r, "board"), queryNumber(r, "limit", topLimit))
	finish(w, http.StatusOK, found, err)
}

func (l *leaderboards) show(w http.ResponseWriter, r *http.Request) {
	found, err := l.store.standing(id(r, "board"), r.PathValue("member"))
	finish(w, http.StatusOK, found, err)
}

func (l *leaderboards) around(w http.ResponseWriter, r *http.Request) {
	found, err := l.store.around(id(r, "board"), r.PathValue("member"), queryNumber(r, "distance", aroundDistance))
	finish(w, http.StatusOK, found, err)
}
