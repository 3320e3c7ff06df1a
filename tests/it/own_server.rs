//! A server of a test's own, to be stopped, killed and started again.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use lockstead_support::PrivateServer;

use crate::script::{Flavour, Server};

/// A running server; killed and removed when dropped.
pub(crate) struct OwnServer {
    pub(crate) server: Server,
    own: PrivateServer,
}

impl OwnServer {
    /// Starts one with further options.
    pub(crate) fn start(flavour: Flavour, options: &[&str]) -> Self {
        let own = PrivateServer::start(flavour, options).expect("a server of the test's own");
        let server = Server::parse(&own.url()).expect("a URL");
        Self { server, own }
    }

    /// Shuts it down.
    pub(crate) fn stop(&self) {
        self.own.stop().expect("it stops");
    }

    /// Stops its process where it stands, or lets it go on.
    pub(crate) fn signal(&self, name: &str) {
        let pid = self.own.pid().expect("its process id");
        assert!(lockstead_support::process::signal(pid, name), "the server is gone");
    }

    /// Kills it, as a loss of power would.
    pub(crate) fn kill(&self) {
        self.own.kill().expect("it is killed");
    }

    /// Starts it again, on its port and with its data.
    pub(crate) fn restart(&self) {
        self.own.restart().expect("it starts again");
    }
}

/// Servers that the tests of one subject share while they run, one a family.
pub(crate) struct SharedServers([Mutex<Weak<OwnServer>>; 2]);

impl SharedServers {
    /// None runs yet.
    pub(crate) const fn none() -> Self {
        Self([Mutex::new(Weak::new()), Mutex::new(Weak::new())])
    }

    /// The one of a family; the first that needs it starts it.
    pub(crate) fn get(&self, flavour: Flavour, options: &[&str]) -> Arc<OwnServer> {
        let [mysql, mariadb] = &self.0;
        let running = match flavour {
            Flavour::MySql => mysql,
            Flavour::MariaDb => mariadb,
        };
        let mut running = running.lock().unwrap_or_else(PoisonError::into_inner);
        running.upgrade().unwrap_or_else(|| {
            let own = Arc::new(OwnServer::start(flavour, options));
            *running = Arc::downgrade(&own);
            own
        })
    }
}

/// The family of a server.
pub(crate) fn flavour_of(server: &Server) -> Flavour {
    let greeting = server.root().column("SELECT VERSION()").concat();
    if greeting.contains("MariaDB") { Flavour::MariaDb } else { Flavour::MySql }
}
