package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math"
	"net/http"
	"strconv"

	bolt "go.etcd.io/bbolt"
)

// leaderboards keeps specs/leaderboards.md in bbolt, as far as the lab measures it. A rank is counted over an index of scores, as in the original.
// What was acknowledged outlives the process: it is written, and not synced.
type leaderboards struct{ db *bolt.DB }

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

var (
	gameBucket  = []byte("games")  // id: game
	boardBucket = []byte("boards") // id: board
	scoreBucket = []byte("scores") // board, member: the key in order
	orderBucket = []byte("order")  // board, score from high to low, turn: member. Of equal scores the first has the lower turn
	sizeBucket  = []byte("sizes")  // board: how many members
)

func openLeaderboards(path, _ string) (*leaderboards, error) {
	db, err := openBolt(path, gameBucket, boardBucket, scoreBucket, orderBucket, sizeBucket)
	return &leaderboards{db}, err
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

// orderKey sorts by board, then the higher score, then the earlier turn.
func orderKey(board []byte, score int64, turn uint64) []byte {
	key := append([]byte{}, board...)
	key = binary.BigEndian.AppendUint64(key, ^(uint64(score) ^ 1<<63))
	return binary.BigEndian.AppendUint64(key, turn)
}

func scoreIn(key []byte) int64 { return int64(^binary.BigEndian.Uint64(key[8:16]) ^ 1<<63) }

func memberKey(board []byte, member string) []byte {
	return append(append([]byte{}, board...), member...)
}

// boardKey returns the key of the board that the path names.
func boardKey(tx *bolt.Tx, r *http.Request) ([]byte, error) {
	id, err := strconv.ParseUint(r.PathValue("board"), 10, 64)
	if err != nil || tx.Bucket(boardBucket).Get(number(id)) == nil {
		return nil, problem{404, "leaderboard_not_found"}
	}
	return number(id), nil
}

// rank counts who is before the key.
func rank(tx *bolt.Tx, board, key []byte) int {
	before := 1
	cursor := tx.Bucket(orderBucket).Cursor()
	for other, _ := cursor.Seek(board); other != nil && bytes.Compare(other, key) < 0; other, _ = cursor.Next() {
		before++
	}
	return before
}

func size(tx *bolt.Tx, board []byte) uint64 {
	if value := tx.Bucket(sizeBucket).Get(board); value != nil {
		return binary.BigEndian.Uint64(value)
	}
	return 0
}

// setScore stores a score and returns its key in the order.
func setScore(tx *bolt.Tx, board []byte, member string, score int64) ([]byte, error) {
	scores, order := tx.Bucket(scoreBucket), tx.Bucket(orderBucket)
	if old := scores.Get(memberKey(board, member)); old != nil {
		if err := order.Delete(old); err != nil {
			return nil, err
		}
	} else if err := tx.Bucket(sizeBucket).Put(board, number(size(tx, board)+1)); err != nil {
		return nil, err
	}
	turn, err := order.NextSequence()
	if err != nil {
		return nil, err
	}
	key := orderKey(board, score, turn)
	if err := scores.Put(memberKey(board, member), key); err != nil {
		return nil, err
	}
	return key, order.Put(key, []byte(member))
}

// list reads limit standings from the rank first on.
func list(tx *bolt.Tx, board []byte, first, limit int) standings {
	members := []standing{}
	cursor := tx.Bucket(orderBucket).Cursor()
	at := 1
	for key, member := cursor.Seek(board); key != nil && bytes.HasPrefix(key, board) && at < first+limit; key, member = cursor.Next() {
		if at >= first {
			members = append(members, standing{at, string(member), scoreIn(key)})
		}
		at++
	}
	return standings{1, size(tx, board), members}
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
		err = l.db.Update(func(tx *bolt.Tx) (err error) {
			if one.ID, err = tx.Bucket(gameBucket).NextSequence(); err != nil {
				return err
			}
			return tx.Bucket(gameBucket).Put(number(one.ID), []byte(one.Name))
		})
	}
	finish(w, http.StatusCreated, one, err)
}

