// The lab's APIs in Fastify: `node server.js PORT FOLDER API`.
"use strict";
const fastify = require("fastify")({ logger: false, keepAliveTimeout: 60_000 });

const [port, folder, api] = process.argv.slice(2);
require(`./${api}`)(fastify, folder);
fastify.listen({ port: Number(port), host: "127.0.0.1", backlog: 4096 });
