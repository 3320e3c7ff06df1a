// The cases of all clients in Node; each is a file in clients/, which says what it can do.
'use strict';
const { createHash } = require('node:crypto');
const { readFileSync } = require('node:fs');
const { join } = require('node:path');

const env = process.env;
const client = require(`./clients/${process.argv[2]}.js`);
const mask = (text) => text.replaceAll(env.DB_SCHEMA, 'SCHEMA');
const pause = (ms) => new Promise((done) => setTimeout(done, ms));
const hash = (data) => createHash('sha256').update(data).digest('hex');

// --- printing ------------------------------------------------------------------

function show(value) {
  if (value === null || value === undefined) return 'NULL';
  if (Buffer.isBuffer(value)) return value.length > 40 ? `bytes:${value.length}:${hash(value)}` : `x'${value.toString('hex')}'`;
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'Date(invalid)' : `Date(${value.toISOString()})`;
  if (typeof value === 'bigint') return `${value}n`;
  if (typeof value === 'string') return JSON.stringify(value.length > 80 ? `${value.length}:${hash(value)}` : value);
  if (Array.isArray(value)) return `[${value.map(show).join(', ')}]`;
  if (typeof value === 'object') return `{${Object.entries(value).map(([k, v]) => `${k}: ${show(v)}`).join(', ')}}`;
  return String(value);
}

function fault(thrown) {
  const e = thrown.original ?? thrown.driverError ?? thrown;
  const text = e.sqlMessage ?? e.message ?? String(e);
  return `error ${e.errno ?? '-'} ${e.sqlState || '-'} ${e.code ?? '-'} ${text.split('\n')[0]}`;
}

let current;
const say = (what) => console.log(mask(`${current}: ${what}`));
const tell = async (what, promise) => {
  try {
    say(`${what} = ${show(await promise)}`);
  } catch (e) {
    say(`${what} = ${fault(e)}`);
  }
};

// open with a session that is closed in any case.
async function using(options, work) {
  const session = await client.open(options);
  try {
    return await work(session);
  } finally {
    await session.close().catch(() => {});
  }
}
const value = async (session, sql, values) => Object.values((await session.query(sql, values))[0])[0];
const has = (name) => (session) => typeof session[name] === 'function';

// --- the cases -----------------------------------------------------------------

async function connect(s) {
  await tell('version', value(s, 'SELECT VERSION()'));
  if (s.version) say(`greeting = ${s.version()}`);
  if (s.encrypted) say(`encrypted socket = ${s.encrypted()}`);
  await tell('TLS', value(s, "SELECT VARIABLE_VALUE <> '' FROM performance_schema.session_status WHERE VARIABLE_NAME = 'Ssl_cipher'").catch(async () => Object.values((await s.query("SHOW SESSION STATUS LIKE 'Ssl_cipher'"))[0])[1] !== ''));
  await tell('account', value(s, 'SELECT CURRENT_USER()'));
  await tell('character set', value(s, 'SELECT CONCAT_WS(" ", @@character_set_client, @@character_set_results, @@collation_connection)'));
  if (s.ping) await tell('ping', s.ping().then(() => 'ok'));
  for (const [what, wrong] of [['password', { password: 'wrong' }], ['schema', { database: 'nosuch' }], ['user', { user: 'nosuch' }]]) {
    await tell(`wrong ${what}`, using(wrong, (other) => value(other, 'SELECT 1')));
  }
}

async function types(s) {
  for (const table of ['numbers', 'texts', 'bytes', 'times', 'durations', 'others']) {
    const sql = `SELECT * FROM ${table} ORDER BY id`;
    for (const way of ['query', 'prepared']) {
      if (!s[way]) continue;
      try {
        for (const row of await s[way](sql, [])) say(`${table} ${way} ${show(row)}`);
      } catch (e) {
        say(`${table} ${way} ${fault(e)}`);
      }
    }
  }
}

