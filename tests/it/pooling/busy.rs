//! Clients that work without pauses, and hold locks, when the primary dies: they keep them, and their state.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::failover::{Ground, POOLING};
use super::ground::teach;
use crate::own_server::flavour_of;
use crate::script::{Flavour, Server};
use crate::session::{Session, first_value};
use crate::stage::{eventually, on_both};
use crate::wire::library::{LIBRARIES, OWN};
use crate::wire::response::ErrPacket;
use crate::wire::{End, Execute, Library, Response, Shape};

on_both! {
    a_busy_client_keeps_its_lock_and_its_state_when_the_primary_dies
    a_client_that_executes_without_pauses_keeps_its_lock_when_the_primary_dies
}

/// A way to work.
struct Work {
    /// Run once, before the lock is taken.
    before: &'static [&'static str],
    /// Run once, after the lock is taken.
    after: &'static [&'static str],
    /// Run again and again.
    again: &'static str,
    /// Asked when all is over, and the answer.
    asks: (&'static str, &'static str),
}

/// The only value of the client's own table, whose ids begin here.
const INSERT: &str = "INSERT INTO ids_N () VALUES ()";

const WORKS: [Work; 7] = [
    Work {
        before: &["SET NAMES latin1"],
        after: &[],
        again: "SELECT 7",
        asks: ("SELECT @@character_set_client", "latin1"),
    },
    Work {
        before: &[INSERT],
        after: &[],
        again: "SELECT 7",
        asks: ("SELECT LAST_INSERT_ID()", "571"),
    },
    Work {
        before: &["SET NAMES utf8mb4 COLLATE utf8mb4_bin"],
        after: &[INSERT],
        again: "UPDATE ids_N SET v = v + 1",
        asks: ("SELECT CONCAT(@@collation_connection, LAST_INSERT_ID())", "utf8mb4_bin571"),
    },
    Work {
        before: &[],
        after: &["SET @a = 'kept'"],
        again: "SELECT COUNT(*) FROM ids_N",
        asks: ("SELECT @a", "kept"),
    },
    Work {
        before: &[],
        after: &["BEGIN", INSERT, "SET @a = 7"],
        again: "SELECT @a",
        asks: ("SELECT CONCAT(@a, LAST_INSERT_ID())", "7571"),
    },
    // Of a binary statement.
    Work {
        before: &["SET NAMES latin1"],
        after: &[INSERT],
        again: "execute",
        asks: ("SELECT CONCAT(@@character_set_client, LAST_INSERT_ID())", "latin1571"),
    },
    // With a warning each time.
    Work {
        before: &[INSERT],
        after: &[],
        again: "SELECT 7 / 0",
        asks: ("SELECT LAST_INSERT_ID()", "571"),
    },
];

/// A busy client, and what it has heard.
struct Busy {
    session: Session,
    work: &'static Work,
    library: &'static Library,
    number: usize,
    statement: Option<u32>,
}

impl Busy {
    fn begin(ground: &Ground, flavour: Flavour, number: usize, work: &'static Work) -> Self {
        let library = LIBRARIES.iter().chain([&OWN]).nth(number).expect("a library");
        let account = ground.account.clone().by(library, flavour);
        let session = Session::of(ground.proxies[0].port, &account);
        let mut busy = Self { session, work, library, number, statement: None };
        work.before.iter().for_each(|sql| busy.run(sql));
        busy.session.lock(&format!("k{number}"));
        work.after.iter().for_each(|sql| busy.run(sql));
        if work.again == "execute" {
            let prepared = busy.session.client.prepare(b"SELECT 7");
            busy.statement = Some(prepared.statement_id().expect("prepared"));
        }
        busy
    }

    fn named(&self, sql: &str) -> String {
        sql.replace("_N", &format!("_{}", self.number))
    }

    fn run(&mut self, sql: &str) {
        let sql = self.named(sql);
        self.session.run(&sql);
    }

    fn once_more(&mut self) -> Response {
        if let Some(statement) = self.statement {
            return self.session.client.execute(statement, &Execute::default());
        }
        let sql = self.named(self.work.again);
        self.session.send(&sql);
        self.session.client.read_response(Shape::Query)
    }

