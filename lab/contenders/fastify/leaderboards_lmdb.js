// Boards in LMDB. A rank is counted over an index of scores, as in the original. What was acknowledged outlives the process: it is written, and not
// synced.
"use strict";
const path = require("node:path");
const { open } = require("lmdb");
const { change } = require("./problem");

module.exports = async (folder) => {
  const store = open({ path: path.join(folder, "leaderboards.lmdb"), noSync: true, encoding: "json" });
  const boards = store.openDB("boards", { encoding: "json" }); // "game" or "board", id: name, and of a board its size; "ids": the last id
  const scores = store.openDB("scores", { encoding: "json" }); // board, member: score, turn
  const order = store.openDB("order", { encoding: "string" }); // board, -score, turn: member. Of equal scores the first has the lower turn

  const nextId = () => {
    const id = (boards.get("ids") ?? 0) + 1;
    boards.put("ids", id);
    return id;
  };
  const create = (kind, fields) => {
    const id = nextId();
    boards.put([kind, id], { id, ...fields });
    return id;
  };
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
    return { first, size: board.size, members: [...range].map(({ key, value }) => [value, -key[1]]) };
  };
  const standing = (board, member) => {
    const stored = scores.get([board.id, member]);
    return stored && { rank: rank(board, stored), score: stored.score };
  };

  return {
    createGame: (name) => change(store, () => create("game", { name })),
    createBoard: (game, name) => change(store, () => boards.get(["game", game]) && create("board", { name, size: 0 })),
    find: (id) => boards.get(["board", id]),
    importAll: ({ id }, lines) => change(store, () => {
      const board = boards.get(["board", id]);
      for (const { member, score } of lines) put(board, member, score);
      boards.put(["board", id], board);
    }),
    submit: ({ id }, member, score) => change(store, () => {
      const board = boards.get(["board", id]);
      const old = scores.get([id, member]);
      const previous = { previous_rank: old ? rank(board, old) : null, previous_score: old?.score ?? null };
      if (old && old.score >= score) return { rank: previous.previous_rank, member, score: old.score, ...previous, changed: false };

      const stored = put(board, member, score);
      if (!old) boards.put(["board", id], board);
      return { rank: rank(board, stored), member, score, ...previous, changed: true };
    }),
    standing,
    top: (board, limit) => list(board, 1, limit),
    around: (board, member, distance) => {
      const middle = standing(board, member)?.rank;
      if (!middle) return null;
      const first = Math.max(middle - distance, 1);
      return list(board, first, middle - first + distance + 1);
    },
  };
};
