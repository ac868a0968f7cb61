// specs/links.md as far as the lab measures it, in LMDB or Redis.
"use strict";
const { randomInt } = require("node:crypto");
const { Problem, answerProblems } = require("./problem");

const CHARACTERS = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
const STATUSES = [301, 302, 307, 308];
const PERMANENT = [301, 308];
const TARGET = /^https?:\/\/[\w.-]+(:\d{1,5})?([/?#][!-~]*)?$/i;
const FIELDS = ["target", "status", "max_visits", "not_before", "expires_at", "title", "tags"];

const timestamp = (text) => {
  const time = new Date(text);
  if (Number.isNaN(time.getTime())) throw new Problem(422, "invalid_time");
  return time.toISOString();
};
const now = () => new Date().toISOString();

// Completes and judges what came from outside. Past times are allowed in an import.
const check = (fields, past = false) => {
  const link = { target: null, status: 302, max_visits: null, not_before: null, expires_at: null, title: null, tags: [] };
  for (const name of FIELDS) if (fields[name] !== undefined && fields[name] !== null) link[name] = fields[name];
  if (typeof link.target !== "string") throw new Problem(400, "validation_failed");
  if (/^[a-z][a-z0-9+.-]*:/i.test(link.target) && !/^https?:/i.test(link.target)) throw new Problem(422, "scheme_refused");
  if (!TARGET.test(link.target)) throw new Problem(422, "invalid_target");
  if (!STATUSES.includes(link.status)) throw new Problem(422, "invalid_status");
  for (const name of ["not_before", "expires_at"]) if (link[name]) link[name] = timestamp(link[name]);
  if (!past && link.expires_at && link.expires_at <= now()) throw new Problem(422, "invalid_expiry");
  return link;
};

const refusal = (link) => {
  if (!link) return new Problem(404, "link_not_found");
  if (link.not_before && link.not_before > now()) return new Problem(404, "link_not_active");
  if (link.expires_at && link.expires_at <= now()) return new Problem(410, "link_expired");
  if (link.max_visits !== null && link.visits >= link.max_visits) return new Problem(410, "link_used_up");
  return null;
};

const cacheControl = (link) => {
  if (link.max_visits !== null) return "no-store";
  return PERMANENT.includes(link.status) ? "public, max-age=86400" : "private, max-age=0";
};

const complete = (fields, past) => {
  const link = check(fields, past);
  const code = fields.code ?? Array.from({ length: 6 }, () => CHARACTERS[randomInt(CHARACTERS.length)]).join("");
  const createdAt = past && fields.created_at ? timestamp(fields.created_at) : now();
  return { code, ...link, visits: past ? (fields.visits ?? 0) : 0, created_at: createdAt, updated_at: createdAt };
};

module.exports = async (fastify, folder, url) => {
  const links = await (url ? require("./links_redis")(url) : require("./links_lmdb")(folder));

  const found = async (code) => (await links.get(code)) ?? (() => { throw new Problem(404, "link_not_found"); })();
  const base = (request) => `http://${request.headers.host}`;
  const present = (request, link) => ({ ...link, short_url: `${base(request)}/${link.code}` });
  answerProblems(fastify);
  fastify.addContentTypeParser("application/x-ndjson", { parseAs: "string", bodyLimit: 10 * 1024 * 1024 }, (request, body, done) => done(null, body));

  fastify.post("/links", async (request, reply) => {
    const link = complete(request.body ?? {}, false);
    if (!(await links.insert(link))) throw new Problem(409, "code_taken");
    return reply.code(201).header("location", `${base(request)}/links/${link.code}`).send(present(request, link));
  });

  // A line of an import as a link, or as what is wrong with it.
  const parse = (line, number) => {
    try {
      const fields = JSON.parse(line);
      if (typeof fields !== "object" || Array.isArray(fields)) throw new Problem(422, "invalid_line");
      return { number, link: complete(fields, true) };
    } catch (error) {
      return { number, problem: error instanceof Problem ? error : new Problem(422, "invalid_line") };
    }
  };

  fastify.post("/links/import", async (request, reply) => {
    const lines = request.body.split("\n").map((line, index) => [line, index + 1]).filter(([line]) => line.trim()).map(([line, number]) => parse(line, number));
    const inserted = await Promise.all(lines.map(({ link }) => link && links.insert(link)));
    const results = lines.map(({ number, link, problem = new Problem(409, "code_taken") }, index) => (inserted[index]
      ? { line: number, status: 201, code: link.code, short_url: `${base(request)}/${link.code}` }
      : { line: number, status: problem.status, error: { code: problem.code, detail: problem.message } }));
    const created = inserted.filter(Boolean).length;
    results.push({ summary: { lines: results.length, created, found: 0, failed: results.length - created } });
    return reply.type("application/x-ndjson").send(results.map((result) => `${JSON.stringify(result)}\n`).join(""));
  });

  fastify.get("/links/:code", async (request, reply) => reply.send(present(request, await found(request.params.code))));

  fastify.patch("/links/:code", async (request, reply) => {
    const changed = await links.change(request.params.code, (old) => ({ ...old, ...check({ ...old, ...request.body }), updated_at: now() }));
    if (!changed) throw new Problem(404, "link_not_found");
    return reply.send(present(request, changed));
  });

  fastify.delete("/links/:code", async (request, reply) => {
    if (!(await links.remove(request.params.code))) throw new Problem(404, "link_not_found");
    return reply.code(204).send();
  });

  const redirect = (reply, link) => reply.code(link.status).headers({
    location: link.target, "cache-control": cacheControl(link), "referrer-policy": "strict-origin-when-cross-origin", "x-robots-tag": "noindex",
  }).send();

  fastify.head("/:code", async (request, reply) => {
    const link = await links.get(request.params.code);
    const refused = refusal(link);
    if (refused) throw refused;
    return redirect(reply, link);
  });

  fastify.get("/:code", { exposeHeadRoute: false }, async (request, reply) => {
    const link = await links.visit(request.params.code, refusal, now());
    if (!link) throw refusal(await links.get(request.params.code)) ?? new Problem(410, "link_used_up");
    return redirect(reply, link);
  });
};
