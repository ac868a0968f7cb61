// The plain answers on Node's own http module: `node server.js PORT`.
"use strict";
const http = require("node:http");

const answer = (response, type, body) => {
  response.writeHead(200, { "content-type": type, "content-length": Buffer.byteLength(body) });
  response.end(body);
};

const server = http.createServer((request, response) => {
  switch (request.url) {
    case "/hello": return answer(response, "text/plain", "hello world");
    case "/json": return answer(response, "application/json", JSON.stringify({ id: 42, title: "hello world", done: false, tags: ["ruby", "rust"] }));
    case "/sleep": return setTimeout(() => answer(response, "text/plain", "slept"), 50);
    default: response.writeHead(404).end();
  }
});
server.keepAliveTimeout = 60_000;
server.listen(Number(process.argv[2]), "127.0.0.1", 4096);
