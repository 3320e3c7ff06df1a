//! A server of one's own, by `dev/server.sh`: to be stopped, killed and started again.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use crate::{Flavour, Release};

/// The folder of the development scripts: that of LOCKSTEAD_DEV_DIR, or the one in this checkout.
pub fn dev_folder() -> PathBuf {
    if let Some(dev) = std::env::var_os("LOCKSTEAD_DEV_DIR") {
        return dev.into();
    }
    let package = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
    let mut folders = package.ancestors().map(|folder| folder.join("dev"));
    folders.find(|dev| dev.join("server.sh").is_file()).expect("the checkout has dev/server.sh")
}

/// A running server; killed and removed when dropped.
#[derive(Debug)]
pub struct PrivateServer {
    release: Release,
    folder: PathBuf,
    port: u16,
    /// The command line client, with the options it needs.
    client: Vec<String>,
}

impl PrivateServer {
    /// Starts one with further options, in a new folder for temporary files.
    pub fn start(release: impl Into<Release>, options: &[&str]) -> Result<Self> {
        // A short name: the server's socket is in it.
        let folder = std::env::temp_dir().join(format!("lt{:08x}", rand::random::<u32>()));
        Self::start_in(folder, release, options)
    }

    /// Starts one with further options in a folder, which need not be there.
    pub fn start_in(
        folder: impl Into<PathBuf>,
        release: impl Into<Release>,
        options: &[&str],
    ) -> Result<Self> {
        let (folder, release) = (folder.into(), release.into());
        // From here on it is removed, whatever happens.
        let mut server = Self { release, folder, port: 0, client: Vec::new() };
        let place = server.folder.to_string_lossy().into_owned();
        script(&[&["start", release.name(), &place][..], options].concat())?;
        server.read_environment()?;
        Ok(server)
    }

    /// One that `dev/server.sh` has started in this folder.
    pub fn running_in(folder: impl Into<PathBuf>, release: impl Into<Release>) -> Result<Self> {
        let (folder, release) = (folder.into(), release.into());
        let mut server = Self { release, folder, port: 0, client: Vec::new() };
        server.read_environment()?;
        Ok(server)
    }

    /// What `dev/server.sh` says of it.
    fn read_environment(&mut self) -> Result<()> {
        self.port = self.value("PORT")?.parse()?;
        // A shell word: blanks are escaped, and there are no others.
        self.client = self.value("CLIENT")?.split("\\ ").map(str::to_owned).collect();
        Ok(())
    }

    fn value(&self, key: &str) -> Result<String> {
        let path = self.folder.join("server.env");
        let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        let found = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
        found.map(str::to_owned).with_context(|| format!("{} has no {key}", path.display()))
    }

    /// What it is.
    pub fn release(&self) -> Release {
        self.release
    }

    /// MySQL or MariaDB.
    pub fn flavour(&self) -> Flavour {
        self.release.flavour()
    }

    /// Where all of its files are.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Where it listens, on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Process id of the server; a restart changes it.
    pub fn pid(&self) -> Result<u32> {
        Ok(self.value("PID")?.parse()?)
    }

    /// URL of the server, with the administrative account.
    pub fn url(&self) -> String {
        format!("mysql://root:rootpw@127.0.0.1:{}/", self.port)
    }

    /// The path of its command line client.
    pub fn client_program(&self) -> &str {
        &self.client[0]
    }

    /// The server's command line client as root, with the options it needs; others may follow.
    pub fn client(&self) -> Command {
        let mut client = Command::new(self.client_program());
        client.args(&self.client[1..]);
        client
    }

    /// Runs statements by its client, with further options; what it prints, without column names.
    pub fn sql_with(&self, options: &[&str], statements: &str) -> Result<String> {
        let mut client = self.client();
        client.args(["--batch", "--skip-column-names"]).args(options);
        client.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = client.spawn().context("the client cannot be run")?;
        let mut stdin = child.stdin.take().context("piped")?;
        // The client may end before it has read all: its error says why.
        let _ = stdin.write_all(statements.as_bytes());
        drop(stdin);
        let output = child.wait_with_output()?;
        let errors = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{}: {}", shortened(statements), errors.trim());
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Runs statements by its client; what it prints, without column names.
    pub fn sql(&self, statements: &str) -> Result<String> {
        self.sql_with(&[], statements)
    }

    /// Shuts it down.
    pub fn stop(&self) -> Result<()> {
        self.tell("stop")
    }

    /// Kills it, as a loss of power would.
    pub fn kill(&self) -> Result<()> {
        self.tell("kill")
    }

    /// Starts it again, on its port and with its data.
    pub fn restart(&self) -> Result<()> {
        self.tell("restart")
    }

    fn tell(&self, what: &str) -> Result<()> {
        script(&[what, &self.folder.to_string_lossy()])
    }
}

/// Statements as an error shows them.
fn shortened(statements: &str) -> String {
    let mut text: String = statements.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some((at, _)) = text.char_indices().nth(200) {
        text.truncate(at);
        text.push('…');
    }
    text
}

fn script(arguments: &[&str]) -> Result<()> {
    let program = dev_folder().join("server.sh");
    let status = Command::new(&program).args(arguments).status();
    let status = status.with_context(|| program.display().to_string())?;
    ensure!(status.success(), "server.sh {} failed", arguments.join(" "));
    Ok(())
}

impl Drop for PrivateServer {
    fn drop(&mut self) {
        // A server is found by its folder, so the folder stays with a server that was not killed, as when the script
        // was ended.
        if self.folder.exists() && self.kill().is_ok() {
            let _ = fs::remove_dir_all(&self.folder);
        }
    }
}
