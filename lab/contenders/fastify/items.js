// specs/items.md as far as the lab measures it, in LMDB or on a database server. Each item has one position among all and among those of each of its
// tags, without holes, so that a draw is one number.
"use strict";
const { createHash, randomUUID } = require("node:crypto");
const { Problem, answerProblems } = require("./problem");

const ALL = "";

const open = (folder, url) => {
  if (!url) return require("./items_lmdb")(folder);
  return url.startsWith("mongodb:") ? require("./items_mongo")(url) : require("./items_sql")(url);
};

module.exports = async (fastify, folder, url) => {
  const items = await open(folder, url);

  answerProblems(fastify);
  const json = (reply, document) => reply.type("application/json").send(document);

  fastify.get("/items/random", async (request, reply) => {
    const { tag, n } = request.query;
    const documents = await items.draw(tag ?? ALL, n ? Number(n) : 1);
    if (documents.length === 0) throw new Problem(404, "no_items");
    return json(reply.header("cache-control", "no-store"), n ? `{"items":[${documents.join(",")}]}` : documents[0]);
  });

  fastify.post("/items", async (request, reply) => {
    const { name, description = "", tags: given = [] } = request.body ?? {};
    if (typeof name !== "string" || name === "") throw new Problem(400, "validation_failed");
    const [uuid, created_at, tags] = [randomUUID(), new Date().toISOString(), [...new Set(given)]];
    const hash_code = createHash("sha1").update(`${name}-${uuid}-${created_at}`).digest("hex");
    const document = await items.insert(uuid, [ALL, ...tags], (id) => JSON.stringify({ id, uuid, name, hash_code, created_at, description, tags }));
    return json(reply.code(201).header("location", `http://${request.headers.host}/items/${uuid}`), document);
  });

  fastify.get("/items/:uuid", async (request, reply) => {
    const document = await items.get(request.params.uuid);
    if (!document) throw new Problem(404, "item_not_found");
    return json(reply, document);
  });

  fastify.delete("/items/:uuid", async (request, reply) => {
    if (!(await items.remove(request.params.uuid))) throw new Problem(404, "item_not_found");
    return reply.code(204).send();
  });
};
