//! A primary with two replicas, by `dev/topology.sh`, which has to be replaced again and again.

use std::net::TcpStream;
use std::time::Duration;

use lockstead_support::Topology;

use crate::history::now;
use crate::script::{Flavour, Server};

/// Three servers; ended and removed when dropped.
pub(crate) struct Trio(Topology);

impl Trio {
    /// Starts them; all are in step.
    pub(crate) fn up(flavour: Flavour) -> Self {
        let kind = match flavour {
            Flavour::MySql => "async-mysql",
            Flavour::MariaDb => "async-mariadb",
        };
        // A short name: sockets are in it.
        let folder = std::env::temp_dir().join(format!("lf{:08x}", rand::random::<u32>()));
        Self(Topology::up(kind, folder).unwrap_or_else(|e| panic!("{e:#}")))
    }

    /// Runs a command of the script that must succeed.
    pub(crate) fn run(&self, arguments: &[&str]) {
        self.0.run(arguments).unwrap_or_else(|e| panic!("{e:#}"));
    }

    /// The servers, by number from 0.
    pub(crate) fn servers(&self) -> Vec<Server> {
        self.0.servers().expect("the script says where they are")
    }

    /// The number of the writer.
    pub(crate) fn writer(&self) -> usize {
        self.0.writer().expect("the script says which it is")
    }

    /// Root's place at the writer.
    pub(crate) fn primary(&self) -> Server {
        self.servers().swap_remove(self.writer())
    }

    /// The servers beside the writer that run.
    pub(crate) fn replicas(&self) -> Vec<Server> {
        let mut servers = self.servers();
        servers.swap_remove(self.writer());
        servers.retain(|server| TcpStream::connect((&*server.host, server.port)).is_ok());
        servers
    }

    /// The replicas get nothing more from the writer.
    pub(crate) fn stop_replication(&self) {
        for replica in self.replicas() {
            replica.root().run(match self.0.flavour() {
                Flavour::MySql => "STOP REPLICA IO_THREAD",
                Flavour::MariaDb => "STOP SLAVE IO_THREAD",
            });
        }
    }

    /// The server that was lost is a replica again; returns when all that run are in step.
    pub(crate) fn rejoin(&self, server: usize) {
        self.run(&["rejoin", "--node", &(server + 1).to_string()]);
    }

    /// When the last writer was lost, on the clock of the history.
    pub(crate) fn lost_at(&self) -> Duration {
        self.written_at("lost-at")
    }

    /// When the writer took writes: the script goes on with the others.
    pub(crate) fn promoted_at(&self) -> Duration {
        self.written_at("writer")
    }

    fn written_at(&self, file: &str) -> Duration {
        let written =
            std::fs::metadata(self.0.folder().join(file)).and_then(|file| file.modified());
        now().saturating_sub(written.expect("a time").elapsed().unwrap_or_default())
    }
}
