//! Sessions that say nothing for longer than their `wait_timeout`, while they have no connection.

use std::sync::Arc;

use super::ground::{Ground, Suited, options};
use crate::own_server::{OwnServer, flavour_of};
use crate::script::Server;
use crate::session::Session;
use crate::stage::{eventually, on_both};
use crate::wire::Account;

on_both! {
    an_idle_session_without_a_connection_ends_by_its_own_wait_timeout
    an_interactive_client_s_session_ends_by_interactive_timeout
    a_connection_that_the_server_ends_for_idleness_ends_nobody_s_session
}

const INTERACTIVE: u64 = 1 << 10;

/// The last words to a session at the server itself.
fn last_words_at(server: &Server, account: &Account, sql: &str) -> Option<(u16, Vec<u8>)> {
    last_words(&mut ran(server.port, account, sql))
}

fn ran(port: u16, account: &Account, sql: &str) -> Session {
    let mut session = Session::of(port, account);
    session.run(sql);
    session
}

fn last_words(session: &mut Session) -> Option<(u16, Vec<u8>)> {
    session.last_words().map(|error| (error.code, error.message))
}

fn an_idle_session_without_a_connection_ends_by_its_own_wait_timeout(server: &Server) {
    let ground = Ground::new(server, 2, &["--idle-keep", "50ms"]);
    let account = &ground.tenant.account;
    let mut patient = ground.session();
    patient.run("SET SESSION wait_timeout = 2");
    let mut session = ground.session();
    session.lock("k");
    session.run("SET SESSION wait_timeout = 1");
    ground.until_all_have_left();
    // A new timeout counts from the moment it is set.
    patient.run("SET SESSION wait_timeout = 3600");
    let direct = last_words_at(ground.server(), account, "SET SESSION wait_timeout = 1");
    assert_eq!(last_words(&mut session), direct);
    eventually("its lock is free", || patient.is_free("k").then_some(()));
    assert!(ground.proxy.page("/metrics").contains("sessions_closed_total{reason=\"inactive\"} 1"));
}

fn an_interactive_client_s_session_ends_by_interactive_timeout(server: &Server) {
    let flavour = flavour_of(server);
    let options = [options(flavour), &["--interactive-timeout=1"]].concat();
    let own = Suited::alone(&Arc::new(OwnServer::start(flavour, &options)));
    let ground = Ground::before(own, 2, &["--idle-keep", "50ms"]);
    let account = &ground.tenant.account;
    let interactive =
        Account { capabilities: account.capabilities | INTERACTIVE, ..account.clone() };
    let mut patient = ground.session();
    let mut session = ran(ground.proxy.port, &interactive, "DO 1");
    let direct = last_words_at(ground.server(), &interactive, "DO 1");
    assert_eq!(last_words(&mut session), direct);
    assert_eq!(patient.value("SELECT 7").as_deref(), Some("7"));
}

fn a_connection_that_the_server_ends_for_idleness_ends_nobody_s_session(server: &Server) {
    let ground = Ground::new(server, 1, &["--idle-keep", "50ms"]);
    let mut session = ground.session();
    session.run("SET @x = 5");
    let mut short = ground.session();
    // Of two, the one might be closed that has the limit.
    ground.until_none_is_surplus();
    short.run("SET SESSION wait_timeout = 1");
    ground.until_all_have_left();
    eventually("the server has ended the connection", || {
        ground.tenant.connections().is_empty().then_some(())
    });
    last_words(&mut short);
    assert_eq!(session.value("SELECT @x").as_deref(), Some("5"));
}
