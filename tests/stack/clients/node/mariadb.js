// What applications do with MariaDB's driver for Node, which sends statements without waiting for the answers before.
//
// In, out: as mysql2.js.
'use strict';

const assert = require('node:assert/strict');
const { inspect } = require('node:util');
const mariadb = require('mariadb');

const settings = (more) => ({
  host: process.env.HOST, port: Number(process.env.PORT), user: process.env.DB_USER, password: process.env.DB_PASSWORD, database: 'app',
  allowPublicKeyRetrieval: true, ...more,
});

async function connected(options, use) {
  const connection = await mariadb.createConnection(settings(options));
  try {
    return await use(connection);
  } finally {
    connection.destroy();
  }
}

const refusal = (answer) => answer.then(() => assert.fail('this was to be refused'), ({ code, errno, sqlState }) => [code, errno, sqlState]);

const cases = {
  /** A hundred questions at once on one connection, some of them wrong: each gets its own answer. */
  async pipeline() {
    return connected({}, async (connection) => Promise.all(Array.from({ length: 100 }, (_, number) => {
      if (number % 10 === 7) return refusal(connection.query('SELECT n FROM items WHERE id = (SELECT id FROM items)'));
      const way = number % 2 ? 'execute' : 'query';
      return connection[way]('SELECT id, v, n, d, t, b FROM items WHERE id = ?', [number + 1]);
    })));
  },

  async values() {
    const sql = 'SELECT * FROM node_values ORDER BY id';
    return Promise.all([{}, { bigIntAsNumber: true, decimalAsNumber: true, dateStrings: true }, { rowsAsArray: true, ssl: { rejectUnauthorized: false } }]
      .map((options) => connected(options, async (connection) => [await connection.query(sql), await connection.execute(sql)])));
  },

  async writes() {
    const pool = mariadb.createPool(settings({ connectionLimit: 3 }));
    try {
      await pool.query('TRUNCATE node_writes');
      const told = [await pool.batch('INSERT INTO node_writes (v, big) VALUES (?, ?)', Array.from({ length: 60 }, (_, number) => [`row ${number}`, BigInt(number)]))];
      told.push(await pool.execute('UPDATE node_writes SET v = ? WHERE id <= ?', ['é', 10]));
      const connection = await pool.getConnection();
      await connection.beginTransaction();
      const inside = Promise.all([connection.query('DELETE FROM node_writes'), connection.query('SELECT COUNT(*) AS c FROM node_writes'), connection.rollback()]);
      told.push((await inside).slice(0, 2));
      await connection.release();
      told.push(await pool.query('SELECT id, v, big FROM node_writes ORDER BY id'));
      return told;
    } finally {
      await pool.end();
    }
  },
};

async function main() {
  console.log(inspect(await cases[process.argv[2]](), { depth: null, maxArrayLength: null, breakLength: 120 }));
}

main().catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
