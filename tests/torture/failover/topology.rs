//! A primary with two replicas, by `dev/topology.sh`, whose writer is killed again and again.

use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use lockstead_support::private_server::dev_folder;

use crate::history::now;
use crate::script::{Flavour, Server};

/// Three servers; ended and removed when dropped.
pub(crate) struct Topology {
    pub(crate) flavour: Flavour,
    folder: PathBuf,
}

impl Topology {
    /// Starts them; all are in step.
    pub(crate) fn up(flavour: Flavour) -> Self {
        // A short name: sockets are in it.
        let folder = std::env::temp_dir().join(format!("lf{:08x}", rand::random::<u32>()));
        let topology = Self { flavour, folder };
        topology.run(&["up", "--loopback"]);
        topology
    }

    fn script(&self, arguments: &[&str]) -> Command {
        let kind = match self.flavour {
            Flavour::MySql => "async-mysql",
            Flavour::MariaDb => "async-mariadb",
        };
        let mut command = Command::new(dev_folder().join("topology.sh"));
        command.arg(kind).args(arguments).arg(&self.folder).stdin(Stdio::null());
        command
    }

    /// Runs a command of the script that must succeed.
    pub(crate) fn run(&self, arguments: &[&str]) {
        let output = self.script(arguments).output().expect("dev/topology.sh can be run");
        let said = [&output.stdout[..], &output.stderr[..]].concat();
        let said = String::from_utf8_lossy(&said).into_owned();
        assert!(output.status.success(), "topology {arguments:?}: {said}");
    }

    fn read(&self, file: &str) -> String {
        let path = self.folder.join(file);
        std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
    }

    /// The servers, by number from 0.
    pub(crate) fn servers(&self) -> Vec<Server> {
        let env = self.read("topology.env");
        let url = |line: &str| Server::parse(line.strip_prefix("NODE")?.split_once('=')?.1);
        env.lines().filter_map(url).collect()
    }

    /// The number of the writer.
    pub(crate) fn writer(&self) -> usize {
        self.read("writer").trim().parse::<usize>().expect("a number") - 1
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
            replica.root().run(match self.flavour {
                Flavour::MySql => "STOP REPLICA IO_THREAD",
                Flavour::MariaDb => "STOP SLAVE IO_THREAD",
            });
        }
    }

    /// The server that was killed last is a replica again; returns when all that run are in step.
    pub(crate) fn rejoin(&self, server: usize) {
        self.run(&["rejoin", "--node", &(server + 1).to_string()]);
    }

    /// When the last writer was killed, on the clock of the history.
    pub(crate) fn lost_at(&self) -> Duration {
        self.written_at("lost-at")
    }

    /// When the writer took writes: the script goes on with the others.
    pub(crate) fn promoted_at(&self) -> Duration {
        self.written_at("writer")
    }

    fn written_at(&self, file: &str) -> Duration {
        let written = std::fs::metadata(self.folder.join(file)).and_then(|file| file.modified());
        now().saturating_sub(written.expect("a time").elapsed().unwrap_or_default())
    }
}

impl Drop for Topology {
    fn drop(&mut self) {
        let ended = self.script(&["down"]).output();
        if !ended.is_ok_and(|output| output.status.success()) {
            eprintln!("the topology in {} is not taken down", self.folder.display());
        }
    }
}
