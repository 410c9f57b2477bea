// What applications do with mysql2, Node's most used driver of MySQL: one case each.
//
// In: the case's name; HOST, PORT, DB_USER, DB_PASSWORD, with the tables of test_gate_clients_node.py in place.
// Out: what the server answered, as one text, the same from any server that holds the same data. Exit status not 0
// if something that must hold anywhere does not.
'use strict';

const assert = require('node:assert/strict');
const buffer = require('node:buffer');
const { Readable } = require('node:stream');
const { setTimeout: sleep } = require('node:timers/promises');
const { inspect } = require('node:util');
const driver = require('mysql2');
const mysql = require('mysql2/promise');

const settings = (more) => ({
  host: process.env.HOST, port: Number(process.env.PORT), user: process.env.DB_USER, password: process.env.DB_PASSWORD, database: 'app', ...more,
});

async function connected(options, use) {
  const connection = await mysql.createConnection(settings(options));
  try {
    return await use(connection);
  } finally {
    connection.destroy();
  }
}

async function pooled(options, use) {
  const pool = mysql.createPool(settings(options));
  try {
    return await use(pool);
  } finally {
    await pool.end();
  }
}

/** Rows, or what a write has told, without GTIDs and the like: the session's state is another way's. */
const rowsOf = async (answer) => {
  const [rows] = await answer;
  delete rows.stateChanges;
  return rows;
};
const valueOf = async (answer) => Object.values((await rowsOf(answer))[0])[0];

