// The record of apps/stats in Go: net/http, database/sql, one insert into MariaDB, then the answer. bench/stats runs it.
package main

import (
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"os"
	"time"

	_ "github.com/go-sql-driver/mysql"
)

const connectionsMax = 20

type record struct {
	IP      string            `json:"ip"`
	Path    string            `json:"path"`
	Headers map[string]string `json:"headers"`
	Params  map[string]any    `json:"params"`
	Time    time.Time         `json:"time"`
}

func main() {
	database := open(os.Getenv("DATABASE_URL"))
	insert, err := database.Prepare("INSERT INTO go_events (id, data) VALUES (?, ?)")
	check(err)
	http.HandleFunc("/stats", func(answer http.ResponseWriter, request *http.Request) {
		event, err := read(request)
		if err != nil {
			http.Error(answer, err.Error(), http.StatusBadRequest)
			return
		}
		data, err := json.Marshal(event)
		if err == nil {
			_, err = insert.ExecContext(request.Context(), uuid(), data)
		}
		if err != nil {
			http.Error(answer, err.Error(), http.StatusServiceUnavailable)
			return
		}
		answer.Header().Set("Content-Type", "application/json")
		io.WriteString(answer, `{"durability":"delivered"}`)
	})
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Args[1], nil))
}

func open(address string) *sql.DB {
	server, err := url.Parse(address)
	check(err)
	password, _ := server.User.Password()
	database, err := sql.Open("mysql", fmt.Sprintf("%s:%s@tcp(%s)%s", server.User.Username(), password, server.Host, server.Path))
	check(err)
	database.SetMaxOpenConns(connectionsMax)
	database.SetMaxIdleConns(connectionsMax)
	_, err = database.Exec("CREATE TABLE IF NOT EXISTS go_events (id char(36) CHARACTER SET ascii PRIMARY KEY, data longtext NOT NULL)")
	check(err)
	return database
}

func read(request *http.Request) (record, error) {
	ip, _, _ := net.SplitHostPort(request.RemoteAddr)
	event := record{IP: ip, Path: request.URL.Path, Headers: map[string]string{}, Params: map[string]any{}, Time: time.Now()}
	for name, values := range request.Header {
		event.Headers[name] = values[0]
	}
	for name, values := range request.URL.Query() {
		event.Params[name] = values[0]
	}
	if request.Method != http.MethodPost {
		return event, nil
	}
	return event, json.NewDecoder(request.Body).Decode(&event.Params)
}

// In the order of time, as Elah's are.
func uuid() string {
	bytes := make([]byte, 16)
	rand.Read(bytes)
	now := time.Now().UnixMilli()
	for index := range 6 {
		bytes[index] = byte(now >> (40 - 8*index))
	}
	return fmt.Sprintf("%x-%x-%x-%x-%x", bytes[:4], bytes[4:6], bytes[6:8], bytes[8:10], bytes[10:])
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
