// Links in LMDB. Writes are batched as the library advises: many in one transaction, each awaited. What was acknowledged outlives the process: it is
// written, and not synced.
"use strict";
const path = require("node:path");
const { open } = require("lmdb");
const { change } = require("./problem");

module.exports = async (folder) => {
  const links = open({ path: path.join(folder, "links.lmdb"), noSync: true, sharedStructuresKey: Symbol.for("structures") });

  return {
    get: (code) => links.get(code),
    insert: (link) => change(links, () => {
      if (links.get(link.code)) return false;
      links.put(link.code, link);
      return true;
    }),
    change: (code, work) => change(links, () => {
      const old = links.get(code);
      if (!old) return null;
      const changed = work(old);
      links.put(code, changed);
      return changed;
    }),
    remove: (code) => change(links, () => links.get(code) !== undefined && links.remove(code)),
    // Counts in the transaction that looks up; null when there is nothing to count.
    visit: (code, refusal) => change(links, () => {
      const link = links.get(code);
      if (refusal(link)) return null;
      link.visits += 1;
      links.put(code, link);
      return link;
    }),
  };
};
