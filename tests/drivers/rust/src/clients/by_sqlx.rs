use std::ops::DerefMut;
use std::time::Duration;

use futures_util::{Stream, StreamExt};
use sqlx::migrate::{Migrate, MigrateError, Migration, MigrationType, Migrator};
use sqlx::mysql::{
    MySqlArguments, MySqlConnectOptions, MySqlDatabaseError, MySqlPoolOptions, MySqlQueryResult,
    MySqlRow, MySqlSslMode,
};
use sqlx::pool::PoolConnection;
use sqlx::{
    Arguments, AssertSqlSafe, Column, ConnectOptions, Connection, Decode, Either, Executor, MySql,
    MySqlConnection, Row, SqlSafeStr, TypeInfo, ValueRef,
};
use time::{Date, PrimitiveDateTime};

use super::{Case, Client, wait};
use crate::session::{
    Arg, Boxed, Each, Fault, Options, Piece, Pool, Session, Value, hex, say, schema, setting, tell,
    tls,
};

pub static CLIENT: Client = Client {
    name: "sqlx",
    open: |options| Ok(Box::new(Own(Box::new(wait(opts(options).connect()).map_err(fault)?)))),
    pool: |most| {
        let _inside = super::RUNTIME.enter();
        Box::new(
            MySqlPoolOptions::new()
                .max_connections(most)
                .connect_lazy_with(opts(&Options::default())),
        )
    },
    setup: |s, sql| s.text(sql, &mut |_| true),
    own: OWN,
    lacks: &[],
    echo: "?",
    columns: |table| match table {
        // This client does not know the type of the column, and has lost its place then.
        "others" if !crate::session::mariadb() => "id, HEX(c_vector)",
        _ => "*",
    },
};

const OWN: &[Case] = &[
    ("transactions", transactions),
    ("prepared", describe),
    ("lock", migrations),
    ("pool", dropped),
];

fn opts(options: &Options) -> MySqlConnectOptions {
    let [user, password, schema] = options.account();
    let opts = MySqlConnectOptions::new()
        .host(&setting("DB_HOST"))
        .port(setting("DB_PORT").parse().expect("a port"))
        .username(&user)
        .password(&password)
        .database(&schema)
        .disable_statement_logging();
    if tls() {
        opts.ssl_mode(MySqlSslMode::VerifyIdentity).ssl_ca(setting("DB_CA"))
    } else {
        opts.ssl_mode(MySqlSslMode::Disabled)
    }
}

fn fault(error: sqlx::Error) -> Fault {
    match error {
        sqlx::Error::Database(e) => {
            let e = e.downcast_ref::<MySqlDatabaseError>();
            format!("error {} {} {}", e.number(), e.code().unwrap_or_default(), e.message())
        }
        other => format!("error {other}"),
    }
}

/// A connection of its own, or one of a pool.
struct Own<C>(C);

fn value(row: &MySqlRow, i: usize) -> Result<Value, sqlx::error::BoxDynError> {
    let raw = || row.try_get_raw(i);
    if raw()?.is_null() {
        return Ok(Value::Null);
    }
    let kind = raw()?.type_info().name().to_owned();
    Ok(match kind.as_str() {
        "FLOAT" => Value::Other(format!("{:?}", f32::decode(raw()?)?)),
        "DOUBLE" => Value::Other(format!("{:?}", f64::decode(raw()?)?)),
        "DATE" => Value::Other(format!("{:?}", Date::decode(raw()?)?)),
        "DATETIME" | "TIMESTAMP" => {
            Value::Other(format!("{:?}", PrimitiveDateTime::decode(raw()?)?))
        }
        "TIME" => Value::Other(format!("{:?}", sqlx::mysql::types::MySqlTime::decode(raw()?)?)),
        "BIT" | "YEAR" => Value::Int(u64::decode(raw()?)?.into()),
        kind if kind.ends_with(" UNSIGNED") => Value::Int(u64::decode(raw()?)?.into()),
        kind if kind.ends_with("INT") || kind == "BOOLEAN" => {
            Value::Int(i64::decode(raw()?)?.into())
        }
        _ => Value::bytes(<&[u8]>::decode(raw()?)?),
    })
}

fn cells(row: &MySqlRow) -> Vec<(String, Value)> {
    let cell = |(i, column): (usize, &sqlx::mysql::MySqlColumn)| {
        let value = value(row, i).unwrap_or_else(|e| {
            let bytes = row.try_get_raw(i).ok().and_then(|raw| <&[u8]>::decode(raw).ok()).map(hex);
            Value::Other(format!("({e}: {bytes:?})"))
        });
        (format!("{}:{}", column.name(), column.type_info().name()), value)
    };
    row.columns().iter().enumerate().map(cell).collect()
}

async fn read(
    mut results: impl Stream<Item = sqlx::Result<Either<MySqlQueryResult, MySqlRow>>> + Unpin,
    each: Each<'_>,
) -> Result<(), Fault> {
    while let Some(piece) = results.next().await {
        let piece = match piece.map_err(fault)? {
            Either::Left(done) => {
                Piece::Done(format!("{} {}", done.rows_affected(), done.last_insert_id()))
            }
            Either::Right(row) => Piece::Row(cells(&row)),
        };
        if !each(piece) {
            break;
        }
    }
    Ok(())
}

