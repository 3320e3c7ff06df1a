//! How sessions end, and that their locks pass on only when the server is done with them.

use std::time::Duration;

use crate::own_server::{OwnServer, flavour_of};
use crate::proxy::Proxy;
use crate::script::{Flavour, Server};
use crate::session::{Raw, Session, account, first_value, until_busy};
use crate::stage::{Database, eventually, is_at_server, on_both};
use crate::wire::command::QUERY;
use crate::wire::{Client, End};

on_both! {
    a_dead_clients_statements_run_to_their_end_before_its_lock_passes_on
    a_dead_clients_transaction_is_rolled_back_before_its_lock_passes_on
    a_killed_sessions_lock_passes_on_when_its_rollback_is_over
    a_client_that_dies_inside_a_packet_leaves_no_lock
    a_session_that_the_server_ends_learns_why_and_leaves_no_lock
    a_session_killed_while_it_waits_leaves_the_queue
    a_server_that_shuts_down_sends_its_own_last_error
    an_idle_proxy_grants_again_after_a_restart
    a_proxy_s_row_names_its_own_connections_after_a_restart
    after_a_restart_a_takeover_still_waits_for_sessions
}

/// A table with one row of value 0 for each id from 1.
fn filled(server: &Server, database: &Database, doublings: u32) -> String {
    let table = database.table("t");
    let mut root = server.root();
    root.run(&format!(
        "CREATE TABLE {table} (id INT AUTO_INCREMENT PRIMARY KEY, v INT NOT NULL, w CHAR(60) NOT NULL)"
    ));
    root.run(&format!("INSERT INTO {table} (v, w) VALUES (0, '')"));
    for _ in 0..doublings {
        root.run(&format!("INSERT INTO {table} (v, w) SELECT 0, '' FROM {table}"));
    }
    table
}

fn until_waiting(proxy: &Proxy, sessions: f64) {
    eventually("sessions wait", || {
        (proxy.metric("lockstead_locks_waiting") >= sessions).then_some(())
    });
}

fn a_dead_clients_statements_run_to_their_end_before_its_lock_passes_on(server: &Server) {
    let ways: [fn(Session); 2] = [|s| s.client.hang_up(), |s| s.client.reset_tcp()];
    let proxy = Proxy::start(&server.url, &[]);
    let database = Database::create(server);
    let table = filled(server, &database, 0);
    let count = format!("SELECT COUNT(*) FROM {table}");
    for (before, leave) in (1..).zip(ways) {
        let mut holder = Session::at(proxy.port);
        let mut waiter = Session::at(proxy.port);
        holder.lock("k");
        waiter.ask_for("k");
        until_waiting(&proxy, 1.0);
        holder.send(&format!("SELECT SLEEP(1); INSERT INTO {table} (v, w) VALUES (1, '')"));
        until_busy(&mut server.root(), holder.id());
        leave(holder);
        waiter.gets_it();
        assert_eq!(waiter.value(&count), Some((before + 1).to_string()), "granted too early");
        waiter.unlock("k");
    }
}

fn a_dead_clients_transaction_is_rolled_back_before_its_lock_passes_on(server: &Server) {
    let proxy = Proxy::start(&server.url, &[]);
    let database = Database::create(server);
    let table = filled(server, &database, 12);
    for busy in [false, true] {
        let mut holder = Session::at(proxy.port);
        let mut waiter = Session::at(proxy.port);
        holder.lock("k");
        waiter.ask_for("k");
        until_waiting(&proxy, 1.0);
        holder.run(&format!("BEGIN; UPDATE {table} SET v=v+1"));
        if busy {
            holder.send(&format!("SELECT SLEEP(1); UPDATE {table} SET v=v+1"));
            until_busy(&mut server.root(), holder.id());
        }
        holder.client.reset_tcp();
        waiter.gets_it();
        assert_untouched(&mut waiter, &table);
        waiter.unlock("k");
    }
}

/// Every row has its old value and is free to be locked at once.
fn assert_untouched(session: &mut Session, table: &str) {
    session.run("BEGIN");
    let sql = format!("SELECT v FROM {table} WHERE id=1 FOR UPDATE NOWAIT");
    assert_eq!(session.value(&sql).as_deref(), Some("0"));
    let sql = format!("SELECT MAX(v) FROM {table}");
    assert_eq!(session.value(&sql).as_deref(), Some("0"));
    session.run("ROLLBACK");
}

fn a_killed_sessions_lock_passes_on_when_its_rollback_is_over(server: &Server) {
    let proxy = Proxy::start(&server.url, &[]);
    let other = Proxy::start_on(&server.url, &proxy.schema, &[]);
    let database = Database::create(server);
    let table = filled(server, &database, 16);
    for port in [proxy.port, other.port] {
        let mut holder = Session::at(proxy.port);
        let mut waiter = Session::at(port);
        holder.lock("k");
        waiter.ask_for("k");
        holder.run(&format!("BEGIN; UPDATE {table} SET v=v+1, w='changed'"));
        let mut root = server.root();
        root.run(&format!("KILL {}", holder.id()));
        waiter.gets_it();
        assert_untouched(&mut waiter, &table);
        holder.last_words();
        waiter.unlock("k");
    }
}

