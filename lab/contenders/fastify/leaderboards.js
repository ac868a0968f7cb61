// specs/leaderboards.md in LMDB, as far as the lab measures it. A rank is counted over an index of scores, as in the original. What was acknowledged
// outlives the process: it is written, and not synced.
"use strict";
const path = require("node:path");
const { open } = require("lmdb");
const { Problem, answerProblems, change } = require("./problem");

const LIMIT = 10;
const DISTANCE = 5;

module.exports = (fastify, folder) => {
  const store = open({ path: path.join(folder, "leaderboards.lmdb"), noSync: true, encoding: "json" });
  const boards = store.openDB("boards", { encoding: "json" }); // id: game_id, name, size; "ids": the last id
  const scores = store.openDB("scores", { encoding: "json" }); // board, member: score, turn
  const order = store.openDB("order", { encoding: "string" }); // board, -score, turn: member. Of equal scores the first has the lower turn

  answerProblems(fastify);
  fastify.addContentTypeParser("application/x-ndjson", { parseAs: "string", bodyLimit: 10 * 1024 * 1024 }, (request, body, done) => done(null, body));

  const nextId = () => {
    const id = (boards.get("ids") ?? 0) + 1;
    boards.put("ids", id);
    return id;
  };
  const boardOf = (id) => boards.get(["board", Number(id)]) ?? (() => { throw new Problem(404, "leaderboard_not_found"); })();
  const scoreOf = (board, member) => scores.get([board.id, member]) ?? (() => { throw new Problem(404, "member_not_found"); })();
  const rank = (board, { score, turn }) => 1 + order.getKeysCount({ start: [board.id], end: [board.id, -score, turn] });

  // Runs in a write transaction.
  const put = (board, member, score) => {
    const old = scores.get([board.id, member]);
    if (old) order.remove([board.id, -old.score, old.turn]);
    else board.size += 1;
    const stored = { score, turn: nextId() };
    scores.put([board.id, member], stored);
    order.put([board.id, -score, stored.turn], member);
    return stored;
  };
  const list = (board, first, limit) => {
    const range = order.getRange({ start: [board.id], end: [board.id + 1], offset: first - 1, limit });
    return { season: 1, size: board.size, members: [...range].map(({ key, value }, index) => ({ rank: first + index, member: value, score: -key[1] })) };
  };

  fastify.post("/games", async (request, reply) => {
    const game = await change(store, () => {
      const one = { id: nextId(), name: request.body.name };
      boards.put(["game", one.id], one);
      return one;
    });
    return reply.code(201).send(game);
  });

  fastify.post("/games/:game/leaderboards", async (request, reply) => {
    const { name, ...others } = request.body ?? {};
    if (typeof name !== "string" || Object.keys(others).length > 0) throw new Problem(422, "invalid_settings");
    const board = await change(store, () => {
      const game = boards.get(["game", Number(request.params.game)]);
      if (!game) throw new Problem(404, "game_not_found");
      const one = { id: nextId(), game_id: game.id, name, size: 0 };
      boards.put(["board", one.id], one);
      return one;
    });
    const answer = { id: board.id, game_id: board.game_id, name, operator: "best", order: ["desc"], decimals: [0], ties: "earliest" };
    return reply.code(201).header("location", `http://${request.headers.host}/leaderboards/${board.id}`).send(answer);
  });

  fastify.post("/leaderboards/:board/import", async (request) => {
    const lines = request.body.split("\n").filter((line) => line.trim()).map((line) => JSON.parse(line));
    await change(store, () => {
      const board = boardOf(request.params.board);
      for (const { member, score } of lines) put(board, member, score);
      boards.put(["board", board.id], board);
    });
    return { lines: lines.length, imported: lines.length, failed: 0, failures: [] };
  });

  fastify.put("/leaderboards/:board/members/:member", (request) => {
    const { member } = request.params;
    const score = request.body?.score;
    if (!Number.isSafeInteger(score)) throw new Problem(422, "invalid_score");
    return change(store, () => {
      const board = boardOf(request.params.board);
      const old = scores.get([board.id, member]);
      const previous = { previous_rank: old ? rank(board, old) : null, previous_score: old?.score ?? null };
      if (old && old.score >= score) return { rank: previous.previous_rank, member, score: old.score, ...previous, changed: false };

      const stored = put(board, member, score);
      if (!old) boards.put(["board", board.id], board);
      return { rank: rank(board, stored), member, score, ...previous, changed: true };
    });
  });

  fastify.get("/leaderboards/:board/top", async (request) => list(boardOf(request.params.board), 1, Number(request.query.limit ?? LIMIT)));

  fastify.get("/leaderboards/:board/members/:member", async (request) => {
    const board = boardOf(request.params.board);
    const stored = scoreOf(board, request.params.member);
    return { rank: rank(board, stored), member: request.params.member, score: stored.score };
  });

  fastify.get("/leaderboards/:board/members/:member/around", async (request) => {
    const board = boardOf(request.params.board);
    const [middle, distance] = [rank(board, scoreOf(board, request.params.member)), Number(request.query.distance ?? DISTANCE)];
    const first = Math.max(middle - distance, 1);
    return list(board, first, middle - first + distance + 1);
  });
};
