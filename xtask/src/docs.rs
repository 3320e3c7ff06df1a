//! Runs every command that the documents show.
//!
//! The `sh` and `sql` blocks of README.md and docs/*.md are run, in order, in front of a private server. Bash runs
//! `sh`, and ends at the first error; `sql` is run as root through the proxy that was started last. Values that a
//! reader would replace are replaced: addresses, ports, passwords and places (see [`Scene::adapt`]). `lockstead serve`
//! keeps running after its block.
//!
//! Above a block may stand
//!
//! ```text
//! <!-- not run: why -->      cannot be run on a test machine; is counted
//! <!-- only mysql -->        for this kind of server
//! ```
//!
//! A block without a language that shows commands is an error: it would never be run.

mod blocks;

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use lockstead_support::process::end_group;
use lockstead_support::{Flavour, PrivateServer, Release, free_port};

use crate::workplace::{self, Workplace, last_lines};
use blocks::{Block, Language, Mark, blocks};

/// How long a block may take, in seconds.
const LIMIT: &str = "60";

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Kinds of servers
    #[arg(default_values = ["mysql", "mariadb"])]
    flavours: Vec<Release>,
}

pub(crate) fn run(place: &Workplace, options: &Options) -> Result<()> {
    // The documents call these programs, beside Lockstead and the servers' clients.
    place.need("curl", "curl")?;
    place.need("openssl", "openssl")?;
    let program = workplace::lockstead()?;
    for release in &options.flavours {
        place.say(release.name());
        let (run, left_out) = Scene::set(place, *release, &program)?.play()?;
        ensure!(run > 0, "no block was run: are they found?");
        place.say(&format!("{release}: {run} blocks run, {left_out} marked as not run"));
    }
    Ok(())
}

/// A server, and what a reader has beside the commands.
struct Scene<'a> {
    place: &'a Workplace,
    server: PrivateServer,
    program: &'a Path,
    port: u16,
    http: u16,
    /// Where the blocks are run.
    work: PathBuf,
    /// Where the programs are that they call.
    programs: PathBuf,
}

impl<'a> Scene<'a> {
    /// A server that knows nothing of Lockstead, with an application's account and an auditor's.
    fn set(place: &'a Workplace, release: Release, program: &'a Path) -> Result<Self> {
        workplace::install(&[release.name()])?;
        let server = PrivateServer::start_in(place.file(release.name()), release, &[])?;
        server.sql(
            "CREATE DATABASE app; CREATE USER app@'127.0.0.%' IDENTIFIED BY 'app'; GRANT ALL ON app.* TO app@'127.0.0.%';
             CREATE USER auditor@'127.0.0.1' IDENTIFIED BY 'secret';
             GRANT SELECT, SHOW VIEW, TRIGGER, EVENT ON *.* TO auditor@'127.0.0.1'",
        )?;
        if server.flavour() == Flavour::MariaDb {
            server.sql("INSTALL SONAME 'metadata_lock_info'")?;
        }
        let work = place.file(&format!("work-{release}"));
        let programs = place.file(&format!("programs-{release}"));
        let scene =
            Self { place, server, program, port: free_port(), http: free_port(), work, programs };
        scene.furnish()?;
        Ok(scene)
    }

    /// Files and programs that a reader has.
    fn furnish(&self) -> Result<()> {
        fs::create_dir(&self.work)?;
        fs::write(self.work.join("pw"), "secret\n")?;
        fs::write(self.work.join("pw2"), "secret\n")?;
        let (server, http, port) = (self.server.port(), self.http, self.port);
        let settings = format!(
            "backend = \"127.0.0.1:{server}\"\nstore = \"mysql://lockstead:secret@127.0.0.1:{server}/lockstead\"\n\
             http = \"127.0.0.1:{http}\"\nlisten = \"127.0.0.1:{port}\"\nlease = \"3s\"\n"
        );
        fs::write(self.work.join("lockstead.toml"), settings)?;
        fs::create_dir(&self.programs)?;
        for client in ["mysql", "mariadb"] {
            symlink(self.server.client_program(), self.programs.join(client))?;
        }
        symlink(
            self.place.root().join("xtask/src/docs/lockstead.sh"),
            self.programs.join("lockstead"),
        )?;
        Ok(())
    }

    /// Runs all documents; how many blocks were run, and how many are marked as not run.
    fn play(self) -> Result<(usize, usize)> {
        let mut pages: Vec<PathBuf> =
            fs::read_dir("docs")?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
        pages.retain(|page| page.extension().is_some_and(|e| e == "md"));
        pages.sort();
        // From nothing, like the README, so before it.
        let install = PathBuf::from("docs/install.md");
        pages.retain(|page| *page != install);
        let (mut run, mut left_out) = self.document(&install)?;
        self.server.sql(
            "DROP DATABASE IF EXISTS lockstead; DROP USER IF EXISTS lockstead@'127.0.0.%', dba@'127.0.0.%'",
        )?;
        for page in [PathBuf::from("README.md")].iter().chain(&pages) {
            let (these, others) = self.document(page)?;
            run += these;
            left_out += others;
        }
        self.end_proxy();
        Ok((run, left_out))
    }

    /// Where the id of the serving process is.
    fn served(&self) -> PathBuf {
        self.place.file("served.group")
    }

