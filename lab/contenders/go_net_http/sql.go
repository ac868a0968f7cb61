package main

import (
	"database/sql"
	"net/url"
	"strconv"
	"strings"

	"github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"
)

// A database is the PostgreSQL or MariaDB of a URL, with what differs between the two.
type database struct {
	*sql.DB
	isPostgres bool
}

const sqlConnections = 10

func openSQL(address string, tables ...string) (*database, error) {
	parsed, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	driver, source := "pgx", address
	if parsed.Scheme == "mysql" {
		settings := mysql.NewConfig()
		settings.Net, settings.Addr, settings.DBName = "tcp", parsed.Host, strings.TrimPrefix(parsed.Path, "/")
		settings.User = parsed.User.Username()
		settings.Passwd, _ = parsed.User.Password()
		driver, source = "mysql", settings.FormatDSN()
	}
	db, err := sql.Open(driver, source)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(sqlConnections)
	db.SetMaxIdleConns(sqlConnections)
	opened := &database{db, driver == "pgx"}
	for _, table := range tables {
		if _, err := db.Exec(strings.Replace(table, "ID", opened.idType(), 1)); err != nil {
			return nil, err
		}
	}
	return opened, nil
}

func (d *database) idType() string {
	if d.isPostgres {
		return "id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY"
	}
	return "id bigint NOT NULL AUTO_INCREMENT PRIMARY KEY"
}

// text numbers the question marks of a statement for PostgreSQL.
func (d *database) text(statement string) string {
	if !d.isPostgres {
		return statement
	}
	parts := strings.Split(statement, "?")
	var text strings.Builder
	for index, part := range parts[:len(parts)-1] {
		text.WriteString(part + "$" + strconv.Itoa(index+1))
	}
	return text.String() + parts[len(parts)-1]
}

// insert runs an INSERT and returns the new id.
func (d *database) insert(tx *sql.Tx, statement string, values ...any) (id int64, err error) {
	if d.isPostgres {
		err = tx.QueryRow(d.text(statement)+" RETURNING id", values...).Scan(&id)
		return id, err
	}
	result, err := tx.Exec(statement, values...)
	if err != nil {
		return 0, err
	}
	return result.LastInsertId()
}

// ignore makes an INSERT that does nothing when the key is there. (INSERT IGNORE would take a shared lock, and two of them a deadlock.)
func (d *database) ignore(insert, key string) string {
	if d.isPostgres {
		return d.text(insert) + " ON CONFLICT DO NOTHING"
	}
	return insert + " ON DUPLICATE KEY UPDATE " + key + " = " + key
}

// change runs work in a transaction.
func (d *database) change(work func(tx *sql.Tx) error) error {
	tx, err := d.Begin()
	if err != nil {
		return err
	}
	if err := work(tx); err != nil {
		_ = tx.Rollback()
		return err
	}
	return tx.Commit()
}
