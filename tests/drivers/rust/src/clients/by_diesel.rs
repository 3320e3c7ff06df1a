use std::ops::DerefMut;
use std::sync::Once;
use std::time::Duration;

use diesel::connection::{DefaultLoadingMode, SimpleConnection};
use diesel::deserialize::{self, QueryableByName};
use diesel::mysql::{Mysql, MysqlConnection, MysqlType, MysqlValue};
use diesel::prelude::*;
use diesel::r2d2::ConnectionManager;
use diesel::result::Error;
use diesel::row::{Field, NamedRow, Row};
use diesel::sql_types;
use time::PrimitiveDateTime;

use super::{Case, Client};
use crate::session::{
    Arg, Boxed, Each, Fault, Options, Piece, Pool, Session, Value, mariadb, say, schema, setting,
    tell, tls,
};

pub static CLIENT: Client = Client {
    name: "diesel",
    open: |options| {
        // This client cannot ask for the server's key, so without TLS another one has to log in first.
        FIRST.call_once(|| super::by_mysql_async::CLIENT.session().close());
        let conn = MysqlConnection::establish(&url(options)).map_err(|e| format!("error {e}"))?;
        Ok(Box::new(Own(Box::new(conn))))
    },
    pool: |most| {
        let manager = ConnectionManager::new(url(&Options::default()));
        Box::new(diesel::r2d2::Pool::builder().max_size(most).build(manager).expect("a pool"))
    },
    // Not all of it can be prepared.
    setup: |_, sql| own().batch_execute(sql).map_err(fault),
    own: OWN,
    lacks: &["multi_results"],
    // The type of a parameter alone is NULL at first, of which it panics.
    echo: "CONCAT(?)",
    // Of types that it does not know it panics.
    columns: |table| match table {
        "bytes" => {
            "id, c_binary, c_varbinary, c_tinyblob, c_blob, c_mediumblob, c_longblob, HEX(c_point)"
        }
        "others" if !mariadb() => "id, HEX(c_vector)",
        _ => "*",
    },
};

static FIRST: Once = Once::new();

const OWN: &[Case] = &[
    ("transactions", transactions),
    ("multi_results", multi_results),
    ("lock", functions),
    ("pool", kept),
    ("model", model),
];

fn url(options: &Options) -> String {
    let [user, password, schema] = options.account();
    let ssl = if tls() {
        format!("verify_identity&ssl_ca={}", setting("DB_CA"))
    } else {
        "disabled".into()
    };
    let (host, port) = (setting("DB_HOST"), setting("DB_PORT"));
    format!("mysql://{user}:{password}@{host}:{port}/{schema}?ssl_mode={ssl}")
}

fn own() -> MysqlConnection {
    MysqlConnection::establish(&url(&Options::default())).expect("a connection")
}

/// A connection of its own, or one of a pool.
struct Own<C>(C);

fn fault(error: Error) -> Fault {
    match error {
        Error::DatabaseError(kind, e) => format!("error {kind:?} {}", e.message()),
        other => format!("error {other}"),
    }
}

/// A row whose columns nobody knows before.
struct Line(Vec<(String, Value)>);

impl QueryableByName<Mysql> for Line {
    fn build<'a>(row: &impl NamedRow<'a, Mysql>) -> deserialize::Result<Self> {
        let cell = |i| {
            let field = Row::get(row, i).ok_or("no such field")?;
            let name = field.field_name().unwrap_or_default();
            Ok(match field.value() {
                None => (name.to_owned(), Value::Null),
                Some(v) => (format!("{name}:{:?}", v.value_type()), value(&v)?),
            })
        };
        (0..row.field_count()).map(cell).collect::<deserialize::Result<_>>().map(Self)
    }
}

