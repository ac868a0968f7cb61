// The creation of a link as apps/links makes it, in Fastify and LMDB: `node server.js PORT FOLDER`. A response leaves when its link is synced to
// disk. Creations that wait share a transaction and its sync, as lmdb-js advises.
"use strict";
const path = require("node:path");
const { randomInt } = require("node:crypto");
const { open } = require("lmdb");
const fastify = require("fastify")({ logger: false, keepAliveTimeout: 60_000 });

const CHARACTERS = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
const CODE_LENGTH = 6;
const TARGET = /^https?:\/\/[\w.-]+(:\d{1,5})?([/?#][!-~]*)?$/i;

const [port, folder] = process.argv.slice(2);
// Not overlapping: the promise of a transaction is kept when its commit is synced.
const links = open({ path: path.join(folder, "links.lmdb"), overlappingSync: false, sharedStructuresKey: Symbol.for("structures") });

const newCode = () => Array.from({ length: CODE_LENGTH }, () => CHARACTERS[randomInt(CHARACTERS.length)]).join("");

const insert = (link) => links.transaction(() => {
  if (links.get(link.code)) return false;
  links.put(link.code, link);
  return true;
});

fastify.post("/links", async (request, reply) => {
  const { target } = request.body ?? {};
  if (typeof target !== "string" || !TARGET.test(target)) return reply.code(422).send({ code: "invalid_target" });
  const now = new Date().toISOString();
  const link = {
    code: newCode(), target, status: 302, max_visits: null, not_before: null, expires_at: null, title: null, tags: [], visits: 0, created_at: now, updated_at: now,
  };
  while (!(await insert(link))) link.code = newCode();
  const base = `http://${request.headers.host}`;
  return reply.code(201).header("location", `${base}/links/${link.code}`).send({ ...link, short_url: `${base}/${link.code}` });
});

fastify.listen({ port: Number(port), host: "127.0.0.1", backlog: 4096 });
