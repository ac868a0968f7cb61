// The plain answers on fasthttp: `server PORT`.
package main

import (
	"encoding/json"
	"log"
	"os"
	"time"

	"github.com/valyala/fasthttp"
)

type item struct {
	ID    int      `json:"id"`
	Title string   `json:"title"`
	Done  bool     `json:"done"`
	Tags  []string `json:"tags"`
}

func answer(ctx *fasthttp.RequestCtx) {
	switch string(ctx.Path()) {
	case "/hello":
		ctx.SetContentType("text/plain")
		ctx.SetBodyString("hello world")
	case "/json":
		body, err := json.Marshal(item{ID: 42, Title: "hello world", Tags: []string{"ruby", "rust"}})
		if err != nil {
			ctx.Error(err.Error(), fasthttp.StatusInternalServerError)
			return
		}
		ctx.SetContentType("application/json")
		ctx.SetBody(body)
	case "/sleep":
		time.Sleep(50 * time.Millisecond)
		ctx.SetContentType("text/plain")
		ctx.SetBodyString("slept")
	default:
		ctx.Error("not found", fasthttp.StatusNotFound)
	}
}

func main() {
	log.Fatal(fasthttp.ListenAndServe("127.0.0.1:"+os.Args[1], answer))
}
