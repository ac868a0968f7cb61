// The plain answers in Fastify, with a schema for the object as its manual advises.
"use strict";

const item = {
  type: "object",
  properties: { id: { type: "integer" }, title: { type: "string" }, done: { type: "boolean" }, tags: { type: "array", items: { type: "string" } } },
};

module.exports = (fastify) => {
  fastify.get("/hello", (request, reply) => reply.type("text/plain").send("hello world"));
  fastify.get("/json", { schema: { response: { 200: item } } }, (request, reply) => reply.send({ id: 42, title: "hello world", done: false, tags: ["ruby", "rust"] }));
  fastify.get("/sleep", async (request, reply) => {
    await new Promise((resolve) => setTimeout(resolve, 50));
    return reply.type("text/plain").send("slept");
  });
};