async function prepared(s) {
  await tell('sum', s.prepared('SELECT ? + ? AS x', [1, 2]));
  const values = [1, -1.5, 'ü€😀', null, true, Buffer.from([0, 255, 39]), new Date(Date.UTC(2024, 1, 29, 12, 34, 56, 789)), 9007199254740993n];
  for (const [i, v] of values.entries()) await tell(`parameter ${show(v)}`, s.prepared(`SELECT ? AS v${i}, LENGTH(?) AS l`, [v, v]));
  for (const v of [1, 'two', null, 3.5]) await tell(`another type ${show(v)}`, s.prepared('SELECT CONCAT(?) AS v', [v]));
  for (let i = 0; i < 3; i++) await tell(`again ${i}`, s.prepared('SELECT n FROM digits WHERE n > ? ORDER BY n', [6 + i]));
  await tell('insert', s.prepared('INSERT INTO items (name, amount) VALUES (?, ?)', ['p', 7]));
  await tell('update', s.prepared('UPDATE items SET amount = ? WHERE name = ?', [8, 'p']));
  await tell('delete', s.prepared('DELETE FROM items WHERE name = ?', ['p']));
  await tell('lock', s.prepared('SELECT GET_LOCK(?, ?) AS got, IS_USED_LOCK(?) = CONNECTION_ID() AS mine, RELEASE_LOCK(?) AS released', Array(4).fill(`${env.DB_SCHEMA}.p`).toSpliced(1, 1, 0)));
  await tell('syntax', s.prepared('SELEC ?', [1]));
  await tell('missing', s.prepared('SELECT * FROM nosuch WHERE id = ?', [1]));
  for (let i = 0; i < 50; i++) await s.prepared(`SELECT ${i} + ? AS x`, [i]);
  await tell('after 50 more', s.prepared('SELECT ? AS x', ['end']));
}

async function transactions(s) {
  await using({}, async (other) => {
    const seen = () => value(other, 'SELECT COUNT(*) FROM items');
    await s.query('DELETE FROM items');
    await s.begin();
    await tell('insert', s.query("INSERT INTO items (name, amount) VALUES ('a', 1), ('b', 2)").then((r) => r.affectedRows ?? r));
    await tell('not seen', seen());
    await s.rollback();
    await tell('rolled back', value(s, 'SELECT COUNT(*) FROM items'));
    await s.begin();
    await s.query("INSERT INTO items (name, amount) VALUES ('a', 1)");
    await s.query('SAVEPOINT x');
    await s.query("INSERT INTO items (name, amount) VALUES ('b', 2)");
    await s.query('ROLLBACK TO SAVEPOINT x');
    await s.commit();
    await tell('committed', other.query('SELECT name, amount FROM items ORDER BY name'));
    await other.query('SET SESSION innodb_lock_wait_timeout = 1');
    await s.begin();
    await s.query("UPDATE items SET amount = 5 WHERE name = 'a'");
    await tell('row lock', other.query("UPDATE items SET amount = 6 WHERE name = 'a'"));
    await s.rollback();
    await s.query('SET SESSION TRANSACTION READ ONLY');
    await s.begin();
    await tell('read only', s.query('DELETE FROM items'));
    await s.rollback();
    await s.query('SET SESSION TRANSACTION READ WRITE');
    await s.query('DELETE FROM items');
  });
}

async function errors(s) {
  await s.query("INSERT INTO items (id, name) VALUES (1, 'taken')");
  for (const sql of [
    'SELEC 1', 'SELECT nosuch FROM items', 'SELECT * FROM nosuch', "INSERT INTO items (name) VALUES ('taken')",
    'INSERT INTO items (name) VALUES (NULL)', "INSERT INTO items (name, amount) VALUES ('x', 5000)", 'SELECT 1; SELECT 2',
    "SELECT CAST('ü' AS SIGNED", "SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'öurs', MYSQL_ERRNO = 4321", 'CALL nosuch()',
    "SELECT GET_LOCK(REPEAT('x', 65), 0) AS x", 'SELECT GET_LOCK() AS x', "SELECT RELEASE_LOCK('nosuch') AS x",
    'SELECT GET_LOCK(NULL, 0) AS x', "DO RELEASE_LOCK('nosuch')", 'KILL 4294967295', 'SELECT * FROM mysql.nosuch',
    '', 'SELECT (SELECT n FROM digits) AS x', 'SELECT 18446744073709551615 + 1 AS x', "SELECT 'still here' AS x",
  ]) await tell(sql, s.query(sql).then((r) => (Array.isArray(r) ? r : 'ok')));
  await s.query('DELETE FROM items');
}

