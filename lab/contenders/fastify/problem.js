// What the APIs in Fastify have in common: refusals as problem documents, and changes in LMDB's write transactions.
"use strict";
const { randomBytes } = require("node:crypto");
const { STATUS_CODES } = require("node:http");

class Problem extends Error {
  constructor(status, code) {
    super(code.replaceAll("_", " "));
    this.status = status;
    this.code = code;
  }

  toJSON() {
    return { type: "about:blank", title: STATUS_CODES[this.status], status: this.status, detail: this.message, code: this.code, request_id: randomBytes(8).toString("hex") };
  }
}

const answerProblems = (fastify) => fastify.setErrorHandler((error, request, reply) => {
  const problem = error instanceof Problem ? error : new Problem(error.statusCode ?? 500, error.statusCode < 500 ? "invalid_body" : "internal_error");
  return reply.code(problem.status).header("cache-control", "no-store").type("application/problem+json").send(JSON.stringify(problem));
});

// Runs work in a write transaction, of which LMDB makes one out of many. An exception in there would end all of them, so it is carried out of it.
const change = async (store, work) => {
  let result, error;
  await store.transaction(() => {
    try { result = work(); } catch (thrown) { error = thrown; }
  });
  if (error) throw error;
  return result;
};

module.exports = { Problem, answerProblems, change };
