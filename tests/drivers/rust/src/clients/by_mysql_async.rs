use std::time::Duration;

use mysql_async::prelude::*;
use mysql_async::{
    ChangeUserOpts, Compression, Conn, Error, IsolationLevel, Opts, OptsBuilder, PoolConstraints,
    PoolOpts, QueryResult, SslOpts, TxOpts,
};

use super::{Case, Client, wait};
use crate::session::{
    Arg, Boxed, Each, Fault, Options, Piece, Pool, Session, Value, pattern, say, schema, setting,
    tell, tls,
};

pub static CLIENT: Client = Client {
    name: "mysql_async",
    open: |options| {
        Ok(Box::new(Own { conn: wait(Conn::new(opts(options))).map_err(fault)?, pooled: false }))
    },
    pool: |most| {
        let constraints = PoolConstraints::new(most as usize, most as usize).expect("not 0");
        let pool = PoolOpts::default().with_constraints(constraints);
        let opts = OptsBuilder::from_opts(opts(&Options::default())).pool_opts(pool);
        super::RUNTIME.block_on(async { Box::new(OwnPool(mysql_async::Pool::new(opts))) })
    },
    setup: |s, sql| s.text(sql, &mut |_| true),
    own: OWN,
    lacks: &[],
    echo: "?",
    columns: |_| "*",
};

const OWN: &[Case] = &[
    ("connect", connect),
    ("prepared", prepared),
    ("transactions", transactions),
    ("warnings", warnings),
    ("infile", infile),
    ("compression", compression),
    ("reset", reset),
    ("change_user", change_user),
    ("pool", pool),
];

fn opts(options: &Options) -> Opts {
    let [user, password, schema] = options.account();
    let ssl = tls().then(|| {
        SslOpts::default()
            .with_root_certs(vec![std::path::PathBuf::from(setting("DB_CA")).into()])
            .with_disable_built_in_roots(true)
    });
    OptsBuilder::default()
        .ip_or_hostname(setting("DB_HOST"))
        .tcp_port(setting("DB_PORT").parse().expect("a port"))
        .user(Some(user))
        .pass(Some(password))
        .db_name(Some(schema))
        .prefer_socket(false)
        .ssl_opts(ssl)
        .compression(options.compress.then(Compression::default))
        .into()
}

struct Own {
    conn: Conn,
    pooled: bool,
}

struct OwnPool(mysql_async::Pool);

fn fault(error: Error) -> Fault {
    match error {
        Error::Server(e) => format!("error {} {} {}", e.code, e.state, e.message),
        other => format!("error {other}"),
    }
}

fn value(v: &mysql_async::Value) -> Value {
    match v {
        mysql_async::Value::NULL => Value::Null,
        mysql_async::Value::Bytes(v) => Value::bytes(v),
        mysql_async::Value::Int(v) => Value::Int((*v).into()),
        mysql_async::Value::UInt(v) => Value::Int((*v).into()),
        other => Value::Other(format!("{other:?}")),
    }
}

fn bound(arg: &Arg) -> mysql_async::Value {
    match arg {
        Arg::Null => mysql_async::Value::NULL,
        Arg::Int(v) => (*v).into(),
        Arg::Uint(v) => (*v).into(),
        Arg::Float(v) => (*v).into(),
        Arg::Text(v) => v.as_str().into(),
        Arg::Bytes(v) => v.as_slice().into(),
        Arg::Moment(v) => mysql_async::Value::Date(
            v.year().try_into().expect("a year"),
            v.month().into(),
            v.day(),
            v.hour(),
            v.minute(),
            v.second(),
            v.microsecond(),
        ),
    }
}