async function bigPacket(s) {
  const data = Buffer.alloc(20 << 20);
  for (let i = 0; i < data.length; i += 4) data.writeUInt32LE(Math.imul(i, 2654435761) >>> 0, i);
  say(`sent = ${hash(data)}`);
  // Once in a text, where it takes twice its length.
  const ways = {
    query: ['SELECT SHA2(b, 256) AS there, LENGTH(b) AS l, b AS back FROM (SELECT ? AS b) x', [data]],
    prepared: ['SELECT SHA2(?, 256) AS there, LENGTH(?) AS l, ? AS back', [data, data.subarray(0, 10), data]],
  };
  for (const [way, [sql, values]] of Object.entries(ways)) {
    if (!s[way]) continue;
    await tell(way, s[way](sql, values).then(([row]) => row));
  }
  await tell('afterwards', value(s, 'SELECT 1'));
}

const many = `SELECT f.n*100000+e.n*10000+d.n*1000+c.n*100+b.n*10+a.n AS id, REPEAT(CHAR(97+a.n), 20+e.n) AS word,
  IF(b.n = 3, NULL, c.n/7) AS part FROM digits a, digits b, digits c, digits d, digits e, digits f WHERE f.n < 2 ORDER BY id`;

async function bigResult(s) {
  const sum = createHash('sha256');
  let rows = 0;
  await s.stream(many, (row) => {
    rows++;
    sum.update(show(row));
  });
  say(`${rows} rows, ${sum.digest('hex')}`);
  let first = 0;
  await s.stream(many, () => ++first < 10);
  say(`left after ${first} rows`);
}

async function multiResults() {
  await using({ multi: true }, async (s) => {
    await tell('statements', s.query("SELECT 1 AS a; SELECT 'b' AS b, 2 AS c; DO 1; SELECT n FROM digits WHERE n < 2"));
    await tell('error between', s.query('SELECT 1 AS a; SELECT nosuch; SELECT 3'));
    await tell('locks', s.query(`SELECT GET_LOCK('${env.DB_SCHEMA}.m', 0) AS a; SELECT IS_USED_LOCK('${env.DB_SCHEMA}.m') = CONNECTION_ID() AS b; SELECT RELEASE_LOCK('${env.DB_SCHEMA}.m') AS c`));
    await tell('call', s.query('CALL results(3, @y)'));
    await tell('out', value(s, 'SELECT @y'));
    if (s.prepared) await tell('prepared call', s.prepared('CALL results(?, @y)', [2]));
    await tell('afterwards', value(s, 'SELECT 1'));
  });
}

async function warnings(s) {
  await s.query("SET SESSION sql_mode = ''");
  await tell('insert', s.query("INSERT INTO loaded VALUES ('12x', REPEAT('y', 30))").then((r) => r.warningStatus ?? r.warningCount ?? 'ok'));
  await tell('warnings', s.query('SHOW WARNINGS'));
  await tell('no table', s.query('DROP TABLE IF EXISTS nosuch').then((r) => r.warningStatus ?? r.warningCount ?? 'ok'));
  await tell('warnings', s.query('SHOW WARNINGS'));
  await tell('division', s.query("SELECT CAST('1x' AS SIGNED) AS x"));
  await tell('count', value(s, 'SELECT @@warning_count'));
  await s.query('DELETE FROM loaded');
  await s.query("SET SESSION sql_mode = DEFAULT");
}

async function infile(s) {
  const sql = "LOAD DATA LOCAL INFILE 'data' INTO TABLE loaded CHARACTER SET utf8mb4 FIELDS TERMINATED BY ','";
  for (const [what, text] of [['small', '1,eins\n2,zwölf\n3,\\N\n'], ['empty', ''], ['large', Array.from({ length: 100000 }, (_, i) => `${i},name ${i}\n`).join('')]]) {
    await s.query('DELETE FROM loaded');
    await tell(what, s.infile(sql, text).then((r) => r.affectedRows));
    await tell('loaded', s.query("SELECT COUNT(*) AS c, SUM(id) AS s, MAX(name) AS m, COUNT(name) AS n FROM loaded"));
  }
  await s.query('DELETE FROM loaded');
}

