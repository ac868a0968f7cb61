// specs/items.md in LMDB, as far as the lab measures it. Each item has one position among all and among those of each of its tags, without holes, so
// that a draw is one number and two look-ups by key. What was acknowledged outlives the process: it is written, and not synced.
"use strict";
const { createHash, randomInt, randomUUID } = require("node:crypto");
const path = require("node:path");
const { open } = require("lmdb");
const { Problem, answerProblems, change } = require("./problem");

const ALL = "";

module.exports = (fastify, folder) => {
  const store = open({ path: path.join(folder, "items.lmdb"), noSync: true, encoding: "json" });
  const items = store.openDB("items", { encoding: "string" }); // uuid: document
  const places = store.openDB("places", { encoding: "string" }); // scope, position: uuid
  const positions = store.openDB("positions", { encoding: "json" }); // uuid: an object of scope: position
  const totals = store.openDB("totals", { encoding: "json" }); // scope: how many; "/ids": the last id

  answerProblems(fastify);
  const total = (scope) => totals.get(scope) ?? 0;
  const found = (uuid) => items.get(uuid) ?? (() => { throw new Problem(404, "item_not_found"); })();
  const drawn = (scope) => items.get(places.get([scope, randomInt(total(scope))]));
  const json = (reply, document) => reply.type("application/json").send(document);

  fastify.get("/items/random", (request, reply) => {
    const scope = request.query.tag ?? ALL;
    if (total(scope) === 0) throw new Problem(404, "no_items");
    reply.header("cache-control", "no-store");
    if (!request.query.n) return json(reply, drawn(scope));

    const documents = new Set();
    while (documents.size < Math.min(Number(request.query.n), total(scope))) documents.add(drawn(scope));
    return json(reply, `{"items":[${[...documents].join(",")}]}`);
  });

  fastify.post("/items", async (request, reply) => {
    const { name, description = "", tags: given = [] } = request.body ?? {};
    if (typeof name !== "string" || name === "") throw new Problem(400, "validation_failed");
    const [uuid, created_at, tags] = [randomUUID(), new Date().toISOString(), [...new Set(given)]];
    const hash_code = createHash("sha1").update(`${name}-${uuid}-${created_at}`).digest("hex");
    const document = await change(store, () => {
      const id = total("/ids") + 1;
      totals.put("/ids", id);
      const own = {};
      for (const scope of [ALL, ...tags]) {
        own[scope] = total(scope);
        places.put([scope, own[scope]], uuid);
        totals.put(scope, own[scope] + 1);
      }
      positions.put(uuid, own);
      const text = JSON.stringify({ id, uuid, name, hash_code, created_at, description, tags });
      items.put(uuid, text);
      return text;
    });
    return json(reply.code(201).header("location", `http://${request.headers.host}/items/${uuid}`), document);
  });

  fastify.get("/items/:uuid", (request, reply) => json(reply, found(request.params.uuid)));

  fastify.delete("/items/:uuid", async (request, reply) => {
    const { uuid } = request.params;
    await change(store, () => {
      found(uuid);
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
    });
    return reply.code(204).send();
  });
};
