// Items in LMDB: a draw is two look-ups by key. What was acknowledged outlives the process: it is written, and not synced.
"use strict";
const { randomInt } = require("node:crypto");
const path = require("node:path");
const { open } = require("lmdb");
const { change } = require("./problem");

module.exports = async (folder) => {
  const store = open({ path: path.join(folder, "items.lmdb"), noSync: true, encoding: "json" });
  const items = store.openDB("items", { encoding: "string" }); // uuid: document
  const places = store.openDB("places", { encoding: "string" }); // scope, position: uuid
  const positions = store.openDB("positions", { encoding: "json" }); // uuid: an object of scope: position
  const totals = store.openDB("totals", { encoding: "json" }); // scope: how many; "/ids": the last id

  const total = (scope) => totals.get(scope) ?? 0;
  // Stores an item at the end of all its scopes; runs in a write transaction.
  const put = (id, uuid, scopes, document) => {
    totals.put("/ids", id);
    const own = {};
    for (const scope of scopes) {
      own[scope] = total(scope);
      places.put([scope, own[scope]], uuid);
      totals.put(scope, own[scope] + 1);
    }
    positions.put(uuid, own);
    items.put(uuid, document);
    return document;
  };

  return {
    draw: (scope, wanted) => {
      const drawn = new Set();
      while (drawn.size < Math.min(wanted, total(scope))) drawn.add(randomInt(total(scope)));
      return [...drawn].map((position) => items.get(places.get([scope, position])));
    },
    insert: (uuid, scopes, documentOf) => change(store, () => {
      const id = total("/ids") + 1;
      return put(id, uuid, scopes, documentOf(id));
    }),
    insertAll: (all) => change(store, () => all.forEach(({ id, uuid, scopes, document }) => put(id, uuid, scopes, document))),
    close: () => store.close(),
    get: (uuid) => items.get(uuid),
    remove: (uuid) => change(store, () => {
      if (!items.get(uuid)) return false;
      // The last item of each scope moves into the hole.
      for (const [scope, hole] of Object.entries(positions.get(uuid))) {
        const last = total(scope) - 1;
        const mover = places.get([scope, last]);
        places.put([scope, hole], mover);
        positions.put(mover, { ...positions.get(mover), [scope]: hole });
        places.remove([scope, last]);
        totals.put(scope, last);
      }
      positions.remove(uuid);
      items.remove(uuid);
      return true;
    }),
  };
};
