// Boards in Redis, a sorted set for each. Commands of one turn of the loop leave together, as the library advises; whatever is asked of a board is one
// script.
"use strict";
const { readFileSync } = require("node:fs");
const Redis = require("ioredis");

module.exports = async (url) => {
  const redis = new Redis(url, { enableAutoPipelining: true });
  for (const name of ["submit", "standing", "list"]) {
    redis.defineCommand(`${name}OnBoard`, { numberOfKeys: 2, lua: readFileSync(`lab/contenders/redis/${name}.lua`, "utf8") });
  }
  const known = new Map(); // boards, none of which is ever deleted here

  const create = async (kind, name) => {
    const id = await redis.incr("ids");
    await redis.hset(kind, id, name);
    return id;
  };
  const listed = (answer) => {
    if (!answer) return null;
    const [first, size, flat] = answer;
    const members = [];
    for (let place = 0; place < flat.length; place += 2) members.push([flat[place], Number(flat[place + 1])]);
    return { first, size, members };
  };

  return {
    createGame: (name) => create("games", name),
    createBoard: async (game, name) => ((await redis.hexists("games", game)) ? create("boards", name) : null),
    find: async (id) => {
      if (!known.has(id) && (await redis.hexists("boards", id))) known.set(id, [`board:${id}`, `board:${id}:entries`]);
      return known.get(id);
    },
    importAll: (keys, lines) => Promise.all(lines.map(({ member, score }) => redis.submitOnBoard(...keys, member, score))),
    submit: async (keys, member, score) => {
      const [rank, kept, before, scoreBefore, changed] = await redis.submitOnBoard(...keys, member, score);
      const previous = before > 0 ? { previous_rank: before, previous_score: Number(scoreBefore) } : { previous_rank: null, previous_score: null };
      return { rank, member, score: Number(kept), ...previous, changed: changed === 1 };
    },
    standing: async (keys, member) => {
      const answer = await redis.standingOnBoard(...keys, member);
      return answer && { rank: answer[0], score: Number(answer[1]) };
    },
    top: async (keys, limit) => listed(await redis.listOnBoard(...keys, "", limit)),
    around: async (keys, member, distance) => listed(await redis.listOnBoard(...keys, member, distance)),
  };
};