async fn read<P: mysql_async::prelude::Protocol>(
    mut result: QueryResult<'_, '_, P>,
    each: Each<'_>,
) -> mysql_async::Result<()> {
    while let Some(columns) = result.columns() {
        if !columns.is_empty() {
            let told: Vec<_> = columns
                .iter()
                .map(|c| {
                    let (name, kind) = (c.name_str(), c.column_type());
                    format!(
                        "{name} {kind:?} {} {} {:?} {}",
                        c.column_length(),
                        c.character_set(),
                        c.flags(),
                        c.decimals()
                    )
                })
                .collect();
            each(Piece::Columns(told.join(", ")));
        }
        while let Some(row) = result.next().await? {
            let names = row.columns();
            let cells = names.iter().enumerate().map(|(i, column)| {
                (column.name_str().into_owned(), row.as_ref(i).map_or(Value::Null, value))
            });
            if !each(Piece::Row(cells.collect())) {
                return Ok(());
            }
        }
        let id = result.last_insert_id();
        let (n, warnings, info) = (result.affected_rows(), result.warnings(), result.info());
        each(Piece::Done(format!("{n} {id:?} {warnings} {info}")));
    }
    Ok(())
}

impl Session for Own {
    fn text(&mut self, sql: &str, each: Each) -> Result<(), Fault> {
        wait(async { read(self.conn.query_iter(sql).await?, each).await }).map_err(fault)
    }

    fn prepared(&mut self, sql: &str, args: &[Arg], each: Each) -> Result<(), Fault> {
        let args: Vec<_> = args.iter().map(bound).collect();
        wait(async { read(self.conn.exec_iter(sql, args).await?, each).await }).map_err(fault)
    }

    fn cancel(&mut self, sql: &str, after: Duration) -> Option<Fault> {
        wait(async { tokio::time::timeout(after, self.conn.query_drop(sql)).await })
            .err()
            .map(|e| e.to_string())
    }

    fn close(self: Box<Self>) {
        if self.pooled {
            return wait(async { drop(self.conn) });
        }
        wait(self.conn.disconnect()).unwrap_or_else(|e| say(format_args!("close: {}", fault(e))));
    }
}

impl Pool for OwnPool {
    fn take(&self) -> Result<Boxed, Fault> {
        Ok(Box::new(Own { conn: wait(self.0.get_conn()).map_err(fault)?, pooled: true }))
    }

    fn close(self: Box<Self>) {
        wait(self.0.disconnect()).expect("the pool ends");
    }
}

/// With the client's own interface, instead of what all sessions have.
fn with<T>(options: &Options, work: impl AsyncFnOnce(&mut Conn) -> mysql_async::Result<T>) -> T {
    wait(async {
        let mut conn = Conn::new(opts(options)).await?;
        let done = work(&mut conn).await?;
        conn.disconnect().await?;
        Ok(done)
    })
    .unwrap_or_else(|e| panic!("{}", fault(e)))
}

fn connect(_: &Client) {
    with(&Options::default(), async |conn| {
        conn.ping().await?;
        let id: u32 = conn.query_first("SELECT CONNECTION_ID()").await?.expect("a row");
        say(format_args!("id {} {:?}", id == conn.id(), conn.server_version()));
        Ok(())
    });
}

fn prepared(_: &Client) {
    with(&Options::default(), async |conn| {
        let kept = conn.prep("SELECT :a + :b AS x, :a AS y, GET_LOCK(:c, 0) AS z").await?;
        say(format_args!("named {} {}", kept.num_params(), kept.num_columns()));
        for i in 0..3 {
            let args =
                mysql_async::params! { "a" => i, "b" => 2.5, "c" => format!("{}.n", schema()) };
            let row: Option<(f64, i64, i64)> = conn.exec_first(&kept, args).await?;
            say(format_args!("named {row:?}"));
        }
        conn.close(kept).await?;
        conn.exec_batch(
            "INSERT INTO items (name, amount) VALUES (?, ?)",
            (0..50).map(|i| (format!("batch {i}"), i)),
        )
        .await?;
        let all: Vec<(i64, i64)> =
            conn.query("SELECT COUNT(*), CAST(SUM(amount) AS SIGNED) FROM items").await?;
        say(format_args!("batch {all:?}"));
        conn.query_drop("DELETE FROM items").await?;
        // More statements than the client keeps: it closes those that were used least of late.
        let mut sum = 0;
        for i in 0..80 {
            let got: Option<i64> =
                conn.exec_first(format!("SELECT {i} + ? + RELEASE_ALL_LOCKS()"), (i,)).await?;
            sum += got.unwrap_or_default();
        }
        say(format_args!("many {sum}"));
        Ok(())
    });
}

