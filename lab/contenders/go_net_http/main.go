// The lab's APIs on Go's net/http, as far as they are measured: `server PORT FOLDER API [STORE]`, or `server load FOLDER FILE` for many items at once.
package main

import (
	"encoding/json"
	"log"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

type item struct {
	ID    int      `json:"id"`
	Title string   `json:"title"`
	Done  bool     `json:"done"`
	Tags  []string `json:"tags"`
}

func text(w http.ResponseWriter, body string) {
	w.Header().Set("Content-Type", "text/plain")
	_, _ = w.Write([]byte(body))
}

func plain(mux *http.ServeMux) {
	mux.HandleFunc("GET /hello", func(w http.ResponseWriter, _ *http.Request) { text(w, "hello world") })
	mux.HandleFunc("GET /json", func(w http.ResponseWriter, _ *http.Request) {
		body, err := json.Marshal(item{ID: 42, Title: "hello world", Tags: []string{"ruby", "rust"}})
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(body)
	})
	mux.HandleFunc("GET /sleep", func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(50 * time.Millisecond)
		text(w, "slept")
	})
}

const storeFile = "store.bolt"

// serve opens an API's store, in a file or at a URL, and adds its routes.
func serve[S interface{ routes(*http.ServeMux) }](mux *http.ServeMux, folder, url string, open func(path, url string) (S, error)) {
	store, err := open(filepath.Join(folder, storeFile), url)
	if err != nil {
		log.Fatal(err)
	}
	store.routes(mux)
}

func main() {
	port, folder, api := os.Args[1], os.Args[2], os.Args[3]
	if port == "load" {
		if err := loadItems(filepath.Join(folder, storeFile), api); err != nil {
			log.Fatal(err)
		}
		return
	}
	url := ""
	if len(os.Args) > 4 {
		url = os.Args[4]
	}
	mux := http.NewServeMux()
	switch api {
	case "plain":
		plain(mux)
	case "links":
		serve(mux, folder, url, openLinks)
	case "leaderboards":
		serve(mux, folder, url, openLeaderboards)
	case "stats":
		serve(mux, folder, url, openStats)
	case "ring_pools":
		serve(mux, folder, url, openRingPools)
	case "items":
		serve(mux, folder, url, openItems)
	default:
		log.Fatalf("there is no API %s", api)
	}
	log.Fatal(http.ListenAndServe("127.0.0.1:"+port, mux))
}
