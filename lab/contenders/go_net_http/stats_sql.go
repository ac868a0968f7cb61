package main

import (
	"database/sql"
	"encoding/json"
	"time"
)

// sqlEvents keeps events in MariaDB or PostgreSQL, a row for each.
type sqlEvents struct {
	db     *database
	insert *sql.Stmt
}

const sumsText = `SELECT accepted_ms - accepted_ms % ? AS at_ms, COUNT(*), COUNT(bot), COUNT(DISTINCT visitor) FROM events WHERE accepted_ms >= ?
	GROUP BY 1 ORDER BY 1`

func openSQLEvents(url string) (*sqlEvents, error) {
	db, err := openSQL(url,
		`CREATE TABLE events (ID, accepted_ms bigint NOT NULL, path varchar(255) NOT NULL, params text NOT NULL, headers text NOT NULL, ip varchar(64),
		visitor varchar(64), bot varchar(16))`,
		"CREATE INDEX events_by_time ON events (accepted_ms)")
	if err != nil {
		return nil, err
	}
	insert, err := db.Prepare(db.text("INSERT INTO events (accepted_ms, path, params, headers, ip, visitor, bot) VALUES (?, ?, ?, ?, ?, ?, ?)"))
	return &sqlEvents{db, insert}, err
}

func (s *sqlEvents) put(one *event) error {
	params, err := json.Marshal(one.Params)
	if err != nil {
		return err
	}
	headers, err := json.Marshal(one.Headers)
	if err != nil {
		return err
	}
	_, err = s.insert.Exec(one.AcceptedMS, one.Path, string(params), string(headers), one.IP, one.Visitor, one.Bot)
	return err
}

func (s *sqlEvents) sums(since, unit int64, visitors bool) ([]rollup, uint64, error) {
	var offset uint64
	if err := s.db.QueryRow("SELECT COUNT(*) FROM events").Scan(&offset); err != nil {
		return nil, 0, err
	}
	found, err := s.db.Query(s.db.text(sumsText), unit, since)
	if err != nil {
		return nil, 0, err
	}
	defer found.Close()
	rows := []rollup{}
	for found.Next() {
		var at int64
		var row rollup
		var count int
		if err := found.Scan(&at, &row.Events, &row.Bots, &count); err != nil {
			return nil, 0, err
		}
		row.At = time.UnixMilli(at).UTC().Format(time.RFC3339)
		if visitors {
			row.Visitors = &count
		}
		rows = append(rows, row)
	}
	return rows, offset, found.Err()
}