    fn end_proxy(&self) {
        if let Ok(id) = fs::read_to_string(self.served()).unwrap_or_default().trim().parse() {
            end_group(id, || ());
        }
        let _ = fs::remove_file(self.served());
    }

    fn document(&self, page: &Path) -> Result<(usize, usize)> {
        let text = fs::read_to_string(page).with_context(|| page.display().to_string())?;
        let name = page.display();
        let blocks = match blocks(&text) {
            Ok(blocks) => blocks,
            Err(bad) => {
                bail!(
                    "{name}: blocks that nobody would run: give them a language, or a mark:\n  {bad}"
                )
            }
        };
        // A document's configuration is a file beside its commands.
        if let Some(block) = blocks.iter().find(|block| block.language == Language::Toml) {
            let file = Path::new(page.file_name().unwrap_or_default()).with_extension("toml");
            fs::write(self.work.join(file), self.adapt(&block.text))?;
        }
        let (mut run, mut left_out) = (0, 0);
        for block in &blocks {
            match &block.language {
                Language::Sh | Language::Sql => {}
                Language::Toml | Language::Text => continue,
                Language::Other(language) => {
                    bail!(
                        "{name}:{}: nobody runs a block in '{language}': take sh, sql, toml or none",
                        block.line
                    )
                }
            }
            match &block.mark {
                Mark::NotRun(why) => {
                    println!("  {name}:{}: not run: {why}", block.line);
                    left_out += 1;
                }
                Mark::Only(flavour) if *flavour != self.server.flavour() => {}
                Mark::Only(_) | Mark::None => {
                    self.run_block(block).with_context(|| format!("{name}:{}", block.line))?;
                    run += 1;
                }
            }
        }
        Ok((run, left_out))
    }

    fn run_block(&self, block: &Block) -> Result<()> {
        let (script, output) = (self.place.file("block"), self.place.file("block.out"));
        fs::write(&script, self.adapt(&block.text))?;
        let mut command = self.place.command("timeout");
        command.arg(LIMIT);
        if block.language == Language::Sh {
            command.args(["bash", "-euo", "pipefail"]).arg(&script).stdin(Stdio::null());
        } else {
            let port = self.port.to_string();
            command.arg(self.server.client_program());
            command.args(["-h", "127.0.0.1", "-P", &port, "-u", "root", "-prootpw", "-t"]);
            command.stdin(File::open(&script)?);
        }
        self.set_environment(&mut command);
        let log = File::create(&output)?;
        let status = command.stdout(log.try_clone()?).stderr(log).status()?;
        ensure!(status.success(), "the block failed: {}", last_lines(&output, 20));
        Ok(())
    }

    fn set_environment(&self, command: &mut Command) {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = [self.programs.clone()].into_iter().chain(std::env::split_paths(&path));
        command.current_dir(&self.work);
        command.env("PATH", std::env::join_paths(path).unwrap_or_default());
        command
            .env("MYSQL_HOST", "127.0.0.1")
            .env("MYSQL_TCP_PORT", self.server.port().to_string());
        command.env("XDG_STATE_HOME", self.place.file(&format!("state-{}", self.server.release())));
        command.env("DOCS_PROGRAM", self.program).env("DOCS_SERVED", self.served());
        command.env("DOCS_PORT", self.port.to_string()).env("DOCS_HTTP", self.http.to_string());
        command.env("DOCS_LOG", self.place.file("proxy.log"));
    }

    /// A block with what a reader puts in place of what is written.
    fn adapt(&self, text: &str) -> String {
        let mut text = text.replace("127.0.0.1:3306", &format!("127.0.0.1:{}", self.server.port()));
        text = replace_word(&text, "6033", &self.port.to_string());
        text = replace_word(&text, "6080", &self.http.to_string());
        text = text.replace("10.0.0.%", "127.0.0.%");
        text = replace_word(&text, "-u root -p", "-u root -prootpw");
        text = replace_word(&text, "-u app -p", "-u app -papp");
        text = text.replace("/etc/lockstead/", &format!("{}/", self.work.display()));
        text = text.replace("/var/lib/lockstead", &self.place.file("state").display().to_string());
        text.replace("--flavour mysql", &format!("--flavour {}", self.server.flavour().name()))
    }
}

impl Drop for Scene<'_> {
    fn drop(&mut self) {
        self.end_proxy();
        if std::thread::panicking() {
            eprintln!("{}", last_lines(&self.place.file("proxy.log"), 8));
        }
    }
}

/// Replaces what is not a part of a longer word.
fn replace_word(text: &str, word: &str, with: &str) -> String {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(word) {
        let (before, found) = rest.split_at(at);
        let after = &found[word.len()..];
        out.push_str(before);
        let longer = out.ends_with(is_part) || after.starts_with(is_part);
        out.push_str(if longer { word } else { with });
        rest = after;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::replace_word;

    #[test]
    fn only_whole_words_are_replaced() {
        assert_eq!(
            replace_word("6033 16033 :6033, 60330 6033", "6033", "1"),
            "1 16033 :1, 60330 1"
        );
        assert_eq!(
            replace_word("-u app -p x\n-u app -pq\n-u app -p", "-u app -p", "Y"),
            "Y x\n-u app -pq\nY"
        );
    }
}