/// As the client library has left it, which is not as it came.
fn value(v: &MysqlValue<'_>) -> deserialize::Result<Value> {
    let bytes = v.as_bytes();
    let part =
        |from: usize| bytes[from..from + 4].try_into().map(u32::from_le_bytes).map_err(Box::new);
    Ok(match v.value_type() {
        MysqlType::Tiny => Value::Int(i8::from_le_bytes(bytes.try_into()?).into()),
        MysqlType::UnsignedTiny => Value::Int(u8::from_le_bytes(bytes.try_into()?).into()),
        MysqlType::Short => Value::Int(i16::from_le_bytes(bytes.try_into()?).into()),
        MysqlType::UnsignedShort => Value::Int(u16::from_le_bytes(bytes.try_into()?).into()),
        MysqlType::Long => Value::Int(i32::from_le_bytes(bytes.try_into()?).into()),
        MysqlType::UnsignedLong => Value::Int(u32::from_le_bytes(bytes.try_into()?).into()),
        MysqlType::LongLong => Value::Int(i64::from_le_bytes(bytes.try_into()?).into()),
        MysqlType::UnsignedLongLong => Value::Int(u64::from_le_bytes(bytes.try_into()?).into()),
        MysqlType::Float => Value::Other(format!("{:?}", f32::from_le_bytes(bytes.try_into()?))),
        MysqlType::Double => Value::Other(format!("{:?}", f64::from_le_bytes(bytes.try_into()?))),
        // MYSQL_TIME, whose gaps hold anything.
        MysqlType::Date | MysqlType::Time | MysqlType::DateTime | MysqlType::Timestamp => {
            let parts = [part(0)?, part(4)?, part(8)?, part(12)?, part(16)?, part(20)?];
            Value::Other(format!("{parts:?}.{} {}", part(24)?, bytes[32]))
        }
        _ => Value::bytes(bytes),
    })
}

fn query(
    sql: &str,
    args: &[Arg],
) -> diesel::query_builder::BoxedSqlQuery<'static, Mysql, diesel::query_builder::SqlQuery> {
    let mut query = diesel::sql_query(sql).into_boxed::<Mysql>();
    for arg in args {
        query = match arg.clone() {
            Arg::Null => query.bind::<sql_types::Nullable<sql_types::BigInt>, _>(None::<i64>),
            Arg::Int(v) => query.bind::<sql_types::BigInt, _>(v),
            Arg::Uint(v) => query.bind::<sql_types::Unsigned<sql_types::BigInt>, _>(v),
            Arg::Float(v) => query.bind::<sql_types::Double, _>(v),
            Arg::Text(v) => query.bind::<sql_types::Text, _>(v),
            Arg::Bytes(v) => query.bind::<sql_types::Blob, _>(v),
            Arg::Moment(v) => query.bind::<sql_types::Datetime, _>(v),
        };
    }
    query
}

impl<C: DerefMut<Target = MysqlConnection> + Send> Session for Own<C> {
    // All but what several statements are for is prepared.
    fn text(&mut self, sql: &str, each: Each) -> Result<(), Fault> {
        self.prepared(sql, &[], each)
    }

    fn prepared(&mut self, sql: &str, args: &[Arg], each: Each) -> Result<(), Fault> {
        if !["SELECT", "SHOW", "TABLE"].iter().any(|verb| sql.starts_with(verb)) {
            let n = query(sql, args).execute(&mut *self.0).map_err(fault)?;
            each(Piece::Done(n.to_string()));
            return Ok(());
        }
        for line in
            query(sql, args).load_iter::<Line, DefaultLoadingMode>(&mut *self.0).map_err(fault)?
        {
            if !each(Piece::Row(line.map_err(fault)?.0)) {
                break;
            }
        }
        Ok(())
    }

    // This client waits, whatever happens.
    fn cancel(&mut self, _: &str, _: Duration) -> Option<Fault> {
        None
    }

    fn close(self: Box<Self>) {}
}

impl Pool for diesel::r2d2::Pool<ConnectionManager<MysqlConnection>> {
    fn take(&self) -> Result<Boxed, Fault> {
        Ok(Box::new(Own(self.get().map_err(|e| format!("error {e}"))?)))
    }

    fn close(self: Box<Self>) {}
}

