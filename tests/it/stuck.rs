//! Takeovers that do not get on: who looks sees why, and what to do.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use serde_json::Value;

use crate::admin::Folder;
use crate::cli::{Person, install, least_rights, text};
use crate::launch::run;
use crate::own_server::{OwnServer, flavour_of};
use crate::proxy::{Proxy, fresh_schema};
use crate::script::{Flavour, Server};
use crate::session::{Session, account, until_busy};
use crate::stage::{eventually, join, on_both};
use crate::wire::{Account, Client};

on_both! {
    a_takeover_without_the_right_to_kill_says_so_until_it_has_it
    a_takeover_without_sight_says_so_until_it_has_it
    a_dead_proxy_s_mark_on_later_sessions_holds_nothing_up
}

/// Two proxies with a store account that lacks a right, of which the second has administrators.
struct Fleet {
    schema: String,
    person: Person,
    dying: Proxy,
    other: Proxy,
    folder: Folder,
    server: Server,
}

impl Fleet {
    fn without(server: &Server, lacking: &[&str]) -> Self {
        let schema = fresh_schema();
        install(server, &schema);
        let rights = least_rights(server);
        let has: Vec<&str> = rights.into_iter().filter(|r| !lacking.contains(r)).collect();
        let person = Person::create(server, &schema, &has);
        let url = format!("mysql://{}:pw@127.0.0.1:{}/", person.name, server.port);
        let folder = Folder::new();
        let state = folder.file("state").display().to_string();
        let dying = Proxy::start_on(&url, &schema, &["--lease", "2s"]);
        let other = Proxy::start_on(&url, &schema, &["--lease", "2s", "--state-dir", &state]);
        let knows = |p: &Proxy| {
            p.metric("lockstead_live_peers") >= 1.0 && p.metric("lockstead_lease_good") >= 1.0
        };
        eventually("they see each other", || (knows(&dying) && knows(&other)).then_some(()));
        Self { schema, person, dying, other, folder, server: server.clone() }
    }

    fn kill_the_first(&mut self) {
        self.dying.signal("KILL");
        self.dying.wait();
    }

    fn grant(&self, right: &str) {
        self.server.root().run(&format!("GRANT {right} TO {}@'%'", self.person.name));
    }

    /// What the command line says to an order for the release of a lock.
    fn release(&self, name: &str) -> String {
        let socket = self.folder.file("state").join("admin.sock");
        let output = run(&["release", name, &format!("--admin=unix:{}", socket.display())]);
        assert_ne!(output.status.code(), Some(0), "{}", text(&output));
        text(&output)
    }

    /// What the page is told is stuck; an answer may be a second old.
    fn stuck(&self, many: usize) -> String {
        let stuck = eventually("the page tells", || Some(self.told()).filter(|t| t.len() == many));
        stuck.join("\n")
    }

    fn told(&self) -> Vec<String> {
        let page = self.other.page("/api/v1/status");
        let body = page.split_once("\r\n\r\n").map_or(page.as_str(), |(_, body)| body);
        let status: Value = serde_json::from_str(body).expect("JSON");
        let all = status["clusters"][0]["stuck"].as_array().expect("a list").clone();
        all.iter().map(|text| text.as_str().expect("text").to_owned()).collect()
    }

    fn until_stuck(&self, of: &str, many: f64) {
        let metric = format!("lockstead_stuck_ends{{of=\"{of}\"}}");
        eventually("it is counted", || {
            ((self.other.metric(&metric) - many).abs() < 0.1).then_some(())
        });
    }

    fn until_right(&self, right: &str, has: f64) {
        let metric = format!("lockstead_store_rights{{right=\"{right}\"}}");
        eventually("the right is shown", || {
            ((self.other.metric(&metric) - has).abs() < 0.1).then_some(())
        });
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        if !thread::panicking() {
            self.other.signal("KILL");
            self.other.wait();
            self.server.root().run(&format!("DROP DATABASE {}", self.schema));
        }
    }
}

