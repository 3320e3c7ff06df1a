//! What stands between the proxy and the server greets with connection id 0, as MySQL Router does when its sessions share
//! connections. `dev/test-router.sh` has the real one.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crate::cli::text;
use crate::launch::{Launched, SERVE, run};
use crate::own_server::{OwnServer, SharedServers, flavour_of};
use crate::proxy::fresh_schema;
use crate::script::{Flavour, Server};
use crate::session::{Session, account};
use crate::stage::{eventually, on_both};
use crate::wire::Client;

on_both! {
    a_lock_is_held_while_the_server_works_for_its_session
    each_session_has_an_id_of_its_own
    the_connections_of_a_dead_proxy_are_found_by_their_tags
    modes_that_need_the_ids_are_refused_at_the_start
    modes_that_need_the_ids_refuse_sessions_when_these_go
    lock_tables_are_not_kept_there
}

/// Passes bytes on, and takes the id out of greetings if it is told to.
struct Lender {
    port: u16,
    hides: Arc<AtomicBool>,
}

impl Lender {
    fn start(server: &Server) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("bound").port();
        let (target, hides) = (server.port, Arc::new(AtomicBool::new(true)));
        let hidden = Arc::clone(&hides);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                // Either side may be gone.
                let _ = lend(client, target, hidden.load(Ordering::SeqCst));
            }
        });
        Self { port, hides }
    }

    fn at(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }
}

fn lend(mut client: TcpStream, target: u16, hides: bool) -> io::Result<()> {
    let mut server = TcpStream::connect(("127.0.0.1", target))?;
    let mut head = [0; 4];
    server.read_exact(&mut head)?;
    let mut greeting = vec![0; usize::from(u16::from_le_bytes([head[0], head[1]]))];
    server.read_exact(&mut greeting)?;
    let id = greeting.iter().position(|b| *b == 0).expect("the end of the version") + 1;
    if hides {
        greeting[id..id + 4].fill(0);
    }
    client.write_all(&[&head[..], &greeting].concat())?;
    for (mut from, mut to) in
        [(client.try_clone()?, server.try_clone()?), (server.try_clone()?, client.try_clone()?)]
    {
        thread::spawn(move || {
            let _ = io::copy(&mut from, &mut to);
            let _ = to.shutdown(std::net::Shutdown::Both);
        });
    }
    Ok(())
}

/// A server whose sessions can be found by their attributes.
fn suited(server: &Server) -> Arc<OwnServer> {
    static RUNNING: SharedServers = SharedServers::none();
    let flavour = flavour_of(server);
    let options: &[&str] = match flavour {
        Flavour::MySql => &[],
        Flavour::MariaDb => &["--performance-schema=ON"],
    };
    RUNNING.get(flavour, options)
}

fn store(server: &Server, schema: &str) -> String {
    format!("{}{schema}", server.url)
}

const LEASE: [&str; 3] = ["--create-schema", "--lease", "3s"];

fn busy(server: &Server) -> bool {
    let mut root = server.root();
    let sql =
        format!("SELECT COUNT(*) FROM {} WHERE info LIKE 'SELECT SLEEP(3)%'", root.processes());
    root.column(&sql) == ["1"]
}

/// The proxy asks for a reset, and gives up sooner than the statement ends.
fn a_lock_is_held_while_the_server_works_for_its_session(server: &Server) {
    let own = suited(server);
    let (lender, schema) = (Lender::start(&own.server), fresh_schema());
    let proxy = Launched::start(&lender.at(), &store(&own.server, &schema), &LEASE);
    let mut holder = Session::at(proxy.port);
    holder.lock("k");
    holder.send("SELECT SLEEP(3)");
    eventually("the statement runs", || busy(&own.server).then_some(()));
    holder.client.reset_tcp();
    let mut waiter = Session::at(proxy.port);
    waiter.ask_for("k");
    waiter.gets_it();
    assert!(!busy(&own.server), "the server works for the session that held the lock");
}

