// specs/links.md in LMDB, as far as the lab measures it. Writes are batched as the library advises: many in one transaction, each awaited. What was
// acknowledged outlives the process: it is written, and not synced.
"use strict";
const { randomInt } = require("node:crypto");
const path = require("node:path");
const { open } = require("lmdb");

const CHARACTERS = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
const STATUSES = [301, 302, 307, 308];
const PERMANENT = [301, 308];
const TARGET = /^https?:\/\/[\w.-]+(:\d{1,5})?([/?#][!-~]*)?$/i;
const FIELDS = ["target", "status", "max_visits", "not_before", "expires_at", "title", "tags"];

class Problem extends Error {
  constructor(status, code) {
    super(code.replaceAll("_", " "));
    this.problem = { type: "about:blank", title: this.message, status, detail: this.message, code };
  }
}

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

module.exports = (fastify, folder) => {
  const links = open({ path: path.join(folder, "links.lmdb"), noSync: true, sharedStructuresKey: Symbol.for("structures") });

  // Runs in a write transaction.
  const insert = (fields, past) => {
    const link = check(fields, past);
    const code = fields.code ?? Array.from({ length: 6 }, () => CHARACTERS[randomInt(CHARACTERS.length)]).join("");
    if (links.get(code)) throw new Problem(409, "code_taken");
    const createdAt = past && fields.created_at ? timestamp(fields.created_at) : now();
    const stored = { code, ...link, visits: past ? (fields.visits ?? 0) : 0, created_at: createdAt, updated_at: createdAt };
    links.put(code, stored);
    return stored;
  };
  const found = (code) => links.get(code) ?? (() => { throw new Problem(404, "link_not_found"); })();
  const base = (request) => `http://${request.headers.host}`;
  const present = (request, link) => ({ ...link, short_url: `${base(request)}/${link.code}` });
  // An exception in a transaction would end the batch, so it is carried out of it.
  const change = async (work) => {
    let result, error;
    await links.transaction(() => {
      try { result = work(); } catch (thrown) { error = thrown; }
    });
    if (error) throw error;
    return result;
  };

  fastify.setErrorHandler((error, request, reply) => {
    const problem = error.problem ?? new Problem(error.statusCode ?? 500, error.statusCode < 500 ? "invalid_body" : "internal_error").problem;
    reply.code(problem.status).header("cache-control", "no-store").type("application/problem+json").send(JSON.stringify(problem));
  });
  fastify.addContentTypeParser("application/x-ndjson", { parseAs: "string", bodyLimit: 10 * 1024 * 1024 }, (request, body, done) => done(null, body));

  fastify.post("/links", async (request, reply) => {
    const link = await change(() => insert(request.body ?? {}, false));
    return reply.code(201).header("location", `${base(request)}/links/${link.code}`).send(present(request, link));
  });

  fastify.post("/links/import", async (request, reply) => {
    const results = await change(() => request.body.split("\n").map((line, index) => [line, index + 1]).filter(([line]) => line.trim()).map(([line, number]) => {
      try {
        const fields = JSON.parse(line);
        if (typeof fields !== "object" || Array.isArray(fields)) throw new Problem(422, "invalid_line");
        const { code } = insert(fields, true);
        return { line: number, status: 201, code, short_url: `${base(request)}/${code}` };
      } catch (error) {
        const problem = error.problem ?? new Problem(422, "invalid_line").problem;
        return { line: number, status: problem.status, error: { code: problem.code, detail: problem.detail } };
      }
    }));
    const created = results.filter((result) => result.status === 201).length;
    results.push({ summary: { lines: results.length, created, found: 0, failed: results.length - created } });
    return reply.type("application/x-ndjson").send(results.map((result) => `${JSON.stringify(result)}\n`).join(""));
  });

  fastify.get("/links/:code", (request, reply) => reply.send(present(request, found(request.params.code))));

  fastify.patch("/links/:code", async (request, reply) => {
    const link = await change(() => {
      const old = found(request.params.code);
      const changed = { ...old, ...check({ ...old, ...request.body }), updated_at: now() };
      links.put(old.code, changed);
      return changed;
    });
    return reply.send(present(request, link));
  });

  fastify.delete("/links/:code", async (request, reply) => {
    await change(() => links.remove(found(request.params.code).code));
    return reply.code(204).send();
  });

  const redirect = (reply, link) => reply.code(link.status).headers({
    location: link.target, "cache-control": cacheControl(link), "referrer-policy": "strict-origin-when-cross-origin", "x-robots-tag": "noindex",
  }).send();

  fastify.head("/:code", (request, reply) => {
    const link = links.get(request.params.code);
    const refused = refusal(link);
    if (refused) throw refused;
    return redirect(reply, link);
  });

  fastify.get("/:code", { exposeHeadRoute: false }, async (request, reply) => {
    const link = await change(() => {
      const one = links.get(request.params.code);
      const refused = refusal(one);
      if (refused) throw refused;
      one.visits += 1;
      links.put(one.code, one);
      return one;
    });
    return redirect(reply, link);
  });
};
