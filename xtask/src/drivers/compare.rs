//! One comparison: a client at a server and through the proxy.

use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use lockstead_support::process::Group;
use lockstead_support::{PrivateServer, Proxy, Release};

use super::clients::Client;
use super::{PASSWORD, Tls};
use crate::workplace::{Workplace, last_lines};

/// What all comparisons share.
pub(super) struct Stand<'a> {
    pub(super) place: &'a Workplace,
    /// Where the clients' output is kept.
    pub(super) out: PathBuf,
    /// How long a client may print nothing.
    pub(super) limit: Duration,
    /// Whether the server's process list has sessions by their ids.
    pub(super) lists_sessions: bool,
    /// Whether the proxies' sessions share connections.
    pub(super) shares: bool,
    /// Whether sessions give their connections away whenever they may.
    pub(super) moves: bool,
}

/// What is compared.
#[derive(Clone, Copy)]
pub(super) struct Cell<'a> {
    pub(super) server: &'a PrivateServer,
    pub(super) proxy: &'a Proxy,
    pub(super) tls: Tls,
    pub(super) client: &'a Client,
    pub(super) user: &'a str,
    /// The server's.
    pub(super) version: &'a str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Ok,
    /// The case failed on one of the sides.
    Failed,
    Differs,
    /// The case differs from itself, which says nothing about the proxy.
    Unstable,
}

impl Verdict {
    pub(super) fn name(self) -> &'static str {
        match self {
            Verdict::Ok => "ok",
            Verdict::Failed => "FAILED",
            Verdict::Differs => "DIFFERS",
            Verdict::Unstable => "UNSTABLE",
        }
    }
}

/// What came out of it.
pub(super) struct Outcome {
    pub(super) release: Release,
    pub(super) tls: Tls,
    /// The client, and how it logged in if there are several ways.
    pub(super) row: String,
    pub(super) verdict: Verdict,
    /// What went wrong.
    pub(super) why: String,
    lines: usize,
    took: Duration,
}

impl Outcome {
    /// For a reader who waits.
    pub(super) fn line(&self) -> String {
        let (release, tls, row) = (self.release, self.tls.name(), &self.row);
        let (verdict, lines) = (self.verdict.name(), self.lines);
        format!(
            "{release:<10} tls {tls:<3}  {row:<34} {verdict} ({lines} lines, {} s)",
            self.took.as_secs()
        )
    }
}

