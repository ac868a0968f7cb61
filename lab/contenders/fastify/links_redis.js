// Links in Redis, a hash for each. Commands of one turn of the loop leave together, as the library advises; a visit is one script.
"use strict";
const { readFileSync } = require("node:fs");
const Redis = require("ioredis");

const VISIT = readFileSync("lab/contenders/redis/visit.lua", "utf8");
const NUMBERS = ["status", "visits", "max_visits"];
const keyOf = (code) => `link:${code}`;

// Redis has texts, and no null.
const flat = ({ tags, ...link }) => ({ ...Object.fromEntries(Object.entries(link).filter(([, value]) => value !== null)), tags: JSON.stringify(tags) });
const whole = (hash) => {
  const link = { max_visits: null, not_before: null, expires_at: null, title: null, ...hash, tags: JSON.parse(hash.tags) };
  for (const name of NUMBERS) if (link[name] !== null) link[name] = Number(link[name]);
  return link;
};

module.exports = async (url) => {
  const redis = new Redis(url, { enableAutoPipelining: true });
  redis.defineCommand("visitLink", { numberOfKeys: 1, lua: VISIT });
  const get = async (code) => {
    const hash = await redis.hgetall(keyOf(code));
    return hash.code ? whole(hash) : undefined;
  };

  return {
    get,
    insert: async (link) => {
      if ((await redis.hsetnx(keyOf(link.code), "code", link.code)) === 0) return false;
      await redis.hset(keyOf(link.code), flat(link));
      return true;
    },
    change: async (code, work) => {
      const old = await get(code);
      if (!old) return null;
      const { visits, ...changed } = work(old);
      await redis.multi().hdel(keyOf(code), "max_visits", "not_before", "expires_at", "title").hset(keyOf(code), flat(changed)).exec();
      return { ...changed, visits };
    },
    remove: async (code) => (await redis.del(keyOf(code))) === 1,
    visit: async (code, refusal, now) => {
      const answer = await redis.visitLink(keyOf(code), now);
      return answer && { target: answer[0], status: Number(answer[1]), max_visits: answer[2] };
    },
  };
};
