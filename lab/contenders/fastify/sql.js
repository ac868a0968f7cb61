// A pool of connections to the PostgreSQL or MariaDB of a URL, with prepared statements on both: what the APIs need of pg and mysql2.
"use strict";

const CONNECTIONS = 10;

// PostgreSQL counts its places.
const numbered = new Map();
const number = (text) => {
  if (!numbered.has(text)) {
    let place = 0;
    numbered.set(text, { name: `s${numbered.size}`, text: text.replace(/\?/g, () => `$${(place += 1)}`) });
  }
  return numbered.get(text);
};

const postgres = (url) => {
  const { Pool } = require("pg");
  const pool = new Pool({ connectionString: url, max: CONNECTIONS });
  const on = (connection) => async (text, ...values) => (await connection.query({ ...number(text), values })).rows;
  return {
    id: "bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
    ignore: (insert) => `${insert} ON CONFLICT DO NOTHING`,
    rows: on(pool),
    insert: async (rows, text, ...values) => (await rows(`${text} RETURNING id`, ...values))[0].id,
    lend: async (work) => {
      const connection = await pool.connect();
      try { return await work(on(connection)); } finally { connection.release(); }
    },
  };
};

const mysql = (url) => {
  const pool = require("mysql2/promise").createPool({ uri: url, connectionLimit: CONNECTIONS });
  const on = (connection) => async (text, ...values) => (await connection.execute(text, values))[0];
  return {
    id: "bigint NOT NULL AUTO_INCREMENT PRIMARY KEY",
    // INSERT IGNORE would take a shared lock, and two of them a deadlock.
    ignore: (insert, key) => `${insert} ON DUPLICATE KEY UPDATE ${key} = ${key}`,
    rows: on(pool),
    insert: async (rows, text, ...values) => (await rows(text, ...values)).insertId,
    lend: async (work) => {
      const connection = await pool.getConnection();
      try { return await work(on(connection)); } finally { connection.release(); }
    },
  };
};

// rows(text, ...values) gives a statement's rows, transaction(work) the value of work(rows), insert(rows, text, ...values) the new id.
module.exports = (url) => {
  const { lend, ...database } = url.startsWith("postgres") ? postgres(url) : mysql(url);
  const transaction = (work) => lend(async (rows) => {
    await rows("BEGIN");
    try {
      const result = await work(rows);
      await rows("COMMIT");
      return result;
    } catch (error) {
      await rows("ROLLBACK");
      throw error;
    }
  });
  return { ...database, transaction };
};
