//! The cases that all clients do alike.

use std::sync::atomic::{AtomicI64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use sha2::{Digest, Sha256};

use crate::clients::{Case, Client};
use crate::session::{
    Arg, Boxed, Fault, Options, Piece, Value, hash, hex, line, nap, pattern, say, schema, tell,
};

pub const SHARED: &[Case] = &[
    ("connect", connect),
    ("types", types),
    ("prepared", prepared),
    ("transactions", transactions),
    ("errors", errors),
    ("big_packet", big_packet),
    ("big_result", big_result),
    ("multi_results", multi_results),
    ("warnings", warnings),
    ("reconnect", reconnect),
    ("lock", lock),
    ("pool", pool),
    ("busy", busy),
];

fn connect(client: &Client) {
    let mut s = client.session();
    s.told("version", "SELECT VERSION()", &[]);
    // With which cipher is for each pair to agree upon.
    let cipher =
        s.value("SHOW SESSION STATUS WHERE Variable_name = 'Ssl_cipher' AND Value <> ''", &[]);
    say(format_args!("TLS = {}", cipher.is_ok()));
    s.told("account", "SELECT CURRENT_USER()", &[]);
    s.listed("character set", "SELECT @@character_set_client AS c, @@character_set_results AS r, @@collation_connection AS x", &[]);
    s.listed("mode", "SELECT @@sql_mode AS m, @@time_zone AS z, @@autocommit AS a", &[]);
    s.close();
    for options in [
        Options { password: Some("wrong"), ..Options::default() },
        Options { schema: Some("nosuch"), ..Options::default() },
        Options { user: Some("nosuch"), ..Options::default() },
    ] {
        tell("wrong", (client.open)(&options).map(|_| "let in"));
    }
}

fn types(client: &Client) {
    for table in ["numbers", "texts", "bytes", "times", "durations", "others"] {
        // One for each: not every client survives its own failures.
        let mut s = client.session();
        let what = (client.columns)(table);
        s.listed(&format!("{table} text"), &format!("SELECT {what} FROM {table} ORDER BY id"), &[]);
        s.close();
        let mut s = client.session();
        let sql = format!("SELECT {what} FROM {table} WHERE id > ? ORDER BY id");
        s.listed(&format!("{table} prepared"), &sql, &[0.into()]);
        s.close();
    }
}

fn prepared(client: &Client) {
    let mut s = client.session();
    s.listed("sum", "SELECT ? + ? AS x", &[1.into(), 2.into()]);
    let day = time::Date::from_calendar_date(2024, time::Month::February, 29).expect("a leap year");
    let moment = day.with_hms_micro(12, 34, 56, 789_012).expect("a time");
    let args = [
        1.into(),
        Arg::Float(-1.5),
        "ü€😀".into(),
        Arg::Null,
        Arg::Bytes(vec![0, 255, 39]),
        Arg::Moment(moment),
        Arg::Uint(1 << 63),
    ];
    let echo = client.echo;
    for (i, arg) in args.into_iter().enumerate() {
        let sql = format!("SELECT {echo} AS v{i}, LENGTH(?) AS l");
        s.listed(&format!("parameter {i}"), &sql, &[arg.clone(), arg]);
    }
    for arg in [1.into(), "two".into(), Arg::Null, Arg::Float(3.5)] {
        s.listed("another type", "SELECT CONCAT(?) AS v", &[arg]);
    }
    for i in 0..3 {
        let lock = Arg::Text(format!("{}.p{i}", schema()));
        let sql = "SELECT GET_LOCK(?, ?) AS a, IS_USED_LOCK(?) = CONNECTION_ID() AS b, RELEASE_LOCK(?) AS c";
        s.listed("lock", sql, &[lock.clone(), i.into(), lock.clone(), lock]);
    }
    s.listed("insert", "INSERT INTO items (name, amount) VALUES (?, ?)", &["p".into(), 7.into()]);
    s.listed("update", "UPDATE items SET amount = ? WHERE name = ?", &[8.into(), "p".into()]);
    s.listed("same", "UPDATE items SET amount = ? WHERE name = ?", &[8.into(), "p".into()]);
    s.listed("delete", "DELETE FROM items WHERE name = ?", &["p".into()]);
    s.told("syntax", "SELEC ?", &[1.into()]);
    s.told("missing", "SELECT * FROM nosuch WHERE id = ?", &[1.into()]);
    s.told("afterwards", &format!("SELECT {echo}"), &["end".into()]);
    s.close();
}

fn transactions(client: &Client) {
    let (mut a, mut b) = (client.session(), client.session());
    let count = "SELECT COUNT(*) FROM items";
    a.must("SET autocommit = 0");
    a.listed("insert", "INSERT INTO items (name, amount) VALUES ('a', 1), ('b', 2)", &[]);
    b.told("not seen", count, &[]);
    a.listed("rollback", "ROLLBACK", &[]);
    a.told("rolled back", count, &[]);
    a.listed("insert", "INSERT INTO items (name, amount) VALUES (?, ?)", &["a".into(), 1.into()]);
    a.listed("commit", "COMMIT", &[]);
    b.listed("committed", "SELECT name, amount FROM items ORDER BY name", &[]);
    b.must("SET SESSION innodb_lock_wait_timeout = 1");
    a.listed("update", "UPDATE items SET amount = 5 WHERE name = 'a'", &[]);
    a.told("lock", "SELECT GET_LOCK(?, 0)", &["tx".into()]);
    b.listed("row lock", "UPDATE items SET amount = 6 WHERE name = 'a'", &[]);
    a.listed("rollback", "ROLLBACK", &[]);
    b.told("still locked", "SELECT IS_FREE_LOCK(?)", &["tx".into()]);
    a.told("released", "SELECT RELEASE_LOCK(?)", &["tx".into()]);
    a.listed("empty", "DELETE FROM items", &[]);
    a.must("COMMIT");
    a.close();
    b.close();
}

fn errors(client: &Client) {
    let mut s = client.session();
    s.must("INSERT INTO items (id, name) VALUES (1, 'taken')");
    for text in [
        "SELEC 1",
        "SELECT nosuch FROM items",
        "SELECT * FROM nosuch",
        "INSERT INTO items (name) VALUES ('taken')",
        "INSERT INTO items (name) VALUES (NULL)",
        "INSERT INTO items (name, amount) VALUES ('x', 5000)",
        "SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'öurs', MYSQL_ERRNO = 4321",
        "CALL nosuch()",
        "SELECT GET_LOCK(REPEAT('x', 65), 0)",
        "SELECT GET_LOCK()",
        "SELECT RELEASE_LOCK('nosuch')",
        "SELECT GET_LOCK(NULL, 0)",
        "DO RELEASE_LOCK('nosuch')",
        "KILL 4294967295",
        "",
        "SELECT (SELECT n FROM digits)",
        "SELECT 18446744073709551615 + 1",
    ] {
        s.listed(text, text, &[]);
        s.listed_prepared(&format!("prepared {text}"), text);
    }
    s.must("DELETE FROM items");
    s.close();
}

fn big_packet(client: &Client) {
    let mut s = client.session();
    let data = pattern(20 << 20);
    say(format_args!("sent = {}", hash(&data)));
    let text = "down ".repeat(4 << 20);
    s.listed(
        "prepared",
        &format!("SELECT SHA2(?, 256) AS there, {} AS back", client.echo),
        &[Arg::Bytes(data.clone()), Arg::Bytes(data)],
    );
    s.listed(
        "text",
        &format!("SELECT SHA2(b, 256) AS there, b AS back FROM (SELECT '{text}' AS b) x"),
        &[],
    );
    s.told("afterwards", "SELECT 1", &[]);
    s.close();
}

const MANY: &str = "SELECT f.n*100000+e.n*10000+d.n*1000+c.n*100+b.n*10+a.n AS id, REPEAT(CHAR(97+a.n), 20+e.n) AS word, \
    IF(b.n = 3, NULL, c.n/7) AS part FROM digits a, digits b, digits c, digits d, digits e, digits f \
    WHERE f.n < 2 ORDER BY id";

fn big_result(client: &Client) {
    let mut s = client.session();
    for (sql, args) in
        [(MANY.to_owned(), vec![]), (MANY.replace("f.n < 2", "f.n < ?"), vec![2.into()])]
    {
        let (mut sum, mut n) = (Sha256::new(), 0);
        let result = s.run(&sql, &args, &mut |piece| {
            if let Piece::Row(row) = piece {
                n += 1;
                sum.update(line(&row));
            }
            true
        });
        tell("streamed", result.map(|()| format!("{n} {}", hex(&sum.finalize()))));
    }
    for args in [vec![], vec![2.into()]] {
        let sql =
            if args.is_empty() { MANY.to_owned() } else { MANY.replace("f.n < 2", "f.n < ?") };
        let mut n = 0;
        let result = s.run(&sql, &args, &mut |piece| {
            n += i32::from(matches!(piece, Piece::Row(_)));
            n < 3
        });
        tell("left early", result.map(|()| n));
        s.told("afterwards", "SELECT 1", &[]);
    }
    s.close();
}

fn multi_results(client: &Client) {
    let mut s = client.session();
    let lock = format!("'{}.m'", schema());
    s.listed(
        "statements",
        "SELECT 1 AS a; SELECT 'b' AS b, 2 AS c; DO 1; SELECT n FROM digits WHERE n < 2",
        &[],
    );
    s.listed("error between", "SELECT 1 AS a; SELECT nosuch; SELECT 3", &[]);
    // Some clients report the error only now.
    s.told("afterwards", "SELECT 1", &[]);
    let locks = format!(
        "SELECT GET_LOCK({lock}, 0) AS a; SELECT IS_USED_LOCK({lock}) = CONNECTION_ID() AS b; SELECT RELEASE_LOCK({lock}) AS c"
    );
    s.listed("locks", &locks, &[]);
    s.listed("updates", "INSERT INTO items (name) VALUES ('m'), ('n'); DELETE FROM items", &[]);
    s.listed("call", "CALL results(3, @y)", &[]);
    s.told("out", "SELECT @y", &[]);
    s.listed("prepared call", "CALL results(?, @y)", &[2.into()]);
    s.told("out", "SELECT @y", &[]);
    s.listed("prepared", "SELECT ?; SELECT 2", &[1.into()]);
    let mut n = 0;
    let result = s.text("SELECT 1 AS a; SELECT n FROM digits; SELECT 3", &mut |_| {
        n += 1;
        n < 4
    });
    tell("left early", result.map(|()| n));
    s.told("afterwards", "SELECT 1", &[]);
    s.close();
}

fn warnings(client: &Client) {
    let mut s = client.session();
    s.must("SET SESSION sql_mode = ''");
    s.listed("insert", "INSERT INTO loaded VALUES ('12x', REPEAT('y', 30))", &[]);
    s.listed("warnings", "SHOW WARNINGS", &[]);
    s.listed(
        "prepared",
        "INSERT INTO loaded VALUES (?, REPEAT('y', ?))",
        &["12x".into(), 30.into()],
    );
    s.listed("warnings", "SHOW WARNINGS", &[]);
    s.listed("lock", "SELECT GET_LOCK('w', '1x') AS a, RELEASE_LOCK('w') AS b", &[]);
    s.listed("warnings", "SHOW WARNINGS", &[]);
    s.listed("no table", "DROP TABLE IF EXISTS nosuch", &[]);
    s.listed("warnings", "SHOW WARNINGS", &[]);
    s.must("DELETE FROM loaded");
    s.close();
}

fn reconnect(client: &Client) {
    let (mut s, mut victim) = (client.session(), client.session());
    let lock = Arg::Text(format!("{}.k", schema()));
    let id = victim.number("SELECT CONNECTION_ID()", &[]);
    victim.told("locked", "SELECT GET_LOCK(?, 0)", std::slice::from_ref(&lock));
    s.told("held", &format!("SELECT IS_USED_LOCK(?) = {id}"), std::slice::from_ref(&lock));
    s.listed("kill", &format!("KILL {id}"), &[]);
    s.told("freed", "SELECT GET_LOCK(?, 10)", &[lock]);
    nap(100);
    say(format_args!("killed: {}", victim.value("SELECT 1", &[]).is_err()));
    drop(victim);
    let pool = (client.pool)(1);
    // The pool notices that its connection is gone, and takes another one.
    for _ in 0..2 {
        let mut first = pool.take().expect("a connection");
        let id = first.number("SELECT CONNECTION_ID()", &[]);
        first.close();
        // Some pools reset it unasked, with COM_RESET_CONNECTION, during which a server forgets a KILL.
        nap(300);
        s.listed("kill", &format!("KILL {id}"), &[]);
        nap(100);
        let mut next = pool.take().expect("another connection");
        tell(
            "another connection",
            next.value("SELECT CONNECTION_ID()", &[]).map(|v| v.number() != Some(id)),
        );
        next.close();
    }
    pool.close();
    s.close();
}

/// GET_LOCK in the background, for a while at least.
fn waits(mut s: Boxed, lock: &Arg) -> JoinHandle<(Boxed, Result<Value, Fault>)> {
    let args = [lock.clone()];
    let waiting = thread::spawn(move || {
        let got = s.value("SELECT GET_LOCK(?, 30)", &args);
        (s, got)
    });
    nap(200);
    waiting
}

fn lock(client: &Client) {
    let (mut a, mut b, name) = (client.session(), client.session(), format!("{}.lock", schema()));
    let lock = Arg::Text(name.clone());
    let one = std::slice::from_ref(&lock);
    let id = a.number("SELECT CONNECTION_ID()", &[]);
    a.told("first", "SELECT GET_LOCK(?, 5)", one);
    b.told("second at once", "SELECT GET_LOCK(?, 0)", one);
    b.told("free", "SELECT IS_FREE_LOCK(?)", one);
    tell("used by first", b.value("SELECT IS_USED_LOCK(?)", one).map(|v| v.number() == Some(id)));
    b.told("released by second", "SELECT RELEASE_LOCK(?)", one);
    let second = waits(b, &lock);
    a.told("released", "SELECT RELEASE_LOCK(?)", one);
    let (mut b, got) = second.join().expect("it ends");
    tell("second", got);
    b.told("again", &format!("SELECT GET_LOCK('{name}', 0)"), &[]);
    a.told("first at once", &format!("SELECT GET_LOCK('{name}', 0)"), &[]);
    a.told("first after a second", "SELECT GET_LOCK(?, 1)", one);
    let first = waits(a, &lock);
    b.close();
    let (mut a, got) = first.join().expect("it ends");
    tell("first when second closed", got);
    let mut c = client.session();
    tell(
        "cancelled",
        Ok(format!(
            "{:?}",
            c.cancel(&format!("SELECT GET_LOCK('{name}', 30)"), Duration::from_millis(300))
        )),
    );
    drop(c);
    a.told("all", "SELECT RELEASE_ALL_LOCKS()", &[]);
    // The server may notice only after a while that the cancelled one is gone.
    a.told("nobody waits", "SELECT GET_LOCK(?, 10)", one);
    a.told("released", "SELECT RELEASE_LOCK(?)", one);
    a.told("none", "SELECT RELEASE_LOCK(?)", one);
    let two = [Arg::Text(format!("{name}1")), Arg::Text(format!("{name}2"))];
    a.listed(
        "together",
        "SELECT GET_LOCK(?, 10) AS a, GET_LOCK(?, 0) AS b, RELEASE_ALL_LOCKS() AS n",
        &two,
    );
    a.close();
}

fn pool(client: &Client) {
    let pool = (client.pool)(3);
    let lock = [Arg::Text(format!("{}.pool", schema()))];
    let (inside, most, good) = (AtomicI64::new(0), AtomicI64::new(0), AtomicI64::new(0));
    thread::scope(|scope| {
        for _ in 0..12 {
            scope.spawn(|| {
                let mut s = pool.take().expect("a connection");
                let got = s.number("SELECT GET_LOCK(?, 30)", &lock);
                most.fetch_max(inside.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                nap(5);
                inside.fetch_sub(1, Ordering::SeqCst);
                let released = s.number("SELECT RELEASE_LOCK(?)", &lock);
                good.fetch_add((got * released) as i64, Ordering::SeqCst);
                s.close();
            });
        }
    });
    let mut sum = 0;
    for i in 0..50 {
        let mut s = pool.take().expect("a connection");
        sum += s.number("SELECT CAST(? AS SIGNED)", &[i.into()]);
        s.close();
    }
    say(format_args!(
        "{} turns, at most {} inside, sum {sum}",
        good.into_inner(),
        most.into_inner()
    ));
    pool.close();
}

/// Works without pauses under a lock, until the harness says that it is over.
fn busy(client: &Client) {
    let mut s = client.session();
    s.must("CREATE TABLE busy (id INT AUTO_INCREMENT PRIMARY KEY, n INT NOT NULL)");
    s.must("INSERT INTO busy (n) VALUES (0)");
    let lock = [Arg::Text("busy".into())];
    s.told("lock", "SELECT GET_LOCK(?, 5)", &lock);
    let (mut errors, mut over) = (0, false);
    for _ in 0..400 {
        let round = s.run("UPDATE busy SET n = n + ?", &[1.into()], &mut |_| true);
        match round.and_then(|()| s.value("SELECT n > ? FROM busy", &[510.into()])) {
            Ok(value) => over = value.number() == Some(1),
            Err(_) => errors += 1,
        }
        if over {
            break;
        }
        nap(50);
    }
    say(format_args!("over: {over}, one error at most: {}", errors < 2));
    s.told("mine", "SELECT IS_USED_LOCK('busy') = CONNECTION_ID()", &[]);
    s.told("id", "SELECT id = LAST_INSERT_ID() FROM busy", &[]);
    s.told("released", "SELECT RELEASE_LOCK(?)", &lock);
    s.must("DROP TABLE busy");
    s.close();
}