fn a_client_that_dies_inside_a_packet_leaves_no_lock(server: &Server) {
    let proxy = Proxy::start(&server.url, &[]);
    let mut waiter = Session::at(proxy.port);
    // The proxy holds a short statement back until it is whole and forwards a long one as it
    // comes. The second value says how much of the packet is sent.
    for (length, sent) in [(100_u32, 10), (60_000, 30_000), (1_000_000, 300_000)] {
        let mut holder = Raw::at(proxy.port);
        holder.command(&[&[QUERY][..], b"SELECT GET_LOCK('k', 0)"].concat());
        let shown = "lockstead_locks_held";
        eventually("the lock is held", || (proxy.metric(shown) >= 1.0).then_some(()));
        waiter.ask_for("k");
        until_waiting(&proxy, 1.0);
        let mut packet = length.to_le_bytes()[..3].to_vec();
        packet.extend_from_slice(&[0, QUERY]);
        packet.extend_from_slice(b"SELECT '");
        packet.resize(sent, b'x');
        holder.bytes(&packet);
        drop(holder);
        waiter.gets_it();
        waiter.unlock("k");
    }
}

fn a_session_that_the_server_ends_learns_why_and_leaves_no_lock(server: &Server) {
    let proxy = Proxy::start(&server.url, &[]);
    let mut waiter = Session::at(proxy.port);
    let mut direct = Session::at(server.port);
    let mut holder = Session::at(proxy.port);
    holder.lock("k");
    waiter.ask_for("k");
    for session in [&mut direct, &mut holder] {
        session.run("SET SESSION wait_timeout=1");
    }
    let expected = direct.client.read_until_closed();
    let heard = holder.client.read_until_closed();
    assert_eq!(heard.end, End::Closed);
    assert_eq!(heard.packets, expected.packets);
    waiter.gets_it();
}

fn a_session_killed_while_it_waits_leaves_the_queue(server: &Server) {
    let proxy = Proxy::start(&server.url, &[]);
    let mut holder = Session::at(proxy.port);
    let mut killed = Session::at(proxy.port);
    let mut waiter = Session::at(proxy.port);
    holder.lock("k");
    killed.lock("other");
    killed.ask_for("k");
    until_waiting(&proxy, 1.0);
    waiter.ask_for("k");
    until_waiting(&proxy, 2.0);
    server.root().run(&format!("KILL {}", killed.id()));
    killed.last_words();
    holder.unlock("k");
    waiter.gets_it();
    waiter.run("SELECT GET_LOCK('other', 600)");
}

fn a_server_that_shuts_down_sends_its_own_last_error(server: &Server) {
    let own = OwnServer::start(flavour_of(server), &[]);
    let proxy = Proxy::start(&own.server.url, &[]);
    let connect = |port| {
        let mut client = Client::connect("127.0.0.1", port, &account()).expect("a connection");
        client.patience = Duration::from_mins(1);
        client
    };
    let mut idle = [connect(own.server.port), connect(proxy.port)];
    let mut busy = [connect(own.server.port), connect(proxy.port)];
    let mut holder = Session::at(proxy.port);
    holder.lock("k");
    let before = own.server.root().column(&format!("SELECT id FROM {}.proxies", proxy.schema));
    for client in &mut busy {
        client.send_query(b"SELECT SLEEP(300)", &[]);
        until_busy(&mut own.server.root(), u64::from(client.connection_id()));
    }
    // Two starts of a server within two seconds cannot be told apart.
    until_it_has_run_a_while(&own.server);
    own.stop();
    for pair in [&mut idle, &mut busy] {
        let [direct, proxied] = pair.each_mut().map(Client::read_until_closed);
        assert_eq!(proxied.end, End::Closed);
        assert_eq!(proxied.packets, direct.packets);
    }
    holder.last_words();
    // When it is back, the lock is free again, though other connections now have the earlier ids.
    own.restart();
    let others: Vec<Client> = (0..50).map(|_| connect(own.server.port)).collect();
    // The proxy's own connections may have some of them.
    assert!(others.iter().any(|other| u64::from(other.connection_id()) >= holder.id()));
    // Connection ids of this run of the server are for another incarnation.
    let sql = format!("SELECT id FROM {}.proxies", proxy.schema);
    eventually("the incarnation of before is gone", || {
        let now = own.server.root().column(&sql);
        (now.len() == 1 && now != before).then_some(())
    });
    eventually("the lock is free", || {
        let mut next = Client::connect("127.0.0.1", proxy.port, &account()).ok()?;
        next.login.succeeded().then_some(())?;
        next.query(b"DO GET_LOCK('k', 0)");
        let id = next.connection_id().to_string();
        let sql = format!("SELECT connection_id FROM {}.held_locks", proxy.schema);
        (own.server.root().column(&sql) == [id]).then_some(())
    });
}

