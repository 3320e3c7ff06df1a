// How the clients that take an object of options reach the server.
'use strict';
const { readFileSync } = require('node:fs');
const env = process.env;

exports.account = (options) => ({
  host: env.DB_HOST,
  port: Number(env.DB_PORT),
  user: options.user ?? env.DB_USER,
  password: options.password ?? env.DB_PASSWORD,
  database: options.database ?? env.DB_SCHEMA,
});
exports.ssl = () => (env.DB_TLS === 'on' ? { ca: readFileSync(env.DB_CA), rejectUnauthorized: true } : undefined);