fn transactions(_: &Client) {
    with(&Options::default(), async |conn| {
        for level in [IsolationLevel::ReadCommitted, IsolationLevel::Serializable] {
            let mut options = TxOpts::default();
            options.with_isolation_level(level).with_consistent_snapshot(true);
            let mut tx = conn.start_transaction(options).await?;
            tx.exec_drop("INSERT INTO items (name) VALUES (?)", (format!("{level:?}"),)).await?;
            say(format_args!(
                "{level:?} {} {:?}",
                tx.affected_rows(),
                tx.last_insert_id().is_some()
            ));
            tx.rollback().await?;
        }
        let mut tx = conn.start_transaction(TxOpts::default().with_readonly(true).clone()).await?;
        tell("read only", tx.query_drop("DELETE FROM items").await.map(|()| "ok").map_err(fault));
        drop(tx);
        let mut tx = conn.start_transaction(TxOpts::default()).await?;
        tx.query_drop("INSERT INTO items (name) VALUES ('dropped')").await?;
        // The transaction is rolled back before the next statement.
        drop(tx);
        let left: Vec<String> = conn.query("SELECT name FROM items").await?;
        say(format_args!("left {left:?}"));
        Ok(())
    });
}

fn warnings(_: &Client) {
    with(&Options::default(), async |conn| {
        conn.query_drop("SET sql_mode = ''").await?;
        conn.query_drop("INSERT INTO loaded VALUES ('12x', REPEAT('y', 30))").await?;
        say(format_args!("told {} {}", conn.get_warnings(), conn.info()));
        conn.exec_drop("DO GET_LOCK(?, '1x')", (format!("{}.w", schema()),)).await?;
        say(format_args!("told {}", conn.get_warnings()));
        conn.query_drop("DELETE FROM loaded").await
    });
}

fn infile(_: &Client) {
    with(&Options::default(), async |conn| {
        let large: String = (0..100_000).map(|i| format!("{i},name {i}\n")).collect();
        let load = "LOAD DATA LOCAL INFILE 'data' INTO TABLE loaded CHARACTER SET utf8mb4 FIELDS TERMINATED BY ','";
        for data in ["1,eins\n2,zwölf\n3,\\N\n".to_owned(), String::new(), large] {
            let chunks: Vec<_> =
                data.as_bytes().chunks(70_000).map(|c| Ok(c.to_vec().into())).collect();
            conn.set_infile_handler(async move {
                Ok(Box::pin(futures_util::stream::iter(chunks)) as _)
            });
            conn.query_drop(load).await?;
            say(format_args!(
                "loaded {} {} {}",
                conn.affected_rows(),
                conn.get_warnings(),
                conn.info()
            ));
            let rows: Vec<mysql_async::Row> = conn
                .query("SELECT COUNT(*) AS c, SUM(id) AS s, MAX(name) AS m, COUNT(name) AS n FROM loaded")
                .await?;
            say(format_args!("rows {rows:?}"));
            conn.query_drop("DELETE FROM loaded").await?;
        }
        tell("no handler", conn.query_drop(load).await.map(|()| "ok").map_err(fault));
        tell(
            "afterwards",
            conn.query_first::<i64, _>("SELECT 1").await.map(|v| format!("{v:?}")).map_err(fault),
        );
        Ok(())
    });
}