fn names(conn: &mut MysqlConnection) -> QueryResult<Vec<String>> {
    items::table.select(items::name).order(items::name).load(conn)
}

fn insert(conn: &mut MysqlConnection, name: &str) -> QueryResult<usize> {
    diesel::insert_into(items::table).values(items::name.eq(name)).execute(conn)
}

fn transactions(_: &Client) {
    let conn = &mut own();
    let outer = conn.transaction(|conn| {
        insert(conn, "outer")?;
        // Within another one it is a savepoint.
        let inner = conn.transaction(|conn| {
            insert(conn, "inner")?;
            Err::<(), _>(Error::RollbackTransaction)
        });
        tell("inner", inner.map(|()| "ok").map_err(fault));
        conn.transaction(|conn| insert(conn, "second"))
    });
    tell("outer", outer.map_err(fault));
    tell("committed", names(conn).map(|v| format!("{v:?}")).map_err(fault));
    let twice = conn.transaction(|conn| {
        insert(conn, "twice")?;
        insert(conn, "twice")
    });
    tell("twice", twice.map_err(fault));
    tell("left", names(conn).map(|v| format!("{v:?}")).map_err(fault));
    let lost = conn.transaction::<(), Error, _>(|conn| {
        conn.batch_execute("INSERT INTO items (name) VALUES ('lost')")?;
        conn.batch_execute("SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'öurs'")
    });
    tell("lost", lost.map(|()| "ok").map_err(fault));
    tell("left", names(conn).map(|v| format!("{v:?}")).map_err(fault));
    tell("empty", diesel::delete(items::table).execute(conn).map_err(fault));
}

/// Several statements at once, of whose results it keeps nothing.
fn multi_results(_: &Client) {
    let (conn, lock) = (&mut own(), format!("'{}.m'", schema()));
    for sql in [
        "SELECT 1 AS a; SELECT 'b' AS b, 2 AS c; DO 1; SELECT n FROM digits WHERE n < 2",
        "SELECT 1 AS a; SELECT nosuch; SELECT 3",
        &format!(
            "SELECT GET_LOCK({lock}, 0); SET @mine = IS_USED_LOCK({lock}) = CONNECTION_ID(); SELECT 1"
        ),
        &format!("SET @released = RELEASE_LOCK({lock}); SELECT RELEASE_LOCK({lock})"),
        "INSERT INTO items (name) VALUES ('m'), ('n'); DELETE FROM items",
        "CALL results(3, @y)",
        "",
    ] {
        tell(sql, conn.batch_execute(sql).map(|()| "ok").map_err(fault));
        let told = diesel::sql_query("SELECT @y, @mine, @released").load::<Line>(conn);
        tell("variables", told.map(|v| crate::session::line(&v[0].0)).map_err(fault));
    }
}

diesel::table! {
    items (id) {
        id -> Integer,
        name -> Text,
        amount -> Nullable<Integer>,
    }
}

#[diesel::declare_sql_function]
extern "SQL" {
    fn get_lock(
        name: sql_types::Text,
        seconds: sql_types::Double,
    ) -> sql_types::Nullable<sql_types::BigInt>;
    fn release_lock(name: sql_types::Text) -> sql_types::Nullable<sql_types::BigInt>;
    fn is_used_lock(
        name: sql_types::Text,
    ) -> sql_types::Nullable<sql_types::Unsigned<sql_types::BigInt>>;
    fn is_free_lock(name: sql_types::Text) -> sql_types::Nullable<sql_types::BigInt>;
    fn connection_id() -> sql_types::Unsigned<sql_types::BigInt>;
}

