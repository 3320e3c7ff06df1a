//! Metrics that alerts look at: what lasts, and what is lost.

use crate::own_server::{OwnServer, flavour_of};
use crate::proxy::Proxy;
use crate::script::{Flavour, Server};
use crate::session::Session;
use crate::stage::{eventually, on_both};

on_both! {
    a_hold_and_a_wait_are_shown_while_they_last
    a_lost_primary_is_shown_until_it_is_back
}

const HOLD: &str = "lockstead_lock_longest_hold_seconds";
const WAIT: &str = "lockstead_lock_longest_wait_seconds";

fn a_hold_and_a_wait_are_shown_while_they_last(server: &Server) {
    let proxy = Proxy::start(&server.url, &["--lease", "7s"]);
    let name = match flavour_of(server) {
        Flavour::MySql => "mysql",
        Flavour::MariaDb => "mariadb",
    };
    assert!(
        proxy.metric(&format!("lockstead_server_info{{flavour=\"{name}\",mode=\"durable\"}}"))
            > 0.0
    );
    eventually("the lease is known", || {
        ((proxy.metric("lockstead_lease_seconds") - 7.0).abs() < 1e-9).then_some(())
    });
    let mut holder = Session::at(proxy.port);
    let mut waiter = Session::at(proxy.port);
    holder.lock("k");
    waiter.ask_for("k");
    let shown = |name: &str, is: bool| {
        eventually(name, || ((proxy.metric(name) > 0.0) == is).then_some(()));
    };
    shown(HOLD, true);
    shown(WAIT, true);
    holder.unlock("k");
    waiter.gets_it();
    shown(WAIT, false);
    shown(HOLD, true);
    waiter.unlock("k");
    shown(HOLD, false);
}

fn a_lost_primary_is_shown_until_it_is_back(server: &Server) {
    let own = OwnServer::start(flavour_of(server), &[]);
    let proxy = Proxy::start(&own.server.url, &["--lease", "2s"]);
    let up = |is: bool| {
        eventually("the primary", || {
            ((proxy.metric("lockstead_store_up") > 0.0) == is).then_some(())
        });
    };
    up(true);
    own.kill();
    up(false);
    own.restart();
    up(true);
}