async function compression() {
  await using({ compress: true }, async (s) => {
    await tell('large', value(s, "SELECT REPEAT('x', 300000)"));
    await tell('up', value(s, 'SELECT LENGTH(?)', ['y'.repeat(300000)]));
    await tell('many', s.query('SELECT COUNT(*) AS c, SUM(a.n) AS s FROM digits a, digits b, digits c'));
  });
}

async function reconnect() {
  await using({}, async (victim) => {
    const id = await value(victim, 'SELECT CONNECTION_ID()');
    await victim.query(`DO GET_LOCK('${env.DB_SCHEMA}.k', 0)`);
    await using({}, async (s) => {
      await tell('held', value(s, `SELECT IS_USED_LOCK('${env.DB_SCHEMA}.k') = ${id}`));
      await s.query(`KILL ${id}`);
      await tell('freed', value(s, `SELECT GET_LOCK('${env.DB_SCHEMA}.k', 10)`));
      await pause(100);
      say(`killed ${await victim.query('SELECT 1').then(() => victim.pooled ? 'and replaced' : 'and alive', (e) => (victim.pooled ? 'and not replaced' : `and fails with ${e.code}`))}`);
    });
  });
  await using({}, async (s) => {
    // The answer and the end of the connection may come in either order.
    await s.query('KILL CONNECTION_ID()').then(() => {}, (e) => say(`by itself ${fault(e)}`));
  });
  await using({}, (s) => tell('again', value(s, 'SELECT 1')));
}

// A reset of the session clears its state.
async function resetBy(s, begin) {
  const name = `${env.DB_SCHEMA}.r`;
  await using({}, async (other) => {
    const id = await value(s, 'SELECT CONNECTION_ID()');
    await s.query('SET @x = 1, SESSION sql_mode = "ANSI"');
    await s.query('CREATE TEMPORARY TABLE t (i INT)');
    await s.query(`DO GET_LOCK('${name}', 0)`);
    await tell('other', value(other, `SELECT GET_LOCK('${name}', 0)`));
    await begin();
    await tell('other afterwards', value(other, `SELECT GET_LOCK('${name}', 10)`));
    await tell('variable', value(s, 'SELECT @x'));
    await tell('mode', value(s, "SELECT @@sql_mode LIKE '%ANSI%'"));
    await tell('schema', value(s, 'SELECT DATABASE() IS NOT NULL'));
    await tell('table', s.query('SELECT * FROM t'));
    await tell('same connection', value(s, 'SELECT CONNECTION_ID()').then((now) => now === id));
    await tell('lock', value(s, `SELECT GET_LOCK('${name}', 0)`));
  });
}
const reset = (s) => resetBy(s, () => s.reset());
const changeUser = (s) => resetBy(s, () => s.changeUser({})).then(() => tell('wrong', s.changeUser({ password: 'wrong' })));

async function lock(a) {
  const name = `${env.DB_SCHEMA}.lock`;
  await using({}, async (b) => {
    const id = await value(a, 'SELECT CONNECTION_ID()');
    await tell('first', value(a, 'SELECT GET_LOCK(?, 5)', [name]));
    await tell('second at once', value(b, 'SELECT GET_LOCK(?, 0)', [name]));
    await tell('free', value(b, 'SELECT IS_FREE_LOCK(?)', [name]));
    await tell('used by first', value(b, 'SELECT IS_USED_LOCK(?)', [name]).then((v) => v === id || `no: ${show(v)}`));
    await tell('released by second', value(b, 'SELECT RELEASE_LOCK(?)', [name]));
    let waiting = value(b, 'SELECT GET_LOCK(?, 30)', [name]);
    await pause(200);
    await tell('released', value(a, 'SELECT RELEASE_LOCK(?)', [name]));
    await tell('second', waiting);
    await tell('again', value(b, 'SELECT GET_LOCK(?, 0)', [name]));
    await tell('first at once', value(a, 'SELECT GET_LOCK(?, 0)', [name]));
    await tell('first after a second', value(a, 'SELECT GET_LOCK(?, 1)', [name]));
    waiting = value(a, 'SELECT GET_LOCK(?, 30)', [name]);
    await pause(200);
    await b.close();
    await tell('first when second closed', waiting);
    await tell('all', value(a, 'SELECT RELEASE_ALL_LOCKS()'));
    await tell('none', value(a, 'SELECT RELEASE_LOCK(?)', [name]));
    await tell('together', a.query('SELECT GET_LOCK(?, 0) AS a, GET_LOCK(?, 0) AS b, RELEASE_ALL_LOCKS() AS n', [`${name}1`, `${name}2`]));
  });
}

