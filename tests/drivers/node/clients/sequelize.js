// An instance with one connection is a session: all its statements run there.
'use strict';
const { Sequelize, DataTypes, QueryTypes } = require('sequelize');
const { account, ssl } = require('./options.js');

function instance(more, max) {
  const { user, ...where } = account(more);
  return new Sequelize({
    ...where,
    username: user,
    dialect: 'mysql',
    logging: false,
    pool: { max, min: 0, idle: 60000 },
    dialectOptions: { ssl: ssl(), supportBigNumbers: true },
  });
}
const run = (s) => (sql, replacements) =>
  s.query(sql, { replacements, raw: true }).then(([rows]) => rows);

exports.open = async (more) => {
  const s = instance(more, 1);
  let transaction;
  await s.authenticate();
  const query = (sql, replacements) => s.query(sql, { replacements, transaction, raw: true }).then(([rows]) => rows);
  return {
    query,
    // Bound parameters are prepared statements.
    prepared: (sql, values) => {
      let i = 0;
      return s.query(sql.replace(/\?/g, () => `$${++i}`), { bind: values, type: QueryTypes.RAW, transaction }).then(([rows]) => rows);
    },
    begin: async () => {
      transaction = await s.transaction();
    },
    commit: () => transaction.commit().then(() => (transaction = undefined)),
    rollback: () => transaction.rollback().then(() => (transaction = undefined)),
    instance: s,
    pooled: true,
    close: () => s.close(),
  };
};

exports.pool = async (max) => {
  const s = instance({}, max);
  const query = run(s);
  return {
    query,
    with: (work) => s.transaction((transaction) => work((sql, replacements) => s.query(sql, { replacements, transaction }).then(([rows]) => rows))),
    close: () => s.close(),
  };
};

exports.model = async ({ instance: s }, tell) => {
  const Item = s.define('item', { name: DataTypes.STRING(20), amount: DataTypes.INTEGER, at: DataTypes.DATE(6), data: DataTypes.JSON }, { timestamps: false, tableName: 'model_items' });
  const plain = (rows) => rows.map((r) => r.get({ plain: true }));
  await tell('sync', Item.sync().then(() => 'ok'));
  await tell('tables', s.getQueryInterface().describeTable('model_items'));
  await tell('create', Item.bulkCreate([{ name: 'a', amount: 1, at: new Date(1e12) }, { name: 'ü', amount: 2, data: { x: [1] } }]).then(plain));
  await tell('find', Item.findAll({ order: ['id'] }).then(plain));
  await tell('update', Item.update({ amount: 5 }, { where: { name: 'a' } }));
  await tell('sum', Item.sum('amount'));
  await tell('upsert', Item.upsert({ id: 1, name: 'b' }).then(([row]) => row.get({ plain: true })));
  await tell('find or create', s.transaction((transaction) => Item.findOrCreate({ where: { name: 'c' }, transaction }).then(([row, made]) => [row.name, made])));
  await tell('destroy', Item.destroy({ where: {} }));
};