fn arguments(args: &[Arg]) -> MySqlArguments {
    let mut all = MySqlArguments::default();
    for arg in args {
        match arg {
            Arg::Null => all.add(None::<i64>),
            Arg::Int(v) => all.add(v),
            Arg::Uint(v) => all.add(v),
            Arg::Float(v) => all.add(v),
            Arg::Text(v) => all.add(v),
            Arg::Bytes(v) => all.add(v),
            Arg::Moment(v) => all.add(v),
        }
        .expect("it can be sent");
    }
    all
}

impl<C: DerefMut<Target = MySqlConnection> + Ended + Send> Session for Own<C> {
    fn text(&mut self, sql: &str, each: Each) -> Result<(), Fault> {
        wait(read(sqlx::raw_sql(AssertSqlSafe(sql)).fetch_many(&mut *self.0), each))
    }

    fn prepared(&mut self, sql: &str, args: &[Arg], each: Each) -> Result<(), Fault> {
        let query = sqlx::query_with(AssertSqlSafe(sql), arguments(args));
        wait(read(self.0.fetch_many(query), each))
    }

    fn cancel(&mut self, sql: &str, after: Duration) -> Option<Fault> {
        let work = async {
            tokio::time::timeout(after, self.0.execute(sqlx::raw_sql(AssertSqlSafe(sql))))
                .await
                .err()
        };
        wait(work).map(|e| e.to_string())
    }

    fn close(self: Box<Self>) {
        self.0.ended();
    }
}

trait Ended {
    fn ended(self);
}

impl Ended for Box<MySqlConnection> {
    fn ended(self) {
        wait((*self).close()).unwrap_or_else(|e| say(format_args!("close: {}", fault(e))));
    }
}

impl Ended for PoolConnection<MySql> {
    fn ended(self) {
        let _inside = super::RUNTIME.enter();
        drop(self);
    }
}

impl Pool for sqlx::MySqlPool {
    fn take(&self) -> Result<Boxed, Fault> {
        Ok(Box::new(Own(wait(self.acquire()).map_err(fault)?)))
    }

    fn close(self: Box<Self>) {
        wait(sqlx::Pool::close(&self));
    }
}

/// With the client's own interface, instead of what all sessions have.
fn with<T>(work: impl AsyncFnOnce(&mut MySqlConnection) -> sqlx::Result<T>) -> T {
    wait(async {
        let mut conn = opts(&Options::default()).connect().await?;
        let done = work(&mut conn).await?;
        conn.close().await?;
        Ok(done)
    })
    .unwrap_or_else(|e| panic!("{}", fault(e)))
}

async fn names(conn: &mut MySqlConnection) -> sqlx::Result<Vec<String>> {
    sqlx::query_scalar("SELECT name FROM items ORDER BY name").fetch_all(conn).await
}

fn transactions(_: &Client) {
    with(async |conn| {
        let mut tx = conn.begin().await?;
        let insert = "INSERT INTO items (name) VALUES (?)";
        let done = sqlx::query(insert).bind("outer").execute(&mut *tx).await?;
        say(format_args!("inserted {}", done.rows_affected()));
        // Within another one it is a savepoint.
        let mut inner = tx.begin().await?;
        sqlx::query(insert).bind("inner").execute(&mut *inner).await?;
        say(format_args!("inside {:?}", names(&mut inner).await?));
        inner.rollback().await?;
        let mut inner = tx.begin().await?;
        sqlx::query(insert).bind("second").execute(&mut *inner).await?;
        inner.commit().await?;
        tx.commit().await?;
        say(format_args!("committed {:?}", names(conn).await?));
        let mut tx = conn.begin().await?;
        sqlx::query(insert).bind("dropped").execute(&mut *tx).await?;
        let twice = sqlx::query(insert).bind("dropped").execute(&mut *tx).await;
        tell("twice", twice.map(|_| "ok").map_err(fault));
        // The transaction is rolled back before the next statement.
        drop(tx);
        say(format_args!("dropped {:?}", names(conn).await?));
        let mut tx = conn.begin_with("START TRANSACTION READ ONLY").await?;
        let refused = sqlx::query(insert).bind("read only").execute(&mut *tx).await;
        tell("read only", refused.map(|_| "ok").map_err(fault));
        tx.rollback().await?;
        sqlx::query("DELETE FROM items").execute(conn).await?;
        Ok(())
    });
}