/// Nothing but the keeper of the lease has noticed the restart.
fn an_idle_proxy_grants_again_after_a_restart(server: &Server) {
    let own = OwnServer::start(flavour_of(server), &[]);
    until_it_has_run_a_while(&own.server);
    let proxy = Proxy::start(&own.server.url, &[]);
    let mut session = Session::at(proxy.port);
    session.lock("k");
    session.unlock("k");
    let incarnation = || {
        own.server.root().column(&format!("SELECT id FROM {}.proxies WHERE state=1", proxy.schema))
    };
    let before = incarnation();
    own.stop();
    own.restart();
    eventually("there is another incarnation", || {
        let now = incarnation();
        (now.len() == 1 && now != before).then_some(())
    });
    let mut next = Session::at(proxy.port);
    next.ask_for("k");
    next.gets_it();
    next.unlock("k");
}

/// Ids come again after a restart: what ended with the old run must not be taken for the new one.
fn a_proxy_s_row_names_its_own_connections_after_a_restart(server: &Server) {
    let own = OwnServer::start(flavour_of(server), &[]);
    until_it_has_run_a_while(&own.server);
    let proxy = Proxy::start(&own.server.url, &[]);
    let use_all = || {
        let (mut holder, mut waiter) = (Session::at(proxy.port), Session::at(proxy.port));
        holder.ask_for("k");
        holder.gets_it();
        // At a gate.
        waiter.ask_for("k");
        until_busy(&mut own.server.root(), waiter.id());
        assert!(!Session::at(proxy.port).is_free("k"));
        holder.unlock("k");
        waiter.gets_it();
    };
    use_all();
    own.stop();
    own.restart();
    for _ in 0..3 {
        use_all();
    }
    let listed = format!("SELECT conns FROM {}.proxies WHERE state=1", proxy.schema);
    let mut root = own.server.root();
    eventually("its row names what is open, and nothing else", || {
        let listed = root.column(&listed).join(",");
        let mut listed: Vec<&str> = listed.split(',').collect();
        let open = root.column(
            "SELECT id FROM information_schema.processlist \
             WHERE user='root' AND id<>CONNECTION_ID() ORDER BY id",
        );
        listed.sort_unstable_by_key(|id| id.parse::<u64>().unwrap_or_default());
        (listed.len() > 1 && listed == open).then_some(())
    });
}

/// A session that the server still works for counts, even if it began in an earlier run of the server.
fn after_a_restart_a_takeover_still_waits_for_sessions(server: &Server) {
    let own = OwnServer::start(flavour_of(server), &[]);
    until_it_has_run_a_while(&own.server);
    let lease = ["--lease", "3s"];
    let mut dying = Proxy::start(&own.server.url, &lease);
    let database = Database::create(&own.server);
    let table = filled(&own.server, &database, 0);
    own.stop();
    own.restart();
    let mut holder = eventually("the proxy grants again", || {
        let client = Client::connect("127.0.0.1", dying.port, &account()).ok()?;
        client.login.succeeded().then_some(())?;
        let mut session = Session { client };
        let taken = session.client.query(b"SELECT GET_LOCK('k', 0)");
        taken.error().is_none().then_some(())?;
        (first_value("GET_LOCK", &taken).as_deref() == Some("1")).then_some(session)
    });
    let other = Proxy::start_on(&own.server.url, &dying.schema, &lease);
    let mut waiter = Session::at(other.port);
    waiter.ask_for("k");
    until_waiting(&other, 1.0);
    holder.send(&format!("SELECT SLEEP(20); INSERT INTO {table} (v, w) VALUES (1, '')"));
    let mut root = own.server.root();
    until_busy(&mut root, holder.id());
    dying.signal("KILL");
    dying.wait();
    waiter.gets_it();
    assert!(!is_at_server(&mut root, flavour_of(server), holder.id()), "granted too early");
    assert_eq!(waiter.value(&format!("SELECT COUNT(*) FROM {table}")).as_deref(), Some("1"));
}

fn until_it_has_run_a_while(server: &Server) {
    eventually("the server has run a while", || {
        let uptime = "SELECT VARIABLE_VALUE > 3 FROM {}.global_status WHERE VARIABLE_NAME='Uptime'";
        let schema = match flavour_of(server) {
            Flavour::MySql => "performance_schema",
            Flavour::MariaDb => "information_schema",
        };
        (server.root().column(&uptime.replace("{}", schema)) == ["1"]).then_some(())
    });
}
