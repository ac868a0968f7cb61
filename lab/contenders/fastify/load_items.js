// Fills the LMDB of items_lmdb.js with the documents of a file, one in a line, as so many requests would: `node load_items.js FILE FOLDER`.
"use strict";
const { createReadStream } = require("node:fs");
const { createInterface } = require("node:readline");
const openItems = require("./items_lmdb");

const BATCH = 10_000;
const ALL = "";

const load = async (file, folder) => {
  const items = await openItems(folder);
  let documents = [];
  const store = async () => {
    await items.insertAll(documents.map((document) => {
      const { id, uuid, tags } = JSON.parse(document);
      return { id, uuid, scopes: [ALL, ...tags], document };
    }));
    documents = [];
  };
  for await (const line of createInterface({ input: createReadStream(file) })) if (documents.push(line) === BATCH) await store();
  await store();
  await items.close();
};
const [file, folder] = process.argv.slice(2);
load(file, folder);