fn describe(_: &Client) {
    with(async |conn| {
        for sql in [
            "SELECT * FROM items WHERE id = ?",
            "SELECT GET_LOCK(?, ?) AS a, IS_USED_LOCK(?) AS b",
            "SELECT nosuch",
        ] {
            let told = match (&mut *conn).prepare(sql.into_sql_str()).await {
                Ok(statement) => {
                    use sqlx::Statement;
                    let columns = statement
                        .columns()
                        .iter()
                        .map(|c| format!("{} {}", c.name(), c.type_info()));
                    Ok(format!("{:?} {:?}", columns.collect::<Vec<_>>(), statement.parameters()))
                }
                Err(e) => Err(fault(e)),
            };
            tell(sql, told);
        }
        // More statements than the client keeps: it closes those that were used least of late.
        let mut sum = 0;
        for i in 0..120 {
            let sql = format!("SELECT {i} + CAST(? + RELEASE_ALL_LOCKS() AS SIGNED)");
            let got: i64 =
                sqlx::query_scalar(AssertSqlSafe(sql)).bind(i).fetch_one(&mut *conn).await?;
            sum += got;
        }
        say(format_args!("many {sum}"));
        say(format_args!("kept {}", conn.cached_statements_size()));
        conn.clear_cached_statements().await?;
        say(format_args!("kept {}", conn.cached_statements_size()));
        conn.ping().await
    });
}

fn migrator(steps: usize) -> Migrator {
    let texts = [
        "CREATE TABLE migrated (n INT)",
        "INSERT INTO migrated VALUES (1); DO SLEEP(0.2); INSERT INTO migrated VALUES (2)",
        "ALTER TABLE migrated ADD other INT; DO SLEEP(0.2)",
        "INSERT INTO migrated VALUES (3, 3)",
    ];
    let step = |(i, text): (usize, &&'static str)| {
        Migration::new(
            i as i64 + 1,
            format!("step {i}").into(),
            MigrationType::Simple,
            text.into_sql_str(),
            false,
        )
    };
    Migrator::with_migrations(texts[..steps].iter().enumerate().map(step).collect())
}

fn migrated(result: Result<(), MigrateError>) -> Result<&'static str, Fault> {
    result.map(|()| "ok").map_err(|e| format!("error {e}"))
}

/// The migrator keeps others out with GET_LOCK(name, -1); what MariaDB makes of that is printed first.
fn migrations(_: &Client) {
    let count = "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = 'migrated'";
    let wait_for_ever = with(async |conn| {
        sqlx::query_scalar::<_, Option<i64>>("SELECT GET_LOCK(?, -1)")
            .bind(format!("{}.ever", schema()))
            .fetch_one(conn)
            .await
    });
    say(format_args!("for ever {wait_for_ever:?}"));
    with(async |a| {
        let mut b = opts(&Options::default()).connect().await?;
        if wait_for_ever == Some(1) {
            a.lock().await.map_err(|e| sqlx::Error::Protocol(e.to_string()))?;
            let second = tokio::task::spawn_blocking(move || {
                let result = wait(migrator(2).run(&mut b));
                (b, result)
            });
            tokio::time::sleep(Duration::from_millis(400)).await;
            let tables: i64 = sqlx::query_scalar(count).fetch_one(&mut *a).await?;
            say(format_args!("the second waits: {} {tables}", !second.is_finished()));
            a.unlock().await.map_err(|e| sqlx::Error::Protocol(e.to_string()))?;
            let result;
            (b, result) = second.await.expect("the second ends");
            tell("second", migrated(result));
            let all = migrator(4);
            let (one, two) = tokio::join!(all.run(&mut *a), all.run(&mut b));
            tell("at once", migrated(one));
            tell("at once", migrated(two));
        } else {
            tell("second", migrated(migrator(2).run(&mut b).await));
            tell("first", migrated(migrator(4).run(&mut *a).await));
            tell("second", migrated(migrator(4).run(&mut b).await));
        }
        let rows: Vec<(i64, Option<i64>)> =
            sqlx::query_as("SELECT n, other FROM migrated ORDER BY n").fetch_all(&mut *a).await?;
        let steps: Vec<(i64, String, bool)> = sqlx::query_as(
            "SELECT version, description, success FROM _sqlx_migrations ORDER BY version",
        )
        .fetch_all(&mut *a)
        .await?;
        say(format_args!("{rows:?} {steps:?}"));
        tell("fewer", migrated(migrator(3).run(&mut *a).await));
        // The migration has failed with the lock, which the client does not release.
        tell("after a failure", migrated(migrator(4).run(&mut *a).await));
        let held: i64 = sqlx::query_scalar("SELECT CAST(RELEASE_ALL_LOCKS() AS SIGNED)")
            .fetch_one(&mut *a)
            .await?;
        say(format_args!("held {held}"));
        b.close().await
    });
}

/// The pool does not reset what returns, so its lock stays.
fn dropped(client: &Client) {
    let (pool, lock) = ((client.pool)(1), [Arg::Text(format!("{}.back", schema()))]);
    let mut other = client.session();
    let mut first = pool.take().expect("a connection");
    first.told("lock", "SELECT GET_LOCK(?, 0)", &lock);
    first.close();
    let mut again = pool.take().expect("a connection");
    other.told("returned", "SELECT IS_FREE_LOCK(?)", &lock);
    again.told("again", "SELECT GET_LOCK(?, 0)", &lock);
    again.told("all", "SELECT RELEASE_ALL_LOCKS()", &[]);
    again.close();
    pool.close();
    other.close();
}
