// Events in MariaDB or PostgreSQL, a row for each.
"use strict";
const connect = require("./sql");

const SUMS = `SELECT accepted_ms - accepted_ms % ? AS at_ms, COUNT(*) AS events, COUNT(bot) AS bots, COUNT(DISTINCT visitor) AS visitors FROM events
  WHERE accepted_ms >= ? GROUP BY 1 ORDER BY 1`;

module.exports = async (url) => {
  const { id, rows } = connect(url);
  await rows(`CREATE TABLE events (id ${id}, accepted_ms bigint NOT NULL, path varchar(255) NOT NULL, params text NOT NULL, headers text NOT NULL,
    ip varchar(64), visitor varchar(64), bot varchar(16))`);
  await rows("CREATE INDEX events_by_time ON events (accepted_ms)");

  return {
    put: (event) => rows("INSERT INTO events (accepted_ms, path, params, headers, ip, visitor, bot) VALUES (?, ?, ?, ?, ?, ?, ?)", event.accepted_ms, event.path,
      JSON.stringify(event.params), JSON.stringify(event.headers), event.ip, event.visitor, event.bot),
    count: async () => Number((await rows("SELECT COUNT(*) AS total FROM events"))[0].total),
    sums: async (since, unit) => (await rows(SUMS, unit, since)).map((row) => (
      { at: Number(row.at_ms), events: Number(row.events), bots: Number(row.bots), visitors: Number(row.visitors) })),
  };
};