    /// Works until the end, and counts what has succeeded. The errors.
    fn work(&mut self, done: &AtomicUsize, over: &AtomicBool) -> Vec<(u16, String)> {
        let mut errors = Vec::new();
        while !over.load(Ordering::Relaxed) {
            let response = self.once_more();
            let who = (self.library.name, self.work.asks.0);
            assert_eq!(response.end, End::Complete, "{who:?} has lost its session: {response:?}");
            match response.packets.last().filter(|packet| packet.payload.first() == Some(&0xff)) {
                Some(packet) => {
                    let error = ErrPacket::parse(&packet.payload);
                    errors.push((error.code, String::from_utf8_lossy(&error.message).into_owned()));
                }
                None => drop(done.fetch_add(1, Ordering::Relaxed)),
            }
        }
        errors
    }

    /// Asserts that the client has its lock and its state.
    fn is_as_before(&mut self) {
        let who = (self.library.name, self.work.asks.0);
        let lock = format!("SELECT IS_USED_LOCK('k{}')", self.number);
        let id = Some(self.session.id().to_string());
        assert_eq!(self.session.value(&lock), id, "{who:?}");
        let (sql, answer) = self.work.asks;
        let response = self.session.run(sql);
        assert_eq!(first_value(sql, &response).as_deref(), Some(answer), "{who:?}");
    }
}

/// Ends the work, also if the test fails.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn a_busy_client_keeps_its_lock_and_its_state_when_the_primary_dies(server: &Server) {
    // Each library does another work at the other server.
    let turn = if flavour_of(server) == Flavour::MySql { 0 } else { 3 };
    keep(server, |number| &WORKS[(number + turn) % WORKS.len()]);
}

fn a_client_that_executes_without_pauses_keeps_its_lock_when_the_primary_dies(server: &Server) {
    keep(server, |_| WORKS.iter().find(|work| work.again == "execute").expect("a work"));
}

/// A client of each library works while the primary dies. `work` is what each does.
fn keep(server: &Server, work: impl Fn(usize) -> &'static Work) {
    let flavour = flavour_of(server);
    // Each client has a connection, so that none is asked to give it back.
    let ground = Ground::new(server, &[&POOLING[..3], &["64"]].concat());
    ground.first.server.root().run("FLUSH PRIVILEGES");
    teach(&ground.proxies[0], &ground.account);
    let clients = LIBRARIES.len() + 1;
    for number in 0..clients {
        ground.first.server.root().run(&format!(
            "CREATE TABLE work.ids_{number} (id INT AUTO_INCREMENT PRIMARY KEY, v INT NOT NULL DEFAULT 0) AUTO_INCREMENT=571"
        ));
    }
    let mut busy: Vec<Busy> =
        (0..clients).map(|number| Busy::begin(&ground, flavour, number, work(number))).collect();
    ground.until_alike();
    let over = AtomicBool::new(false);
    let done: Vec<AtomicUsize> = busy.iter().map(|_| AtomicUsize::new(0)).collect();
    let until = |what: &str, times: usize| {
        eventually(what, || {
            let all = done.iter().all(|done| done.load(Ordering::Relaxed) >= times);
            all.then_some(())
        });
    };
    std::thread::scope(|scope| {
        let stop = Stop(&over);
        let workers: Vec<_> = busy.iter_mut().zip(&done).collect();
        let workers: Vec<_> = workers
            .into_iter()
            .map(|(busy, done)| scope.spawn(|| busy.work(done, &over)))
            .collect();
        until("they work", 20);
        ground.fail_over();
        let before = done.iter().map(|done| done.load(Ordering::Relaxed)).max().unwrap_or_default();
        until("they work at the next primary", before + 20);
        drop(stop);
        for worker in workers {
            let errors = worker.join().expect("its session goes on");
            assert!(errors.len() <= 1, "one error at most: {errors:?}");
            assert!(errors.iter().all(|(code, _)| [1105, 1213].contains(code)), "{errors:?}");
        }
    });
    busy.iter_mut().for_each(Busy::is_as_before);
    let page = ground.proxies[0].page("/metrics");
    let lost = page.lines().filter(|line| line.starts_with("lockstead_sessions_lost_total{"));
    let lost: Vec<&str> = lost.filter(|line| !line.ends_with(" 0")).collect();
    assert!(lost.is_empty(), "{lost:?}");
}
