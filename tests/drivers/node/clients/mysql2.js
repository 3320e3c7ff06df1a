'use strict';
const { Readable } = require('node:stream');
const mysql = require('mysql2/promise');
const { account, ssl } = require('./options.js');

const options = (more) => ({
  ...account(more),
  ssl: ssl(),
  compress: more.compress,
  multipleStatements: more.multi,
  supportBigNumbers: true,
});
const first = ([result]) => result;

exports.multi = exports.compress = true;

exports.open = async (more) => {
  const c = await mysql.createConnection(options(more));
  c.connection.on('error', () => {}); // told by the next statement
  return {
    query: (sql, values) => c.query(sql, values).then(first),
    prepared: (sql, values) => c.execute(sql, values).then(first),
    stream: async (sql, row) => {
      for await (const r of c.connection.query(sql).stream({ highWaterMark: 100 })) if (row(r) === false) return;
    },
    infile: (sql, text) => c.query({ sql, infileStreamFactory: () => Readable.from(text ? [Buffer.from(text)] : []) }).then(first),
    begin: () => c.beginTransaction(),
    commit: () => c.commit(),
    rollback: () => c.rollback(),
    ping: () => c.ping(),
    reset: () => c.reset(),
    changeUser: (other) => c.changeUser(other),
    encrypted: () => Boolean(c.connection.stream.encrypted),
    close: () => c.end(),
  };
};

exports.pool = async (connectionLimit) => {
  const p = mysql.createPool({ ...options({}), connectionLimit });
  return {
    query: (sql, values) => p.query(sql, values).then(first),
    with: async (work) => {
      const c = await p.getConnection();
      try {
        return await work((sql, values) => c.query(sql, values).then(first));
      } finally {
        c.release();
      }
    },
    close: () => p.end(),
  };
};
