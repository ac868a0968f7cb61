// Items behind MongoDB's protocol, in the collections of ../ruby_apis/items/documents.rb: a place, SCOPE/POSITION, has a copy of its item's document, and
// a scope its total, so that a draw is one query.
"use strict";
const { randomInt } = require("node:crypto");
const { MongoClient } = require("mongodb");

const IDS = "/ids";

module.exports = async (url) => {
  const database = (await new MongoClient(url, { directConnection: true }).connect()).db();
  const items = database.collection("items"); // _id: uuid; document, places: pairs of scope and position
  const places = database.collection("places"); // _id: scope, with the total, or scope/position, with uuid and document

  const at = (scope, position) => `${scope}/${position}`;
  const count = async (name, change) => (
    (await places.findOneAndUpdate({ _id: name }, { $inc: { total: change } }, { upsert: true, returnDocument: "after" })).total);
  // Changes of several documents follow each other. A draw that sees half of one is made again.
  let changes = Promise.resolve();
  const change = (work) => {
    const done = changes.then(work);
    changes = done.catch(() => null);
    return done;
  };
  // How many items a scope had when it was last looked at. A draw out of another number is not fair, and is made again.
  const totals = new Map();

  return {
    draw: async (scope, wanted) => {
      let known = totals.get(scope) ?? 1;
      let drawn = new Map();
      while (drawn.size < Math.min(wanted, known)) {
        const place = at(scope, randomInt(known));
        const found = new Map((await places.find({ _id: { $in: [scope, place] } }).toArray()).map((one) => [one._id, one]));
        const total = found.get(scope)?.total ?? 0;
        if (total === 0) return [];
        if (total !== known) {
          totals.set(scope, total);
          [known, drawn] = [total, new Map()];
        } else if (found.has(place)) {
          drawn.set(place, found.get(place).document);
        }
      }
      return [...drawn.values()];
    },
    insert: (uuid, scopes, documentOf) => change(async () => {
      const document = documentOf(await count(IDS, 1));
      const own = [];
      for (const scope of scopes) own.push([scope, (await count(scope, 1)) - 1]);
      await items.insertOne({ _id: uuid, document, places: own });
      await places.insertMany(own.map(([scope, position]) => ({ _id: at(scope, position), uuid, document })));
      return document;
    }),
    get: async (uuid) => (await items.findOne({ _id: uuid }))?.document,
    remove: (uuid) => change(async () => {
      const item = await items.findOneAndDelete({ _id: uuid });
      if (!item) return false;
      // The last item of each scope moves into the hole.
      for (const [scope, hole] of item.places) {
        const last = await count(scope, -1);
        const mover = await places.findOneAndDelete({ _id: at(scope, last) });
        if (last === hole) continue;
        await places.replaceOne({ _id: at(scope, hole) }, { uuid: mover.uuid, document: mover.document });
        const { places: others } = await items.findOne({ _id: mover.uuid });
        await items.updateOne({ _id: mover.uuid }, { $set: { places: others.map(([one, old]) => [one, one === scope ? hole : old]) } });
      }
      return true;
    }),
  };
};
