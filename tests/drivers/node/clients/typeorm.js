// A query runner is a session.
'use strict';
const { DataSource, EntitySchema } = require('typeorm');
const { account, ssl } = require('./options.js');

const Item = new EntitySchema({
  name: 'Item',
  tableName: 'model_items',
  columns: {
    id: { type: Number, primary: true, generated: true },
    name: { type: 'varchar', length: 20, unique: true },
    amount: { type: 'int', nullable: true },
    at: { type: 'datetime', precision: 6, nullable: true },
    data: { type: 'json', nullable: true },
    version: { type: Number, version: true },
  },
});

async function source(more, connectionLimit) {
  const { user, ...where } = account(more);
  const d = new DataSource({
    ...where,
    username: user,
    type: process.env.DB_FLAVOUR,
    connectorPackage: 'mysql2',
    ssl: ssl(),
    supportBigNumbers: true,
    multipleStatements: more.multi,
    entities: [Item],
    poolSize: connectionLimit,
  });
  return d.initialize();
}

exports.multi = true;

exports.open = async (more) => {
  const d = await source(more, 2);
  const r = d.createQueryRunner();
  await r.connect();
  return {
    query: (sql, values) => r.query(sql, values),
    stream: async (sql, row) => {
      for await (const one of await r.stream(sql)) if (row(one) === false) return;
    },
    begin: () => r.startTransaction(),
    commit: () => r.commitTransaction(),
    rollback: () => r.rollbackTransaction(),
    source: d,
    close: async () => {
      await r.release();
      if (d.isInitialized) await d.destroy();
    },
  };
};

exports.pool = async (size) => {
  const d = await source({}, size);
  return {
    query: (sql, values) => d.query(sql, values),
    with: (work) => d.transaction((manager) => work((sql, values) => manager.query(sql, values))),
    close: () => d.destroy(),
  };
};

exports.model = async ({ source: d }, tell) => {
  const items = d.getRepository('Item');
  await tell('sync', d.synchronize().then(() => 'ok'));
  await tell('sync again', d.synchronize().then(() => 'ok'));
  await tell('save', items.save([{ name: 'a', amount: 1, at: new Date(1e12) }, { name: 'ü', amount: 2, data: { x: [1] } }]));
  await tell('find', items.find({ order: { id: 'ASC' } }));
  await tell('version', items.save({ id: 1, name: 'b', amount: 3 }).then((i) => i.version));
  await tell('locked', d.transaction((m) => m.getRepository('Item').findOne({ where: { id: 1 }, lock: { mode: 'pessimistic_write' } })));
  await tell('builder', items.createQueryBuilder('i').select('SUM(i.amount)', 'sum').where('i.name <> :n', { n: 'x' }).getRawMany());
  await tell('duplicate', items.insert({ name: 'b' }));
  await tell('remove', items.clear().then(() => 'ok'));
};
