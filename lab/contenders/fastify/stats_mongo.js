// Events behind MongoDB's protocol, a document for each.
"use strict";
const { MongoClient } = require("mongodb");

module.exports = async (url) => {
  const events = (await new MongoClient(url, { directConnection: true }).connect()).db().collection("events");
  await events.createIndex({ accepted_ms: 1 });

  return {
    put: (event) => events.insertOne(event),
    count: () => events.countDocuments(),
    sums: async (since, unit) => {
      const rows = await events.aggregate([
        { $match: { accepted_ms: { $gte: since } } },
        { $group: {
          _id: { $subtract: ["$accepted_ms", { $mod: ["$accepted_ms", unit] }] }, events: { $sum: 1 },
          bots: { $sum: { $cond: [{ $eq: ["$bot", null] }, 0, 1] } }, visitors: { $addToSet: "$visitor" },
        } },
        { $sort: { _id: 1 } },
      ]).toArray();
      return rows.map(({ _id, events: total, bots, visitors }) => ({ at: Number(_id), events: total, bots, visitors: visitors.length }));
    },
  };
};
