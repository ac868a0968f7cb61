// specs/ring_pools.md in LMDB, as far as the lab measures it: bulk requests, each in one of LMDB's batches. The free numbers of a pool stand in the order
// in which they became free. What was acknowledged outlives the process: it is written, and not synced.
"use strict";
const { randomBytes, timingSafeEqual } = require("node:crypto");
const path = require("node:path");
const { open } = require("lmdb");
const { Problem, answerProblems, change } = require("./problem");

const ROWS_MAX = 1000;
const SUFFIX = /^(\d{1,9})\/allocate_number\.json(?:\?(.*))?$/s;
const KEY = "ring_pool_key=";
const REFUSAL = { errors: { class: "RecordInvalid", invalid_data: `The body is an object with a list of 1 to ${ROWS_MAX} requests` } };

// What is wrong with one row of a bulk request.
class Failure extends Error {
  constructor(errorClass, message) {
    super(message);
    this.errorClass = errorClass;
  }
}

const e164 = (text) => {
  const digits = String(text).replace(/\D/g, "").replace(/^(\d{10})$/, "1$1");
  return /^1[2-9]\d{2}[2-9]\d{6}$/.test(digits) ? Number(digits) : null;
};
const same = (one, other) => one.length === other.length && timingSafeEqual(Buffer.from(one), Buffer.from(other));

const rowsOf = (text) => {
  try {
    const { requests, request } = JSON.parse(text);
    const rows = requests ?? request;
    return Array.isArray(rows) && rows.length >= 1 && rows.length <= ROWS_MAX ? rows : null;
  } catch {
    return null;
  }
};

const wire = (pool, number) => {
  const shown = number ?? pool.overflow;
  if (!shown) throw new Failure("NoNumberAvailable", `No number of RingPool '${pool.id}' is free (exhausted)`);
  const text = String(shown).slice(1);
  const joint = pool.tracking_url.includes("?") ? "&" : "?";
  return {
    promo_number_formatted: `${text.slice(0, 3)}-${text.slice(3, 6)}-${text.slice(6)}`,
    promo_number: text,
    tracking_url: pool.tracking_url && `${pool.tracking_url}${joint}sid=${text}&PPCPN=${text}`,
    ...(number ? {} : { overflow: true }),
  };
};

module.exports = (fastify, folder) => {
  const store = open({ path: path.join(folder, "ring_pools.lmdb"), noSync: true, encoding: "json" });
  const pools = store.openDB("pools", { encoding: "json", cache: true }); // id: pool; "ids": the last id
  const owners = store.openDB("owners", { encoding: "json" }); // number: id of its pool
  const free = store.openDB("free", { encoding: "ordered-binary" }); // pool, free_at, number: true
  const leases = store.openDB("leases", { encoding: "json" }); // number, begun_at: held_until, parameters

  answerProblems(fastify);
  fastify.removeAllContentTypeParsers();
  fastify.addContentTypeParser("application/json", { parseAs: "string" }, (request, body, done) => done(null, body));

  fastify.post("/pools", async (request, reply) => {
    const given = { name: "", lifetime_seconds: 1800, quarantine_seconds: 0, policy: "longest_idle", allow_overflow: true, tracking_url: "", draining: false, ...JSON.parse(request.body) };
    const numbers = (given.numbers ?? []).map(e164);
    if (numbers.length < 2 || new Set(numbers).size < numbers.length || numbers.includes(null)) throw new Problem(422, "invalid_numbers");
    const overflow = given.allow_overflow ? e164(given.overflow_number) : null;
    if (given.allow_overflow && !overflow) throw new Problem(422, "invalid_overflow_number");
    const pool = await change(store, () => {
      if (numbers.some((number) => owners.get(number) !== undefined)) throw new Problem(409, "number_taken");
      const id = (pools.get("ids") ?? 0) + 1;
      pools.put("ids", id);
      const { name, lifetime_seconds, quarantine_seconds, policy, allow_overflow, tracking_url, draining } = given;
      const made = { id, name, lifetime_seconds, quarantine_seconds, policy, allow_overflow, tracking_url, draining, overflow, api_key: randomBytes(24).toString("base64url") };
      pools.put(id, made);
      for (const number of numbers) {
        owners.put(number, id);
        free.put([id, 0, number], true);
      }
      return made;
    });
    const { overflow: ignored, ...shown } = pool;
    reply.code(201).header("location", `http://${request.headers.host}/pools/${pool.id}`);
    return { ...shown, numbers: numbers.map((number) => `+${number}`), ...(overflow ? { overflow_number: `+${overflow}` } : {}) };
  });

  // The pool that a row names, and what it gives besides the key.
  const read = (row, headerKey) => {
    const [, id, query = ""] = (typeof row?.api_suffix === "string" && row.api_suffix.match(SUFFIX)) || [];
    if (!id) throw new Failure("InvalidRequest", "A request has an api_suffix: POOL/allocate_number.json?ring_pool_key=KEY&NAME=VALUE");
    const pool = pools.get(Number(id));
    if (!pool) throw new Failure("RecordNotFound", `Could not find RingPool '${id}'`);
    const parameters = query.split("&").filter((parameter) => parameter !== "");
    const key = parameters.find((parameter) => parameter.startsWith(KEY))?.slice(KEY.length) ?? headerKey ?? "";
    if (!same(key, pool.api_key)) throw new Failure("InvalidKey", `API Key '${key}' is not valid for resource '${id}'`);
    const others = parameters.filter((parameter) => !parameter.startsWith(KEY));
    if (others.length === 0) throw new Failure("MissingParameter", "At least one RingPool parameter must be present, even if its value is empty");
    return [pool, others.join("&")];
  };

  // Runs in a write transaction. Times are milliseconds.
  const take = (pool, parameters, now) => {
    const [key] = free.getKeys({ start: [pool.id], end: [pool.id, now + 1], limit: 1 });
    if (!key) return null;
    const number = key[2];
    const heldUntil = now + pool.lifetime_seconds * 1000;
    free.remove(key);
    free.put([pool.id, heldUntil + pool.quarantine_seconds * 1000, number], true);
    leases.put([number, now], { held_until: heldUntil, parameters });
    return number;
  };

  fastify.post("/api/2013-07-01/bulk.json", async (request, reply) => {
    const startedAt = performance.now();
    const rows = rowsOf(request.body);
    if (!rows) return reply.code(403).send(REFUSAL);

    const headerKey = request.headers["x-ring-pool-key"] ?? request.headers["x-api-key"] ?? request.headers.authorization?.replace(/^Bearer /, "");
    const responses = await change(store, () => {
      const now = Date.now();
      return rows.map((row) => {
        const heading = row?.request_id === undefined ? {} : { request_id: row.request_id };
        try {
          const [pool, parameters] = read(row, headerKey);
          return { ...heading, ...wire(pool, take(pool, parameters, now)) };
        } catch (error) {
          if (!(error instanceof Failure)) throw error;
          return { ...heading, error_class: error.errorClass, message: error.message };
        }
      });
    });
    const overflows = responses.filter((response) => response.overflow).length;
    if (overflows > 0) reply.header("overflow-reasons", `exhausted=${overflows}`);
    return reply.header("processing-time", (performance.now() - startedAt).toFixed(3)).send({ responses });
  });
};
