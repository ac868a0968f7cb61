// specs/stats.md in LMDB, as far as the lab measures it: a record for each event, answered when it is where sums are read from. What was acknowledged
// outlives the process: it is written, many at a time, and not synced.
"use strict";
const { createHash, randomBytes } = require("node:crypto");
const path = require("node:path");
const querystring = require("node:querystring");
const { open } = require("lmdb");
const { Problem, answerProblems } = require("./problem");

const UNITS = { minute: 60_000, hour: 3_600_000, day: 86_400_000 };
const BUCKETS = 60;
const PRIVATE_HEADERS = ["cookie", "authorization", "x-forwarded-for"];
const SECRET = randomBytes(32).toString("hex");

const visitorOf = (address, agent) =>
  createHash("sha256").update(`${SECRET}${Math.floor(Date.now() / UNITS.day)}${address}${agent}`).digest("hex").slice(0, 32);
const botOf = (agent) => {
  if (!agent) return "no_agent";
  return /bot|crawl|spider/i.test(agent) ? "agent" : null;
};
const parse = (text) => {
  let fields;
  try { fields = JSON.parse(text); } catch { throw new Problem(400, "malformed_json"); }
  if (typeof fields !== "object" || Array.isArray(fields)) throw new Problem(422, "not_an_object");
  return fields;
};
const paramsOf = ({ body, query, headers }) => {
  const type = headers["content-type"] ?? "";
  if (!body) return query;
  if (type.startsWith("application/x-www-form-urlencoded")) return { ...query, ...querystring.parse(body) };
  return type.startsWith("application/json") || body.startsWith("{") ? parse(body) : { ...query, text: body };
};

module.exports = (fastify, folder) => {
  const events = open({ path: path.join(folder, "stats.lmdb"), noSync: true, encoding: "json" }); // accepted_ms, number: event
  let number = 0;

  answerProblems(fastify);
  fastify.removeAllContentTypeParsers();
  fastify.addContentTypeParser("*", { parseAs: "string" }, (request, body, done) => done(null, body));

  const record = async (request) => {
    const [headers, agent] = [{ ...request.headers }, request.headers["user-agent"]];
    for (const name of PRIVATE_HEADERS) delete headers[name];
    const accepted_ms = Date.now();
    await events.put([accepted_ms, (number += 1)], {
      accepted_ms, path: "/stats", params: paramsOf(request), headers, ip: request.ip.replace(/\.\d+$/, ".0"),
      visitor: visitorOf(request.ip, agent), bot: botOf(agent),
    });
    return { durability: "delivered" };
  };
  fastify.get("/stats", record);
  fastify.post("/stats", record);

  fastify.get("/stats/rollups", async ({ query: { per = "minute", from } }) => {
    const unit = UNITS[per];
    if (!unit) throw new Problem(400, "validation_failed");
    const since = from ? Date.parse(from) : Date.now() - (BUCKETS - 1) * unit;
    if (Number.isNaN(since)) throw new Problem(400, "invalid_time");

    const buckets = new Map();
    for (const { value } of events.getRange({ start: [since - (since % unit)] })) {
      const at = value.accepted_ms - (value.accepted_ms % unit);
      const bucket = buckets.get(at) ?? { events: 0, bots: 0, visitors: new Set() };
      bucket.events += 1;
      if (value.bot) bucket.bots += 1;
      bucket.visitors.add(value.visitor);
      buckets.set(at, bucket);
    }
    const rows = [...buckets].map(([at, { visitors, ...counts }]) => (
      { at: new Date(at).toISOString().replace(".000", ""), ...counts, ...(per === "day" ? { visitors: visitors.size } : {}) }));
    return { per, by: "total", as_of: { offset: events.getKeysCount(), queued: 0 }, rows, next_cursor: null };
  });
};