fn a_takeover_without_the_right_to_kill_says_so_until_it_has_it(server: &Server) {
    let kill = match flavour_of(server) {
        Flavour::MySql => "CONNECTION_ADMIN ON *.*",
        Flavour::MariaDb => "CONNECTION ADMIN ON *.*",
    };
    let mut fleet = Fleet::without(server, &[kill]);
    let mut holder = Session::at(fleet.dying.port);
    let mut waiter = Session::at(fleet.other.port);
    holder.lock("k");
    waiter.ask_for("k");
    holder.send("SELECT SLEEP(600)");
    until_busy(&mut server.root(), holder.id());
    fleet.until_right("kill", 0.0);
    fleet.kill_the_first();
    fleet.until_stuck("proxy", 1.0);
    let why = format!("may not end connection {}", holder.id());
    let stuck = fleet.stuck(1);
    assert!(stuck.contains(&why), "{stuck}");
    let said = fleet.release("k");
    assert!(said.contains("its proxy is dead") && said.contains(&why), "{said}");
    fleet.grant(kill);
    waiter.gets_it();
    fleet.until_stuck("proxy", 0.0);
    fleet.until_right("kill", 1.0);
    fleet.stuck(0);
}

fn a_takeover_without_sight_says_so_until_it_has_it(server: &Server) {
    let sight = ["PROCESS ON *.*", "SELECT ON performance_schema.threads"];
    let mut fleet = Fleet::without(server, &sight);
    let (mut killed, mut idle) = (Session::at(fleet.other.port), Session::at(fleet.dying.port));
    let mut waiters = [(); 2].map(|()| Session::at(fleet.other.port));
    killed.lock("of this");
    idle.lock("of the first");
    waiters[0].ask_for("of this");
    waiters[1].ask_for("of the first");
    // The end of a session of its own cannot be seen, either.
    server.root().run(&format!("KILL {}", killed.id()));
    fleet.until_stuck("session", 1.0);
    fleet.kill_the_first();
    fleet.until_stuck("proxy", 1.0);
    let stuck = fleet.stuck(2);
    assert_eq!(stuck.matches("PROCESS").count(), 2, "{stuck}");
    let said = fleet.release("of the first");
    assert!(said.contains("GRANT PROCESS"), "{said}");
    fleet.until_right("process", 0.0);
    fleet.grant(sight[0]);
    for waiter in &mut waiters {
        waiter.gets_it();
    }
    fleet.until_stuck("proxy", 0.0);
    fleet.until_stuck("session", 0.0);
    fleet.until_right("process", 1.0);
}

/// The mark is an attribute of the connection, which any client may give itself.
fn a_dead_proxy_s_mark_on_later_sessions_holds_nothing_up(server: &Server) {
    let own = OwnServer::start(flavour_of(server), &["--performance-schema=ON"]);
    let server = &own.server;
    let lease = ["--lease", "2s"];
    let mut dying = Proxy::start(&server.url, &lease);
    let other = join(server, &dying, &lease);
    let id = server.root().column(&format!(
        "SELECT LOWER(LPAD(HEX(id),16,'0')) FROM {}.proxies WHERE addr='127.0.0.1:{}'",
        dying.schema, dying.port
    ));
    let mark = Account { attributes: vec![("_lockstead".into(), id.concat())], ..account() };
    let mut holder = Session::at(dying.port);
    let mut waiter = Session::at(other.port);
    holder.lock("k");
    waiter.ask_for("k");
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..12 {
            // As soon as one is ended, there is the next.
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    if let Ok(mut client) = Client::connect("127.0.0.1", server.port, &mark) {
                        client.query(b"DO SLEEP(2)");
                    }
                }
            });
        }
        let marked = format!(
            "SELECT COUNT(*)>=12 FROM performance_schema.session_connect_attrs \
             WHERE ATTR_NAME='_lockstead' AND ATTR_VALUE='{}'",
            id.concat()
        );
        eventually("they carry its mark", || {
            (server.root().column(&marked) == ["1"]).then_some(())
        });
        dying.signal("KILL");
        dying.wait();
        let granted = waiter.client.readable_within(crate::stage::PATIENCE / 2);
        over.store(true, Ordering::Relaxed);
        assert!(granted, "the takeover waits for sessions that came later");
    });
    waiter.gets_it();
}
