//! What a test stands on: one run for each server family, patience, and a schema of its own.

use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicU8, Ordering};

use lockstead_support::server::Root;
pub(crate) use lockstead_support::{Deadline, PATIENCE, eventually};

use crate::proxy::{Proxy, fresh_schema};
use crate::script::{Flavour, Server};

/// Makes of each function, which takes a [`Server`], a test with MySQL and one with MariaDB.
macro_rules! on_both {
    ($($(#[$how:meta])* $test:ident)*) => {
        mod mysql {
            $(#[test]
            $(#[$how])*
            fn $test() {
                super::$test(&crate::script::Server::from_env(crate::script::Flavour::MySql));
            })*
        }
        mod mariadb {
            $(#[test]
            $(#[$how])*
            fn $test() {
                super::$test(&crate::script::Server::from_env(crate::script::Flavour::MariaDb));
            })*
        }
    };
}
pub(crate) use on_both;

/// Another proxy on the schema of the first, after its startup wait; both know of each other.
pub(crate) fn join(server: &Server, first: &Proxy, extra: &[&str]) -> Proxy {
    let proxy = Proxy::start_on(&server.url, &first.schema, extra);
    eventually("the proxy grants", || (proxy.metric("lockstead_lease_good") >= 1.0).then_some(()));
    let knows = |p: &Proxy| p.metric("lockstead_live_peers") >= 1.0;
    eventually("the proxies see each other", || (knows(first) && knows(&proxy)).then_some(()));
    proxy
}

/// A database for a test's own tables, dropped with it.
pub(crate) struct Database {
    pub(crate) name: String,
    server: Server,
}

impl Database {
    /// An empty database.
    pub(crate) fn create(server: &Server) -> Self {
        let name = fresh_schema().replace("lockstead_t", "lockstead_d");
        server.root().run(&format!("CREATE DATABASE {name}"));
        Self { name, server: server.clone() }
    }

    /// The name of a table in it.
    pub(crate) fn table(&self, table: &str) -> String {
        format!("{}.{table}", self.name)
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        // A failed test may leave a session with a lock on a table: not worth waiting for.
        if !std::thread::panicking() {
            self.server.root().run(&format!("DROP DATABASE {}", self.name));
        }
    }
}

/// Whether the server still works for a connection. MySQL's process list hides a killed one
/// that still rolls back.
pub(crate) fn is_at_server(root: &mut Root, flavour: Flavour, id: u64) -> bool {
    let table = if flavour == Flavour::MySql {
        format!("performance_schema.threads WHERE processlist_id={id}")
    } else {
        format!("information_schema.processlist WHERE id={id}")
    };
    root.column(&format!("SELECT COUNT(*) FROM {table}")) != ["0"]
}

/// An address of this machine that no other test connects from: servers count errors by address, and refuse one with
/// many. Accounts here are of 127.0.0.%.
pub(crate) fn own_address() -> Ipv4Addr {
    // Those before it have fixed uses.
    static NEXT: AtomicU8 = AtomicU8::new(10);
    let last = NEXT.fetch_add(1, Ordering::Relaxed);
    assert!((10..255).contains(&last), "no address is left");
    Ipv4Addr::new(127, 0, 0, last)
}
