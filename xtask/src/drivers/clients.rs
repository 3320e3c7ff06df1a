//! The clients to be run: which, and that they are installed.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use lockstead_support::process::Group;

use crate::workplace::{Workplace, last_lines};

/// Languages of a turn.
const IN_TURN: usize = 3;

/// A client library, as a program below tests/drivers runs it.
#[derive(Debug, Clone)]
pub(super) struct Client {
    language: String,
    name: String,
}

impl Client {
    pub(super) fn is(&self, language: &str, name: &str) -> bool {
        self.language == language && self.name == name
    }

    /// As it is chosen and shown.
    pub(super) fn title(&self) -> String {
        format!("{}:{}", self.language, self.name)
    }

    /// As a part of a file's name.
    pub(super) fn file(&self) -> String {
        format!("{}-{}", self.language, self.name)
    }

    /// What runs it.
    pub(super) fn program(&self) -> (PathBuf, &str) {
        (program(&self.language, "run"), &self.name)
    }
}

fn program(language: &str, name: &str) -> PathBuf {
    Path::new("tests/drivers").join(language).join(name)
}

/// The clients of `LANGUAGE[:CLIENT]...`, or all of them; with `quick`, the first of each language. Their libraries
/// are installed.
pub(super) fn choose(
    place: &Workplace,
    chosen: &str,
    quick: bool,
    turn: Option<usize>,
) -> Result<Vec<Client>> {
    let mut clients = Vec::new();
    let words: Vec<String> = chosen.split_whitespace().map(str::to_owned).collect();
    for word in if words.is_empty() { languages(turn)? } else { words } {
        let (language, only) = word.split_once(':').map_or((&*word, None), |(l, c)| (l, Some(c)));
        ensure!(
            program(language, "run").is_file(),
            "there is no language '{language}' below tests/drivers"
        );
        install(place, language)?;
        let names = list(language)?;
        let names = match only {
            Some(only) if names.iter().any(|name| name == only) => vec![only.to_owned()],
            Some(only) => bail!("{language} has no client '{only}'; it has: {}", names.join(" ")),
            None if quick => names.into_iter().take(1).collect(),
            None => names,
        };
        clients
            .extend(names.into_iter().map(|name| Client { language: language.to_owned(), name }));
    }
    Ok(clients)
}

/// Those below tests/drivers, or the few of a turn.
fn languages(turn: Option<usize>) -> Result<Vec<String>> {
    let mut languages = Vec::new();
    for entry in fs::read_dir("tests/drivers")? {
        let entry = entry?;
        if entry.path().join("run").is_file() {
            languages.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    languages.sort();
    if let Some(turn) = turn {
        let count = languages.len().max(1);
        languages.rotate_left(turn.wrapping_mul(IN_TURN) % count);
        languages.truncate(IN_TURN);
    }
    Ok(languages)
}

fn install(place: &Workplace, language: &str) -> Result<()> {
    let install = program(language, "install");
    if !install.is_file() {
        return Ok(());
    }
    println!("{language}: installing");
    let path = place.file("install.log");
    // Output of the installation is worth reading only when it fails.
    let log = File::create(&path)?;
    let mut command = place.command(&install);
    let status = Group::start(command.stdout(log.try_clone()?).stderr(log))?.wait()?;
    if !status.success() {
        eprintln!("{}", last_lines(&path, 40));
        bail!("the installation for {language} failed (leave it out with DRIVERS)");
    }
    Ok(())
}

fn list(language: &str) -> Result<Vec<String>> {
    let list = program(language, "list");
    let output = Command::new(&list).output().with_context(|| list.display().to_string())?;
    ensure!(output.status.success(), "{} failed", list.display());
    Ok(String::from_utf8(output.stdout)?.split_whitespace().map(str::to_owned).collect())
}