fn compression(_: &Client) {
    let mut s =
        (CLIENT.open)(&Options { compress: true, ..Options::default() }).expect("a connection");
    s.told("large", "SELECT REPEAT('x', 300000)", &[]);
    s.told("up", "SELECT LENGTH(?)", &[Arg::Bytes(vec![b'y'; 300_000])]);
    let mixed = pattern(3_000_000);
    s.listed(
        "random",
        "SELECT SHA2(?, 256) AS there, ? AS back",
        &[Arg::Bytes(mixed.clone()), Arg::Bytes(mixed)],
    );
    s.listed("many", "SELECT COUNT(*) AS c, SUM(a.n) AS s FROM digits a, digits b, digits c", &[]);
    s.listed(
        "lock",
        "SELECT GET_LOCK(?, 0) AS a, RELEASE_ALL_LOCKS() AS b",
        &[format!("{}.z", schema()).as_str().into()],
    );
    s.close();
}

/// The state of the session is gone, above all its locks.
async fn gone(conn: &mut Conn, other: &mut Conn) -> mysql_async::Result<()> {
    let lock = format!("{}.gone", schema());
    let left: (Option<i64>, Option<String>) =
        conn.query_first("SELECT @mine, DATABASE()").await?.expect("a row");
    say(format_args!("left {left:?}"));
    let table = conn.query_drop("SELECT * FROM mine").await;
    tell("temporary table", table.map(|()| "there").map_err(fault));
    let got: Option<i64> = other.exec_first("SELECT GET_LOCK(?, 5)", (&lock,)).await?;
    let held: Option<i64> = conn.query_first("SELECT RELEASE_ALL_LOCKS()").await?;
    say(format_args!("lock {got:?} {held:?}"));
    other.exec_drop("DO RELEASE_LOCK(?)", (&lock,)).await
}

async fn have(conn: &mut Conn, other: &mut Conn) -> mysql_async::Result<()> {
    let lock = format!("{}.gone", schema());
    conn.query_drop("SET @mine = 1").await?;
    conn.query_drop("CREATE TEMPORARY TABLE mine (n INT)").await?;
    let get = "SELECT GET_LOCK(?, 0)";
    let first: Option<i64> = conn.exec_first(get, (&lock,)).await?;
    let second: Option<i64> = other.exec_first(get, (&lock,)).await?;
    say(format_args!("lock {first:?} {second:?}"));
    Ok(())
}

fn reset(_: &Client) {
    with(&Options::default(), async |conn| {
        let mut other = Conn::new(opts(&Options::default())).await?;
        have(conn, &mut other).await?;
        say(format_args!("reset {}", conn.reset().await?));
        gone(conn, &mut other).await?;
        other.disconnect().await
    });
}

fn change_user(_: &Client) {
    with(&Options::default(), async |conn| {
        let mut other = Conn::new(opts(&Options::default())).await?;
        have(conn, &mut other).await?;
        let same = ChangeUserOpts::default().with_db_name(Some(schema()));
        tell("same", conn.change_user(same).await.map(|()| "ok").map_err(fault));
        gone(conn, &mut other).await?;
        let none = ChangeUserOpts::default().with_db_name(None);
        tell("no schema", conn.change_user(none).await.map(|()| "ok").map_err(fault));
        let now: Option<Option<String>> = conn.query_first("SELECT DATABASE()").await?;
        say(format_args!("schema {now:?}"));
        other.disconnect().await
    });
    let wrong = wait(async {
        let mut conn = Conn::new(opts(&Options::default())).await?;
        conn.change_user(ChangeUserOpts::default().with_pass(Some("wrong".into()))).await
    });
    tell("wrong password", wrong.map(|()| "ok").map_err(fault));
}

/// A connection that returns to the pool is reset, so its lock is free.
fn pool(client: &Client) {
    let (pool, lock) = ((client.pool)(1), [Arg::Text(format!("{}.back", schema()))]);
    let mut other = client.session();
    let mut first = pool.take().expect("a connection");
    first.told("lock", "SELECT GET_LOCK(?, 0)", &lock);
    other.told("held", "SELECT IS_FREE_LOCK(?)", &lock);
    first.close();
    pool.take().expect("it is given again").close();
    other.told("returned", "SELECT IS_FREE_LOCK(?)", &lock);
    pool.close();
    other.close();
}