async function busy(s) {
  await s.query('CREATE TABLE busy (id INT AUTO_INCREMENT PRIMARY KEY, n INT NOT NULL)');
  await s.query('INSERT INTO busy (n) VALUES (0)');
  await tell('lock', value(s, 'SELECT GET_LOCK(?, 5)', ['busy']));
  let errors = 0;
  let over = false;
  for (let round = 0; round < 400 && !over; round++) {
    try {
      await s.query('UPDATE busy SET n = n + 1');
      over = Number(await value(s, 'SELECT n > 510 FROM busy')) === 1;
    } catch {
      errors++;
    }
    await pause(50);
  }
  say(`over: ${over}, one error at most: ${errors < 2}`);
  await tell('mine', value(s, "SELECT IS_USED_LOCK('busy') = CONNECTION_ID()"));
  await tell('id', value(s, 'SELECT id = LAST_INSERT_ID() FROM busy'));
  await tell('released', value(s, 'SELECT RELEASE_LOCK(?)', ['busy']));
  await s.query('DROP TABLE busy');
}

async function pool() {
  const name = `${env.DB_SCHEMA}.pool`;
  const them = await client.pool(3);
  let inside = 0;
  let most = 0;
  const turns = Array.from({ length: 12 }, () =>
    them.with(async (query) => {
      const [row] = await query('SELECT GET_LOCK(?, 30) AS got', [name]);
      most = Math.max(most, ++inside);
      await pause(5);
      inside--;
      const [released] = await query('SELECT RELEASE_LOCK(?) AS released', [name]);
      return `${show(row.got)}${show(released.released)}`;
    }),
  );
  await tell('turns', Promise.all(turns));
  say(`at most ${most} inside`);
  await tell('statements', Promise.all(Array.from({ length: 20 }, (_, i) => them.query('SELECT ? AS i', [i]).then(([row]) => row.i))));
  await tell('error', them.query('SELECT nosuch'));
  await them.close();
}

const cases = [
  ['connect', connect], ['types', types], ['prepared', prepared, has('prepared')], ['transactions', transactions],
  ['errors', errors], ['big_packet', bigPacket], ['big_result', bigResult, has('stream')],
  ['multi_results', multiResults, () => client.multi], ['warnings', warnings], ['infile', infile, has('infile')],
  ['compression', compression, () => client.compress], ['reconnect', reconnect], ['reset', reset, has('reset')],
  ['change_user', changeUser, has('changeUser')], ['lock', lock], ['busy', busy], ['pool', pool, () => client.pool],
  ['model', (s) => client.model(s, tell), () => client.model],
];

async function main() {
  current = 'setup';
  await using({}, async (s) => {
    for (const line of readFileSync(join(__dirname, '../setup.sql'), 'utf8').split('\n')) {
      const [, flavour, sql] = /^(?:(mysql|mariadb): )?(.*)$/.exec(line);
      if (sql && !sql.startsWith('#') && (!flavour || flavour === env.DB_FLAVOUR)) await s.query(sql);
    }
  });
  for (const [name, work, wanted] of cases) {
    current = name;
    try {
      await using({}, async (s) => {
        if (!wanted || wanted(s)) await work(s);
      });
    } catch (e) {
      say(fault(e));
    }
  }
}

main().then(
  () => process.exit(0),
  (e) => {
    console.error(e);
    process.exit(1);
  },
);
