'use strict';
const { Readable } = require('node:stream');
const mariadb = require('mariadb');
const { account, ssl } = require('./options.js');

const options = (more) => ({
  ...account(more),
  ssl: ssl(),
  compress: more.compress,
  multipleStatements: more.multi,
  allowPublicKeyRetrieval: true,
  checkNumberRange: false,
});

exports.multi = exports.compress = true;

exports.open = async (more) => {
  let text;
  const c = await mariadb.createConnection({
    ...options(more),
    permitLocalInfile: true,
    infileStreamFactory: () => Readable.from([Buffer.from(text)]),
  });
  c.on('error', () => {}); // told by the next statement
  return {
    query: (sql, values) => c.query(sql, values),
    prepared: (sql, values) => c.execute(sql, values),
    stream: async (sql, row) => {
      const rows = c.queryStream(sql);
      for await (const r of rows) if (row(r) === false) return;
    },
    infile: (sql, data) => {
      text = data;
      return c.query(sql);
    },
    begin: () => c.beginTransaction(),
    commit: () => c.commit(),
    rollback: () => c.rollback(),
    ping: () => c.ping(),
    reset: () => c.reset(),
    changeUser: (other) => c.changeUser(other),
    version: () => c.serverVersion(),
    close: () => c.end(),
  };
};

exports.pool = async (connectionLimit) => {
  const p = mariadb.createPool({ ...options({}), connectionLimit });
  return {
    query: (sql, values) => p.query(sql, values),
    with: async (work) => {
      const c = await p.getConnection();
      try {
        return await work((sql, values) => c.query(sql, values));
      } finally {
        await c.release();
      }
    },
    close: () => p.end(),
  };
};
