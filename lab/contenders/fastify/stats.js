// specs/stats.md as far as the lab measures it, in LMDB or on a database server: a record for each event, answered when it is where sums are read from.
"use strict";
const { createHash, randomBytes } = require("node:crypto");
const querystring = require("node:querystring");
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

const open = (folder, url) => {
  if (!url) return require("./stats_lmdb")(folder);
  return url.startsWith("mongodb:") ? require("./stats_mongo")(url) : require("./stats_sql")(url);
};

module.exports = async (fastify, folder, url) => {
  const events = await open(folder, url);

  answerProblems(fastify);
  fastify.removeAllContentTypeParsers();
  fastify.addContentTypeParser("*", { parseAs: "string" }, (request, body, done) => done(null, body));

  const record = async (request) => {
    const [headers, agent] = [{ ...request.headers }, request.headers["user-agent"]];
    for (const name of PRIVATE_HEADERS) delete headers[name];
    const accepted_ms = Date.now();
    await events.put({
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

    const sums = await events.sums(since - (since % unit), unit);
    const rows = sums.map(({ at, visitors, ...counts }) => (
      { at: new Date(at).toISOString().replace(".000", ""), ...counts, ...(per === "day" ? { visitors } : {}) }));
    return { per, by: "total", as_of: { offset: await events.count(), queued: 0 }, rows, next_cursor: null };
  });
};