impl Stand<'_> {
    pub(super) fn compare(&self, cell: &Cell) -> Result<Outcome> {
        let began = Instant::now();
        let (release, tls) = (cell.server.release(), cell.tls);
        let title = cell.client.title();
        let row =
            cell.user.strip_prefix("app_").map_or(title.clone(), |how| format!("{title} ({how})"));
        let name = format!("{release}-{}-{}-{}", tls.name(), cell.client.file(), cell.user);
        let file = |side: &str| self.out.join(format!("{name}.{side}"));
        let (verdict, why) = self.judge(cell, file)?;
        let why = match verdict {
            Verdict::Ok => why,
            _ => format!("\n--- {release} {row} tls {}: {}\n{why}", tls.name(), verdict.name()),
        };
        let lines = fs::read(file("direct"))?.split_inclusive(|b| *b == b'\n').count();
        Ok(Outcome { release, tls, row, verdict, why, lines, took: began.elapsed() })
    }

    /// The verdict, and what led to it.
    fn judge(&self, cell: &Cell, file: impl Fn(&str) -> PathBuf) -> Result<(Verdict, String)> {
        let direct = self.run(cell, cell.server.port(), &file("direct"))?;
        let proxied = self.run(cell, cell.proxy.port(), &file("proxy"))?;
        if !direct || !proxied {
            let tails =
                ["direct", "proxy", "direct.err", "proxy.err"].map(|side| tail(&file(side)));
            return Ok((Verdict::Failed, tails.concat()));
        }
        let difference = difference(&file("direct"), &file("proxy"))?;
        if difference.is_empty() {
            return Ok((Verdict::Ok, String::new()));
        }
        fs::write(file("diff"), &difference)?;
        self.run(cell, cell.server.port(), &file("again"))?;
        let unstable = self::difference(&file("direct"), &file("again"))?;
        if unstable.is_empty() {
            Ok((Verdict::Differs, shortened(&difference)))
        } else {
            Ok((Verdict::Unstable, shortened(&unstable)))
        }
    }

    /// Runs the client at a port; what it prints goes into `file`, masked. False if it failed.
    fn run(&self, cell: &Cell, port: u16, file: &Path) -> Result<bool> {
        // An empty schema, and no password that the server still remembers: the first login is a full one each time.
        cell.server.sql(
            "DROP DATABASE IF EXISTS drivers; CREATE DATABASE drivers CHARACTER SET utf8mb4; FLUSH PRIVILEGES",
        )?;
        let (program, client) = cell.client.program();
        let ca = cell.server.folder().join("tls/ca.pem").display().to_string();
        let with = |end: &str| PathBuf::from(format!("{}.{end}", file.display()));
        let mut command = self.place.command(program);
        command
            .arg(client)
            .env("DB_HOST", "127.0.0.1")
            .env("DB_PORT", port.to_string())
            .env("DB_USER", cell.user)
            .env("DB_PASSWORD", PASSWORD)
            .env("DB_SCHEMA", "drivers")
            .env("DB_TLS", cell.tls.name())
            .env("DB_CA", if cell.tls == Tls::On { &ca } else { "" })
            .env("DB_FLAVOUR", cell.server.flavour().name())
            .env("DB_VERSION", cell.version)
            .env("DB_LISTS_SESSIONS", if self.lists_sessions { "yes" } else { "no" })
            .env("DB_MOVES", if self.moves { "yes" } else { "no" })
            .stdin(Stdio::null())
            .stdout(File::create(with("raw"))?)
            .stderr(File::create(with("err"))?);
        let printed = || fs::metadata(with("raw")).map_or(0, |raw| raw.len());
        let loses = self.shares && port == cell.proxy.port();
        let over = AtomicBool::new(false);
        let status = thread::scope(|scope| {
            let beside = scope.spawn(|| accompany(cell, loses, &over));
            let status =
                Group::start(&mut command).and_then(|group| group.wait_for(self.limit, printed));
            over.store(true, Ordering::Relaxed);
            beside.thread().unpark();
            status
        })?;
        let mut output = mask(&with("raw"), port)?;
        let failure = match status {
            Some(status) if status.success() => {
                let number = cell.version.split('-').next().unwrap_or_default();
                // If both fail to connect, they do so alike.
                let text = String::from_utf8_lossy(&output);
                let connected =
                    text.lines().any(|l| l.starts_with("connect: ") && l.contains(number));
                (!connected).then(|| "it has not connected".to_owned())
            }
            Some(status) => Some(format!(
                "status {}",
                status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default())
            )),
            None => Some(format!("no line within {} s", self.limit.as_secs())),
        };
        if let Some(failure) = &failure {
            output.extend_from_slice(format!("({failure})\n").as_bytes());
        }
        fs::write(file, output)?;
        Ok(failure.is_none())
    }
}

/// For the case `busy`: lets the client work until it is told that it is enough. `loses`: before that, the server closes its
/// connections.
fn accompany(cell: &Cell, loses: bool, over: &AtomicBool) {
    // The table is there during the case.
    let works = || cell.server.sql("SELECT n FROM drivers.busy WHERE n BETWEEN 3 AND 499");
    while !over.load(Ordering::Relaxed) {
        thread::park_timeout(Duration::from_millis(300));
        if !works().is_ok_and(|n| !n.is_empty()) {
            continue;
        }
        let (user, mut enough) = (cell.user, String::from("UPDATE drivers.busy SET n = n + 500"));
        if loses {
            let ids =
                "SELECT CONCAT('KILL ', id, ';') FROM information_schema.processlist WHERE user =";
            let kills = cell.server.sql(&format!("{ids} '{user}'")).unwrap_or_default();
            enough.insert_str(0, &kills);
        }
        // Some of the connections may be gone.
        let _ = cell.server.sql_with(&["--force"], &enough);
    }
}

/// What a client printed, without what differs between runs.
fn mask(raw: &Path, port: u16) -> Result<Vec<u8>> {
    let mut sed = Command::new("sed");
    sed.env("LC_ALL", "C").args([
        "-E",
        "-e",
        &format!("s/\\b{port}\\b/PORT/g"),
        "-f",
        "tests/drivers/mask.sed",
    ]);
    let output = sed.arg(raw).stderr(Stdio::inherit()).output().context("sed")?;
    ensure!(output.status.success(), "tests/drivers/mask.sed failed");
    Ok(output.stdout)
}

/// What `diff` says of two files; nothing if they are equal.
fn difference(one: &Path, other: &Path) -> Result<String> {
    let output = Command::new("diff").arg("-au").args([one, other]).output().context("diff")?;
    ensure!(output.status.code().is_some_and(|code| code < 2), "diff failed");
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The first lines, each as far as it can be read.
fn shortened(text: &str) -> String {
    let lines = text.lines().take(60);
    lines.map(|line| line.chars().take(300).chain(['\n']).collect::<String>()).collect()
}

fn tail(path: &Path) -> String {
    format!("==> {} <==\n{}\n", path.display(), last_lines(path, 8))
}
