//! Three servers as they are really run, by `dev/topology.sh`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use crate::private_server::dev_folder;
use crate::{Flavour, PrivateServer};

/// All nodes on 127.0.0.1; ended and removed when dropped.
#[derive(Debug)]
pub struct Topology {
    kind: &'static str,
    folder: PathBuf,
    synced: bool,
}

impl Topology {
    /// Starts one of this kind in a folder, which need not be there; all nodes are in step.
    pub fn up(kind: &'static str, folder: impl Into<PathBuf>) -> Result<Self> {
        Self { kind, folder: folder.into(), synced: false }.started()
    }

    /// A topology with nodes that sync their logs at each commit.
    pub fn up_synced(kind: &'static str, folder: impl Into<PathBuf>) -> Result<Self> {
        Self { kind, folder: folder.into(), synced: true }.started()
    }

    fn started(self) -> Result<Self> {
        self.run(&["up", "--loopback"])?;
        Ok(self)
    }

    /// What its nodes are.
    pub fn flavour(&self) -> Flavour {
        match self.kind {
            "async-mariadb" | "galera" => Flavour::MariaDb,
            _ => Flavour::MySql,
        }
    }

    /// Where all of its files are.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    fn script(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(dev_folder().join("topology.sh"));
        command.arg(self.kind).args(arguments).arg(&self.folder).stdin(Stdio::null());
        command.env("LOCKSTEAD_SERVER_SYNC", if self.synced { "on" } else { "off" });
        command
    }

    /// Runs a command of the script.
    pub fn run(&self, arguments: &[&str]) -> Result<()> {
        let output = self.script(arguments).output().context("dev/topology.sh")?;
        let said = [&output.stdout[..], &output.stderr[..]].concat();
        let said = String::from_utf8_lossy(&said);
        ensure!(output.status.success(), "{} {}: {said}", self.kind, arguments.join(" "));
        Ok(())
    }

    /// A file of its folder.
    pub fn read(&self, file: &str) -> Result<String> {
        let path = self.folder.join(file);
        fs::read_to_string(&path).with_context(|| path.display().to_string())
    }

    /// The number of the writer, from 0.
    pub fn writer(&self) -> Result<usize> {
        let number: usize = self.read("writer")?.trim().parse()?;
        Ok(number - 1)
    }

    /// Servers of the topology, by number from 0. Each is killed and removed when dropped.
    pub fn nodes(&self) -> Result<Vec<PrivateServer>> {
        let node =
            |n| PrivateServer::running_in(self.folder.join(format!("node{n}")), self.flavour());
        (1..=3).map(node).collect()
    }

    /// Where its servers are, by number from 0.
    #[cfg(feature = "client")]
    pub fn servers(&self) -> Result<Vec<crate::server::Server>> {
        let env = self.read("topology.env")?;
        let url = |line: &str| {
            crate::server::Server::parse(line.strip_prefix("NODE")?.split_once('=')?.1)
        };
        Ok(env.lines().filter_map(url).collect())
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
