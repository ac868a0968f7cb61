// The lab's APIs in Fastify: `node server.js PORT FOLDER API [STORE]`.
"use strict";
const fastify = require("fastify")({ logger: false, keepAliveTimeout: 60_000 });

const [port, folder, api, store] = process.argv.slice(2);

const serve = async () => {
  await require(`./${api}`)(fastify, folder, store);
  await fastify.listen({ port: Number(port), host: "127.0.0.1", backlog: 4096 });
};
serve();