/// The functions as the query builder writes them.
fn functions(_: &Client) {
    let (a, b, lock) = (&mut own(), &mut own(), format!("{}.f", schema()));
    let show = |what: &str, got: QueryResult<Option<i64>>| {
        tell(what, got.map(|v| format!("{v:?}")).map_err(fault))
    };
    show("first", diesel::select(get_lock(&lock, 5.0)).get_result(a));
    show("second", diesel::select(get_lock(&lock, 0.0)).get_result(b));
    show("second", diesel::select(get_lock(&lock, 0.3)).get_result(b));
    let me: u64 = diesel::select(connection_id()).get_result(a).expect("an id");
    let user: Option<u64> = diesel::select(is_used_lock(&lock)).get_result(b).expect("a user");
    say(format_args!("used by first: {}", user == Some(me)));
    show("free", diesel::select(is_free_lock(&lock)).get_result(b));
    let both = diesel::select((release_lock(&lock), get_lock(&lock, 1.0), release_lock(&lock)));
    let both: QueryResult<(Option<i64>, Option<i64>, Option<i64>)> = both.get_result(a);
    tell("together", both.map(|v| format!("{v:?}")).map_err(fault));
    show("second", diesel::select(get_lock(&lock, 5.0)).get_result(b));
    let where_: QueryResult<Vec<i32>> =
        items::table.filter(is_free_lock(&lock).eq(1)).select(items::id).load(a);
    tell("in WHERE", where_.map(|v| format!("{v:?}")).map_err(fault));
    show("released", diesel::select(release_lock(&lock)).get_result(b));
    show("none", diesel::select(release_lock(&lock)).get_result(b));
}

/// The pool does not reset what returns, so its lock stays.
fn kept(client: &Client) {
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

diesel::table! {
    model (id) {
        id -> Unsigned<Integer>,
        name -> Varchar,
        at -> Nullable<Datetime>,
        data -> Nullable<Blob>,
        price -> Nullable<Double>,
        good -> Bool,
    }
}

#[derive(Queryable, Selectable, Insertable, Debug)]
#[diesel(table_name = model, check_for_backend(Mysql))]
struct Model {
    id: u32,
    name: String,
    at: Option<PrimitiveDateTime>,
    data: Option<Vec<u8>>,
    price: Option<f64>,
    good: bool,
}

fn model(_: &Client) {
    let conn = &mut own();
    let made = conn.batch_execute(
        "CREATE TABLE model (id INT UNSIGNED PRIMARY KEY, name VARCHAR(20) NOT NULL UNIQUE, at DATETIME(6), \
         data BLOB, price DOUBLE, good BOOL NOT NULL)",
    );
    tell("made", made.map(|()| "ok").map_err(fault));
    let at = time::Date::from_calendar_date(2024, time::Month::February, 29).expect("a leap year");
    let at = at.with_hms_micro(12, 34, 56, 789_012).expect("a time");
    let rows = [
        Model {
            id: 1,
            name: "ü€😀".into(),
            at: Some(at),
            data: Some(vec![0, 255]),
            price: Some(-1.5),
            good: true,
        },
        Model { id: u32::MAX, name: String::new(), at: None, data: None, price: None, good: false },
    ];
    tell(
        "inserted",
        diesel::insert_into(model::table).values(&rows[..]).execute(conn).map_err(fault),
    );
    let again = diesel::insert_into(model::table).values(&rows[0]).execute(conn);
    tell("again", again.map_err(fault));
    let replaced = diesel::replace_into(model::table).values(&rows[0]).execute(conn);
    tell("replaced", replaced.map_err(fault));
    let raised = diesel::update(model::table.filter(model::good))
        .set(model::price.eq(model::price * 2.0))
        .execute(conn);
    tell("raised", raised.map_err(fault));
    let all: QueryResult<Vec<Model>> =
        model::table.select(Model::as_select()).order(model::id).load(conn);
    tell("all", all.map(|v| format!("{v:?}")).map_err(fault));
    let locked = conn.transaction(|conn| {
        model::table.for_update().skip_locked().count().get_result::<i64>(conn)
    });
    tell("locked", locked.map_err(fault));
    let none: QueryResult<Option<String>> =
        model::table.find(5).select(model::name).first(conn).optional();
    tell("none", none.map(|v| format!("{v:?}")).map_err(fault));
    tell("deleted", diesel::delete(model::table).execute(conn).map_err(fault));
}