func (l *leaderboards) createBoard(w http.ResponseWriter, r *http.Request) {
	one := board{Operator: "best", Order: []string{"desc"}, Decimals: []int{0}, Ties: "earliest"}
	fields := map[string]any{}
	err := readJSON(r, &fields)
	name, isText := fields["name"].(string)
	if err == nil && (!isText || len(fields) > 1) {
		err = problem{422, "invalid_settings"}
	}
	if err == nil {
		one.Name = name
		err = l.db.Update(func(tx *bolt.Tx) (err error) {
			if one.GameID, err = strconv.ParseUint(r.PathValue("game"), 10, 64); err != nil || tx.Bucket(gameBucket).Get(number(one.GameID)) == nil {
				return problem{404, "game_not_found"}
			}
			if one.ID, err = tx.Bucket(boardBucket).NextSequence(); err != nil {
				return err
			}
			return tx.Bucket(boardBucket).Put(number(one.ID), []byte(one.Name))
		})
	}
	w.Header().Set("Location", base(r)+"/leaderboards/"+strconv.FormatUint(one.ID, 10))
	finish(w, http.StatusCreated, one, err)
}

func (l *leaderboards) importAll(w http.ResponseWriter, r *http.Request) {
	count := 0
	err := l.db.Update(func(tx *bolt.Tx) error {
		board, err := boardKey(tx, r)
		if err != nil {
			return err
		}
		lines := bufio.NewScanner(http.MaxBytesReader(w, r.Body, bodyBytesMax))
		for ; lines.Scan(); count++ {
			var line standing
			if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
				return problem{400, "invalid_body"}
			}
			if _, err := setScore(tx, board, line.Member, line.Score); err != nil {
				return err
			}
		}
		return lines.Err()
	})
	finish(w, http.StatusOK, map[string]any{"lines": count, "imported": count, "failed": 0, "failures": []any{}}, err)
}

// submit keeps the better score.
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
	done := submission{standing: standing{Member: r.PathValue("member"), Score: int64(*given.Score)}, Changed: true}
	err = l.db.Update(func(tx *bolt.Tx) error {
		board, err := boardKey(tx, r)
		if err != nil {
			return err
		}
		if old := tx.Bucket(scoreBucket).Get(memberKey(board, done.Member)); old != nil {
			score, place := scoreIn(old), rank(tx, board, old)
			done.PreviousRank, done.PreviousScore = &place, &score
			if score >= done.Score {
				done.Rank, done.Score, done.Changed = place, score, false
				return nil
			}
		}
		key, err := setScore(tx, board, done.Member, done.Score)
		done.Rank = rank(tx, board, key)
		return err
	})
	finish(w, http.StatusOK, done, err)
}

func (l *leaderboards) top(w http.ResponseWriter, r *http.Request) {
	var found standings
	err := l.db.View(func(tx *bolt.Tx) error {
		board, err := boardKey(tx, r)
		if err == nil {
			found = list(tx, board, 1, queryNumber(r, "limit", topLimit))
		}
		return err
	})
	finish(w, http.StatusOK, found, err)
}

// find returns the keys of the board and of the member's score that the path names.
func find(tx *bolt.Tx, r *http.Request) (board, key []byte, err error) {
	if board, err = boardKey(tx, r); err != nil {
		return nil, nil, err
	}
	if key = tx.Bucket(scoreBucket).Get(memberKey(board, r.PathValue("member"))); key == nil {
		return nil, nil, problem{404, "member_not_found"}
	}
	return board, key, nil
}

func (l *leaderboards) show(w http.ResponseWriter, r *http.Request) {
	found := standing{Member: r.PathValue("member")}
	err := l.db.View(func(tx *bolt.Tx) error {
		board, key, err := find(tx, r)
		if err == nil {
			found.Rank, found.Score = rank(tx, board, key), scoreIn(key)
		}
		return err
	})
	finish(w, http.StatusOK, found, err)
}

func (l *leaderboards) around(w http.ResponseWriter, r *http.Request) {
	var found standings
	err := l.db.View(func(tx *bolt.Tx) error {
		board, key, err := find(tx, r)
		if err == nil {
			middle, distance := rank(tx, board, key), queryNumber(r, "distance", aroundDistance)
			first := max(middle-distance, 1)
			found = list(tx, board, first, middle-first+distance+1)
		}
		return err
	})
	finish(w, http.StatusOK, found, err)
}
