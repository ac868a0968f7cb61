// Items in PostgreSQL or MariaDB, in the tables of ../ruby_apis/items.rb: a draw is one statement.
"use strict";
const { randomInt } = require("node:crypto");
const connect = require("./sql");

const LOOK = `SELECT s.total, p.position, i.document FROM scopes s LEFT JOIN places p ON p.scope = s.name AND p.position = ?
  LEFT JOIN items i ON i.id = p.item_id WHERE s.name = ?`;

module.exports = async (url) => {
  const database = connect(url);
  const { rows, transaction } = database;
  await rows(`CREATE TABLE IF NOT EXISTS items (id ${database.id}, uuid char(36) NOT NULL UNIQUE, document text NOT NULL)`);
  await rows("CREATE TABLE IF NOT EXISTS scopes (name varchar(64) PRIMARY KEY, total bigint NOT NULL)");
  await rows("CREATE TABLE IF NOT EXISTS places (scope varchar(64) NOT NULL, position bigint NOT NULL, item_id bigint NOT NULL, PRIMARY KEY (scope, position))");
  await rows("CREATE INDEX IF NOT EXISTS index_places_on_item_id ON places (item_id)");

  const lockedTotal = async (using, scope) => Number((await using("SELECT total FROM scopes WHERE name = ? FOR UPDATE", scope))[0].total);
  // How many items a scope had when it was last looked at. A draw out of another number is not fair, and is made again.
  const totals = new Map();

  return {
    draw: async (scope, wanted) => {
      let known = totals.get(scope) ?? 1;
      let drawn = new Map();
      while (drawn.size < Math.min(wanted, known)) {
        const [found] = await rows(LOOK, randomInt(known), scope);
        const total = Number(found?.total ?? 0);
        if (total === 0) return [];
        if (total !== known) {
          totals.set(scope, total);
          [known, drawn] = [total, new Map()];
        } else if (found.document) {
          drawn.set(found.position, found.document);
        }
      }
      return [...drawn.values()];
    },
    insert: (uuid, scopes, documentOf) => transaction(async (using) => {
      const id = Number(await database.insert(using, "INSERT INTO items (uuid, document) VALUES (?, ?)", uuid, ""));
      const document = documentOf(id);
      await using("UPDATE items SET document = ? WHERE id = ?", document, id);
      for (const scope of scopes) {
        await using(database.ignore("INSERT INTO scopes (name, total) VALUES (?, 0)", "name"), scope);
        const position = await lockedTotal(using, scope);
        await using("INSERT INTO places (scope, position, item_id) VALUES (?, ?, ?)", scope, position, id);
        await using("UPDATE scopes SET total = ? WHERE name = ?", position + 1, scope);
      }
      return document;
    }),
    get: async (uuid) => (await rows("SELECT document FROM items WHERE uuid = ?", uuid))[0]?.document,
    remove: (uuid) => transaction(async (using) => {
      const [item] = await using("SELECT id FROM items WHERE uuid = ?", uuid);
      if (!item) return false;
      // The last item of each scope moves into the hole.
      for (const { scope, position } of await using("SELECT scope, position FROM places WHERE item_id = ?", item.id)) {
        const last = (await lockedTotal(using, scope)) - 1;
        await using("DELETE FROM places WHERE scope = ? AND position = ?", scope, position);
        await using("UPDATE places SET position = ? WHERE scope = ? AND position = ?", position, scope, last);
        await using("UPDATE scopes SET total = ? WHERE name = ?", last, scope);
      }
      await using("DELETE FROM items WHERE id = ?", item.id);
      return true;
    }),
  };
};
