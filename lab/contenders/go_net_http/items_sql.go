package main

import (
	"database/sql"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
)

// sqlItems keeps items in PostgreSQL or MariaDB.
type sqlItems struct {
	db   *database
	look *sql.Stmt
	// How many items a scope had when it was last looked at. A draw out of another number is not fair, and is made again.
	totals sync.Map
}

const lookText = `SELECT s.total, p.position, i.document FROM scopes s LEFT JOIN places p ON p.scope = s.name AND p.position = ?
	LEFT JOIN items i ON i.id = p.item_id WHERE s.name = ?`

func openSQLItems(url string) (*sqlItems, error) {
	db, err := openSQL(url,
		"CREATE TABLE IF NOT EXISTS items (ID, uuid char(36) NOT NULL UNIQUE, document text NOT NULL)",
		"CREATE TABLE IF NOT EXISTS scopes (name varchar(64) PRIMARY KEY, total bigint NOT NULL)",
		"CREATE TABLE IF NOT EXISTS places (scope varchar(64) NOT NULL, position bigint NOT NULL, item_id bigint NOT NULL, PRIMARY KEY (scope, position))",
		"CREATE INDEX IF NOT EXISTS index_places_on_item_id ON places (item_id)")
	if err != nil {
		return nil, err
	}
	look, err := db.Prepare(db.text(lookText))
	return &sqlItems{db: db, look: look}, err
}

func (s *sqlItems) draw(scope string, wanted uint64) ([][]byte, error) {
	var documents [][]byte
	var drawn []int64
	known := int64(1)
	if value, found := s.totals.Load(scope); found {
		known = value.(int64)
	}
	for {
		var total int64
		var position sql.NullInt64
		var document []byte
		err := s.look.QueryRow(rand.Int64N(known), scope).Scan(&total, &position, &document)
		if errors.Is(err, sql.ErrNoRows) || err == nil && total == 0 {
			return nil, problem{404, "no_items"}
		} else if err != nil {
			return nil, err
		}
		if total != known {
			s.totals.Store(scope, total)
			known, documents, drawn = total, nil, nil
			continue
		}
		if position.Valid && !slices.Contains(drawn, position.Int64) {
			documents, drawn = append(documents, document), append(drawn, position.Int64)
		}
		if uint64(len(documents)) == min(wanted, uint64(total)) {
			return documents, nil
		}
	}
}

// totalOf locks the scope.
func (s *sqlItems) totalOf(tx *sql.Tx, scope string) (total int64, err error) {
	err = tx.QueryRow(s.db.text("SELECT total FROM scopes WHERE name = ? FOR UPDATE"), scope).Scan(&total)
	return total, err
}

func (s *sqlItems) insert(one *itemDocument) (document []byte, err error) {
	err = s.db.change(func(tx *sql.Tx) error {
		id, err := s.db.insert(tx, "INSERT INTO items (uuid, document) VALUES (?, ?)", one.UUID, "")
		if err != nil {
			return err
		}
		one.ID = uint64(id)
		if document, err = one.text(); err != nil {
			return err
		}
		if _, err := tx.Exec(s.db.text("UPDATE items SET document = ? WHERE id = ?"), string(document), id); err != nil {
			return err
		}
		for _, scope := range one.scopes() {
			if err := s.append(tx, scope, id); err != nil {
				return err
			}
		}
		return nil
	})
	return document, err
}

func (s *sqlItems) append(tx *sql.Tx, scope string, id int64) error {
	if _, err := tx.Exec(s.db.ignore("INSERT INTO scopes (name, total) VALUES (?, 0)", "name"), scope); err != nil {
		return err
	}
	total, err := s.totalOf(tx, scope)
	if err != nil {
		return err
	}
	if _, err := tx.Exec(s.db.text("INSERT INTO places (scope, position, item_id) VALUES (?, ?, ?)"), scope, total, id); err != nil {
		return err
	}
	_, err = tx.Exec(s.db.text("UPDATE scopes SET total = ? WHERE name = ?"), total+1, scope)
	return err
}

func (s *sqlItems) get(uuid string) (document []byte, err error) {
	err = s.db.QueryRow(s.db.text("SELECT document FROM items WHERE uuid = ?"), uuid).Scan(&document)
	if errors.Is(err, sql.ErrNoRows) {
		err = problem{404, "item_not_found"}
	}
	return document, err
}

func (s *sqlItems) remove(uuid string) error {
	return s.db.change(func(tx *sql.Tx) error {
		var id int64
		err := tx.QueryRow(s.db.text("SELECT id FROM items WHERE uuid = ?"), uuid).Scan(&id)
		if errors.Is(err, sql.ErrNoRows) {
			return problem{404, "item_not_found"}
		} else if err != nil {
			return err
		}
		places, err := s.places(tx, id)
		if err != nil {
			return err
		}
		for scope, position := range places {
			if err := s.closeHole(tx, scope, position); err != nil {
				return err
			}
		}
		_, err = tx.Exec(s.db.text("DELETE FROM items WHERE id = ?"), id)
		return err
	})
}

func (s *sqlItems) places(tx *sql.Tx, id int64) (map[string]int64, error) {
	rows, err := tx.Query(s.db.text("SELECT scope, position FROM places WHERE item_id = ?"), id)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	places := map[string]int64{}
	for rows.Next() {
		var scope string
		var position int64
		if err := rows.Scan(&scope, &position); err != nil {
			return nil, err
		}
		places[scope] = position
	}
	return places, rows.Err()
}

// closeHole moves a scope's last item to a position whose item goes.
func (s *sqlItems) closeHole(tx *sql.Tx, scope string, position int64) error {
	total, err := s.totalOf(tx, scope)
	if err != nil {
		return err
	}
	if _, err := tx.Exec(s.db.text("DELETE FROM places WHERE scope = ? AND position = ?"), scope, position); err != nil {
		return err
	}
	if _, err := tx.Exec(s.db.text("UPDATE places SET position = ? WHERE scope = ? AND position = ?"), position, scope, total-1); err != nil {
		return err
	}
	_, err = tx.Exec(s.db.text("UPDATE scopes SET total = ? WHERE name = ?"), total-1, scope)
	return err
}
