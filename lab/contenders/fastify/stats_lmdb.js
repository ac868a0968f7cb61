// Events in LMDB, a record for each. What was acknowledged outlives the process: it is written, many at a time, and not synced.
"use strict";
const path = require("node:path");
const { open } = require("lmdb");

module.exports = async (folder) => {
  const events = open({ path: path.join(folder, "stats.lmdb"), noSync: true, encoding: "json" }); // accepted_ms, number: event
  let number = 0;

  return {
    put: (event) => events.put([event.accepted_ms, (number += 1)], event),
    count: () => events.getKeysCount(),
    sums: (since, unit) => {
      const buckets = new Map();
      for (const { value } of events.getRange({ start: [since] })) {
        const at = value.accepted_ms - (value.accepted_ms % unit);
        const bucket = buckets.get(at) ?? { at, events: 0, bots: 0, visitors: new Set() };
        bucket.events += 1;
        if (value.bot) bucket.bots += 1;
        bucket.visitors.add(value.visitor);
        buckets.set(at, bucket);
      }
      return [...buckets.values()].map(({ visitors, ...counts }) => ({ ...counts, visitors: visitors.size }));
    },
  };
};