/** What the server said against it; hosts and client addresses differ from way to way. */
async function refusal(answer) {
  try {
    await answer;
  } catch (error) {
    return [error.code, error.errno, error.sqlState, error.sqlMessage?.replace(/'@'[^']*'/, "'@'…'")];
  }
  return assert.fail('this was to be refused');
}

/** Settings that decide what values become. */
const CONVERSIONS = {
  usual: {},
  numbers: { supportBigNumbers: true },
  numbersAsText: { supportBigNumbers: true, bigNumberStrings: true },
  decimals: { decimalNumbers: true },
  dates: { dateStrings: true },
  someDates: { dateStrings: ['DATE'], timezone: '+05:30' },
  json: { jsonStrings: true },
  arrays: { rowsAsArray: true },
  nested: { nestTables: '.' },
  own: { typeCast: (field, next) => (field.type === 'NEWDECIMAL' ? `decimal ${field.string()}` : next()) },
  interpreted: { disableEval: true },
};

const byTheClock = (before) => assert.ok(Date.now() - before < 30_000, 'this takes too long');

const cases = {
  async values() {
    const found = {};
    for (const [name, options] of Object.entries(CONVERSIONS)) {
      await connected(options, async (connection) => {
        const text = 'SELECT v.* FROM node_values v ORDER BY id';
        found[name] = [await rowsOf(connection.query(text)), await rowsOf(connection.execute(text))];
        assert.ok(found[name].every((rows) => rows.length === 3), name);
      });
    }
    const [, largest] = found.numbersAsText[0];
    assert.equal(largest.unsigned_big, '18446744073709551615');
    assert.equal(largest.decimals, '99999999999999999999999999999999999.999999999999999999999999999999');
    assert.equal(found.dates[1][1].moment, '9999-12-31 23:59:59.999999');
    assert.deepEqual(found.usual[0][1].document, { text: 'ü 🦀', list: [1, 2.5, null] });
    return found;
  },

  /** Prepared and not, side by side on more requests than there are connections. */
  async pool() {
    const results = [];
    for (const resetOnRelease of [false, true]) {
      await pooled({ connectionLimit: 4, resetOnRelease }, async (pool) => {
        const ids = Array.from({ length: 60 }, (_, number) => number + 1);
        const read = (id) => pool[id % 2 ? 'execute' : 'query']('SELECT id, v, n, d, t, b FROM items WHERE id = ?', [id]);
        const answers = await Promise.all(ids.map((id) => rowsOf(read(id))));
        answers.forEach(([row], at) => assert.equal(row.v, `item ü ${ids[at]}`));
        results.push(answers);
      });
    }
    return results;
  },

  /** What is asked of the gate itself, each statement of STATEMENTS in text and prepared. */
  async questions() {
    const described = ([rows, columns]) => {
      const names = columns.map(({ name, columnType }) => `${name} ${driver.Types[columnType]},`);
      return `${names.join('')}\t${rows.length ? rows[0][columns[0].name] : null}`;
    };
    await connected({}, async (connection) => {
      for (const statement of process.env.STATEMENTS.split('\n')) {
        console.log(described(await connection.query(statement)));
        console.log(described(await connection.execute(statement, Array(statement.split('?').length - 1).fill(7))));
      }
    });
  },

  async prepared() {
    return connected({ maxPreparedStatements: 3, namedPlaceholders: true }, async (connection) => {
      const [results, anything] = [[], 'SELECT id, ? AS given FROM items WHERE id < ? ORDER BY id'];
      for (let number = 1; number <= 24; number++) {
        results.push(await rowsOf(connection.execute(`SELECT id + ${number % 6} AS more, v FROM items WHERE id = :id`, { id: number })));
      }
      for (const given of [null, 1.5, 7n, true, 'ü 🦀', Buffer.from([0, 255, 39]), new Date('2024-01-02T03:04:05.678Z'), { a: [1] }]) {
        // each anew: MySQL converts later parameters to what the first ones were
        const statement = await connection.prepare(anything);
        results.push(await rowsOf(statement.execute([given, 3])), await rowsOf(statement.execute([given, 2])));
        connection.unprepare(anything);
      }
      results.push(await rowsOf(connection.execute('SELECT id FROM items ORDER BY id LIMIT :some', { some: 2 })));
      return results;
    });
  },

  async stream() {
    return connected({}, async (connection) => {
      const sql = 'SELECT a.id, b.v FROM items a JOIN items b ON b.id <= 50 WHERE a.id > ?';
      const sums = [];
      for (const way of ['query', 'execute']) {
        let [rows, sum] = [0, 0];
        for await (const row of connection.connection[way](sql, [0]).stream({ highWaterMark: 7 })) {
          rows += 1;
          sum += row.id * row.v.length;
          if (rows % 10_000 === 0) await sleep(20);
        }
        assert.equal(rows, 50_000);
        sums.push(sum);
      }
      return sums;
    });
  },

  async readOnlyTransactions() {
    return connected({}, async (connection) => {
      const results = [];
      for (const begin of ['START TRANSACTION READ ONLY', 'START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY']) {
        await connection.query(begin);
        results.push(await rowsOf(connection.query('SELECT COUNT(*), SUM(n) FROM items')));
        results.push(await rowsOf(connection.execute('SELECT v FROM items WHERE id = ?', [9])));
        results.push(await refusal(connection.execute('UPDATE items SET n = n WHERE id = ?', [9])));
        await connection.commit();
      }
      return results;
    });
  },

  async transactions() {
    return connected({}, async (connection) => {
      const count = () => valueOf(connection.execute('SELECT COUNT(*) FROM node_writes'));
      await connection.query('DELETE FROM node_writes');
      await connection.beginTransaction();
      const before = await count();
      await connection.execute('INSERT INTO node_writes (v) VALUES (?)', ['lost']);
      const inside = await count();
      await connection.rollback();
      await connection.query('SET autocommit = 0');
      await connection.query('INSERT INTO node_writes (v) VALUES (?)', ['kept']);
      await connection.query('SAVEPOINT s');
      await connection.query("INSERT INTO node_writes (v) VALUES ('lost too')");
      await connection.query('ROLLBACK TO s');
      await connection.commit();
      const kept = await rowsOf(connection.query('SELECT v FROM node_writes'));
      await connection.rollback();
      assert.deepEqual([before, inside, kept], [0, 1, [{ v: 'kept' }]]);
      return kept;
    });
  },

  async writes() {
    return pooled({ connectionLimit: 3, supportBigNumbers: true }, async (pool) => {
      const told = [];
      const write = async (way, sql, values) => told.push(await rowsOf(pool[way](sql, values)));
      await write('query', 'TRUNCATE node_writes');
      await write('query', 'INSERT INTO node_writes (v) VALUES ?', [[['one'], ['two'], ["'; DROP TABLE items; --"]]]);
      await write('execute', 'INSERT INTO node_writes (v, big) VALUES (?, ?)', ['four', '9223372036854775807']);
      await write('execute', 'UPDATE node_writes SET v = ? WHERE id <= ?', ['one', 2]);
      await write('query', 'UPDATE node_writes SET ? WHERE id = ?', [{ v: 'é', document: JSON.stringify({ a: 1 }) }, 3]);
      await write('query', "INSERT INTO node_writes (id, v) VALUES (9007199254740993, 'beyond doubles')");
      await write('query', 'DELETE FROM node_writes WHERE id = 4');
      const large = Buffer.alloc(17 << 20, 'packets of 16 MiB');
      await write('execute', 'INSERT INTO node_writes (id, content) VALUES (?, ?)', [50, large]);
      for (let number = 0; number < 40; number++) {
        await pool.execute('UPDATE node_writes SET big = ? WHERE id = 1', [number]);
        assert.equal(await valueOf(pool.query('SELECT big FROM node_writes WHERE id = 1')), number);
      }
      assert.ok(large.equals(await valueOf(pool.execute('SELECT content FROM node_writes WHERE id = 50'))));
      assert.equal(told[5].insertId, '9007199254740993');
      return [told, await rowsOf(pool.query('SELECT id, v, big, document FROM node_writes ORDER BY id'))];
    });
  },

  async multipleStatements() {
    const sql = "SELECT 1 AS a; UPDATE items SET n = n WHERE id = 1; SELECT v FROM items WHERE id = 2; SELECT * FROM nothing; SELECT 'not reached'";
    const alone = await connected({}, (connection) => refusal(connection.query(sql)));
    return connected({ multipleStatements: true }, async (connection) => {
      const [good] = await connection.query(sql.replace(/SELECT \* FROM nothing;/, ''));
      const bad = await refusal(connection.query(sql));
      assert.deepEqual(good[2], [{ v: 'item ü 2' }]);
      await connection.query('CREATE PROCEDURE IF NOT EXISTS node_results() BEGIN SELECT 1 AS a; SELECT id, v FROM items WHERE id < 3 ORDER BY id; END');
      return [alone, good, bad, await rowsOf(connection.query('CALL node_results()')), await rowsOf(connection.execute('CALL node_results()'))];
    });
  },

  /** A changed user, a session that is as new. */
  async sessions() {
    return connected({}, async (connection) => {
      const [statement, seen] = ['SELECT v FROM items WHERE id = ?', []];
      seen.push(await rowsOf(connection.execute(statement, [1])));
      await connection.query("SET @a = 1, SESSION sql_select_limit = 2, time_zone = '+03:00'");
      await connection.query('CREATE TEMPORARY TABLE node_temporary (id INT PRIMARY KEY)');
      seen.push((await rowsOf(connection.query('SELECT id FROM items'))).length);
      await connection.reset();
      seen.push(await rowsOf(connection.query('SELECT @a, @@session.time_zone')), (await rowsOf(connection.query('SELECT id FROM items'))).length);
      seen.push(await refusal(connection.query('SELECT * FROM node_temporary')), await rowsOf(connection.execute(statement, [1])));
      await connection.changeUser({ user: process.env.OTHER_USER, password: process.env.OTHER_PASSWORD, database: process.env.OTHER_USER });
      seen.push(await rowsOf(connection.query('SELECT CURRENT_USER(), DATABASE()')), await refusal(connection.query('SELECT * FROM app.items')));
      seen.push(await refusal(connection.execute('SELECT v FROM app.items WHERE id = ?', [1])));
      await connection.ping();
      return seen;
    });
  },

  /** With TLS set to nothing but `ssl`, or plain; the whole way of caching_sha2_password, then the short one. */
  async login() {
    const [keys, seen] = [[], []];
    const authPlugins = { caching_sha2_password: driver.authPlugins.caching_sha2_password({ onServerPublicKey: (key) => keys.push(key) }) };
    const ssl = process.env.TLS && { rejectUnauthorized: false };
    for (const time of ['first', 'second']) {
      await connected({ authPlugins, ...(ssl && { ssl }) }, async (connection) => {
        assert.equal(Boolean(connection.connection.stream.encrypted), Boolean(ssl), time);
        seen.push(await rowsOf(connection.query('SELECT CURRENT_USER()')), await rowsOf(connection.execute('SELECT COUNT(*) FROM items')));
      });
    }
    const wrong = await refusal(connected({ password: 'wrong', ...(ssl && { ssl }) }, () => {}));
    assert.equal(wrong[1], 1045);
    return [seen, wrong, keys.length];
  },

  async loadData() {
    const line = (_, number) => Buffer.from(`${number + 1}\trow ü ${number} ${'x'.repeat(99)}\n`);
    const lines = (count) => Readable.from(Array.from({ length: count }, line));
    const load = (path, factory) => ({ sql: `LOAD DATA LOCAL INFILE '${path}' INTO TABLE node_loaded CHARACTER SET utf8mb4 (id, v)`, infileStreamFactory: factory });
    return connected({}, async (connection) => {
      await connection.query('TRUNCATE node_loaded');
      const told = [await rowsOf(connection.query(load('none', () => Readable.from([]))))];
      told.push(await rowsOf(connection.query(load('many', () => lines(20_000)))));
      told.push(await rowsOf(connection.query(load('twice', () => lines(5)))), await rowsOf(connection.query('SHOW WARNINGS')));
      const unreadable = connection.query(load('unreadable', () => new Readable({ read() { this.destroy(new Error('unreadable')); } })));
      await assert.rejects(unreadable, /unreadable/);
      told.push(await rowsOf(connection.query('SELECT COUNT(*), SUM(id), MAX(v), SUM(LENGTH(v)) FROM node_loaded')));
      return told;
    });
  },

  async errors() {
    return connected({}, async (connection) => {
      const seen = [];
      for (const sql of ['SELECT * FROM nothing', 'SELECT nothing FROM items', 'SELEKT 1', 'SELECT * FROM mysql.user', 'INSERT INTO items (id) VALUES (1)',
        "INSERT INTO items (id, n) VALUES (-1, 'much')", 'USE mysql', 'SELECT 1 FROM items WHERE id = (SELECT id FROM items)']) {
        seen.push([sql, await refusal(connection.query(sql)), await refusal(connection.execute(sql))]);
      }
      seen.push(await rowsOf(connection.query('SELECT 1')));
      return seen;
    });
  },

  async kill() {
    const before = Date.now();
    return connected({}, async (victim) => connected({}, async (other) => {
      const ended = [];
      const slow = 'SELECT SUM(a.n * b.n * c.n * d.n) FROM items a, items b, items c, items d';
      const update = 'UPDATE items SET n = n WHERE SLEEP(30) = 0';
      for (const start of [() => victim.query(slow), () => victim.execute(slow), () => victim.query(update)]) {
        let running = true;
        const answer = refusal(start()).finally(() => { running = false; });
        while (running) {
          await other.query(`KILL QUERY ${victim.threadId}`);
          await sleep(100);
        }
        ended.push(await answer, await rowsOf(victim.query('SELECT 1')));
        byTheClock(before);
      }
      ended.push(await refusal(victim.query({ sql: 'SELECT SLEEP(5)', timeout: 300 })));
      victim.destroy();
      return ended;
    }));
  },

  async killedConnection() {
    return connected({}, async (victim) => connected({}, async (other) => {
      const lost = new Promise((resolve) => { victim.on('error', resolve); });
      await other.query(`KILL ${victim.threadId}`);
      const { code, fatal } = await lost;
      return [code, fatal];
    }));
  },
};

async function main() {
  buffer.INSPECT_MAX_BYTES = 4096;
  const chosen = cases[process.argv[2]];
  assert.ok(chosen, `no case ${process.argv[2]}, but ${Object.keys(cases)}`);
  console.log(inspect(await chosen(), { depth: null, maxArrayLength: null, maxStringLength: 1000, breakLength: 120 }));
}

main().catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