fn each_session_has_an_id_of_its_own(server: &Server) {
    let own = suited(server);
    let (lender, schema) = (Lender::start(&own.server), fresh_schema());
    let proxy = Launched::start(&lender.at(), &store(&own.server, &schema), &LEASE);
    let mut sessions = [(); 2].map(|()| Session::at(proxy.port));
    let ids = [sessions[0].id(), sessions[1].id()];
    assert!(ids[0] != ids[1] && ids.iter().all(|id| *id >= 1 << 30), "{ids:?}");
    sessions[0].lock("a");
    sessions[1].lock("b");
    for session in &mut sessions {
        let [a, b] = ["a", "b"].map(|n| session.value(&format!("SELECT IS_USED_LOCK('{n}')")));
        assert_eq!([a, b], ids.map(|id| Some(id.to_string())));
    }
}

fn the_connections_of_a_dead_proxy_are_found_by_their_tags(server: &Server) {
    let own = suited(server);
    let (lender, schema) = (Lender::start(&own.server), fresh_schema());
    let place = (lender.at(), store(&own.server, &schema));
    let first = Launched::start(&place.0, &place.1, &LEASE);
    let other = Launched::start(&place.0, &place.1, &LEASE);
    let mut holder = Session::at(first.port);
    holder.lock("k");
    let mut root = own.server.root();
    root.run(&format!("CREATE TABLE {schema}.t (id INT PRIMARY KEY)"));
    holder.run("BEGIN");
    holder.run(&format!("INSERT INTO {schema}.t VALUES (1)"));
    // The proxy is stopped: its connections stay open.
    first.signal("STOP");
    let mut waiter = Session::at(other.port);
    waiter.ask_for("k");
    waiter.gets_it();
    let sql = format!("INSERT INTO {schema}.t VALUES (1)");
    waiter.run("SET innodb_lock_wait_timeout=1");
    waiter.run(&sql);
    first.signal("CONT");
}

fn modes_that_need_the_ids_are_refused_at_the_start(server: &Server) {
    let own = suited(server);
    let (lender, schema) = (Lender::start(&own.server), fresh_schema());
    let store = store(&own.server, &schema);
    run(&["schema", "install", "--backend", &lender.at(), "--store", &store]);
    let place = ["--backend", &lender.at(), "--store", &store, "--state-dir", "off"];
    for (options, why) in [
        (&["--mode", "coexist"][..], "mode = \"coexist\" proves each lock"),
        (&["--pooling", "transaction"], "needs the server's own connections"),
    ] {
        let checked = run(&[&["check"][..], &place, options].concat());
        let said = text(&checked);
        assert!(said.contains("connection ids  FAILED: ") && said.contains(why), "{said}");
        assert_eq!(checked.status.code(), Some(1));
        let started = run(&[&SERVE[..], &place, options].concat());
        let said = text(&started);
        assert!(said.contains("lends the server's connections") && said.contains(why), "{said}");
    }
    let checked = run(&[&["check"][..], &place].concat());
    let said = text(&checked);
    assert!(checked.status.success() && said.contains("warning: `backend` is a proxy"), "{said}");
}

/// At the start, the ids were there.
fn modes_that_need_the_ids_refuse_sessions_when_these_go(server: &Server) {
    let own = suited(server);
    let (lender, schema) = (Lender::start(&own.server), fresh_schema());
    lender.hides.store(false, Ordering::SeqCst);
    let coexist = [&LEASE[..], &["--mode", "coexist"]].concat();
    let proxy = Launched::start(&lender.at(), &store(&own.server, &schema), &coexist);
    let mut session = Session::at(proxy.port);
    session.lock("k");
    lender.hides.store(true, Ordering::SeqCst);
    let refused = eventually("a session is refused", || {
        let client = Client::connect("127.0.0.1", proxy.port, &account()).expect("a connection");
        let last = client.login.packets.last().map(|p| p.payload.clone());
        last.filter(|payload| payload.first() == Some(&0xff))
    });
    let said = String::from_utf8_lossy(&refused);
    assert!(said.contains("is a proxy that lends"), "{said}");
    session.unlock("k");
}

fn lock_tables_are_not_kept_there(server: &Server) {
    let own = suited(server);
    let lender = Lender::start(&own.server);
    let place = |port: u16| format!(":{port}/");
    let url = own.server.url.replace(&place(own.server.port), &place(lender.port));
    let store = format!("{url}{}", fresh_schema());
    let place = ["--backend", &lender.at(), "--store", &store, "--state-dir", "off"];
    let checked = run(&[&["check"][..], &place, &["--create-schema"]].concat());
    let said = text(&checked);
    assert!(said.contains("let `store` name the server itself"), "{said}");
}
