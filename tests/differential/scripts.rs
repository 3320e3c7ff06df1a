//! The scripts that there are, and the trials that they make.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use libtest_mimic::{Failed, Trial};

use crate::header::{Header, Own};
use crate::own_server::OwnServer;
use crate::pass::{Pass, Proxies, Running};
use crate::script::check::{Check, Recorded};
use crate::script::{Flavour, Server};
use crate::wire::Library;

/// A script as it was found.
struct Found {
    name: String,
    /// The folder that it is in, if not the common one.
    folder: Option<String>,
    /// Among those of what the proxy does not cover.
    later: bool,
    text: String,
    header: Header,
}

/// A script's test.
struct Case {
    script: Arc<Found>,
    flavour: Flavour,
    pass: Pass,
    /// As which its sessions log in, one after the other.
    clients: Vec<&'static Library>,
    /// Of the script at this server. Its passes run one after the other, so that no other pass uses its lock names.
    recorded: Arc<Mutex<Recorded>>,
    proxies: Arc<Proxies>,
}

/// The tests of all scripts: those that wait longest first, or they would be waited for at the end.
pub(crate) fn trials(proxies: &Arc<Proxies>) -> Vec<Trial> {
    let every = is_set("LOCKSTEAD_DIFF_EVERY", "1");
    let turns = Turns::from_env();
    let mut cases: Vec<Case> = Vec::new();
    for (place, script) in found().into_iter().enumerate() {
        let script = Arc::new(script);
        let flavours = script.header.flavours();
        for (index, flavour) in flavours.iter().copied().enumerate() {
            let recorded = Arc::default();
            // The servers take turns, too.
            let clients = script.header.clients(place + index * 2);
            let of_pooling = script.folder.as_deref() == Some("pooling");
            let mut extra = if script.later { Vec::new() } else { vec![Pass::Shuffled] };
            extra.push(Pass::Coexist);
            extra.retain(|pass| {
                every || turns.has(*pass, place, (index, flavours.len()), of_pooling)
            });
            for pass in script.header.passes(every && !script.later, &extra) {
                let (script, recorded) = (Arc::clone(&script), Arc::clone(&recorded));
                let (clients, proxies) = (clients.clone(), Arc::clone(proxies));
                cases.push(Case { script, flavour, pass, clients, recorded, proxies });
            }
        }
    }
    cases.sort_by_key(|case| std::cmp::Reverse(case.script.length()));
    // The passes of a script wait for each other, so they stand apart.
    cases.sort_by_key(|case| case.pass);
    cases.into_iter().map(Case::trial).collect()
}

/// Which scripts are in the passes that are slow.
struct Turns(Option<usize>);

impl Turns {
    /// `LOCKSTEAD_TURN` is a number, another one for each change: what it leaves out, the next ones run.
    fn from_env() -> Self {
        let turn = std::env::var("LOCKSTEAD_TURN").ok().filter(|turn| !turn.is_empty());
        Self(turn.map(|turn| turn.parse().expect("LOCKSTEAD_TURN is a number")))
    }

    /// Whether a script, by its place among them, is in a pass at the server `index` of `servers`. `of_pooling`: it is
    /// about what moves.
    fn has(
        &self,
        pass: Pass,
        place: usize,
        (index, servers): (usize, usize),
        of_pooling: bool,
    ) -> bool {
        let turn = place + self.0.unwrap_or_default();
        let here = servers == 1 || index == turn % 2;
        let (among_four, among_sixteen) = (turn / 2 % 4, turn / 2 % 16);
        match (pass, self.0) {
            (Pass::Shuffled, _) if !of_pooling => here && among_sixteen == 3,
            // Even without turns the slowest are at one of the servers.
            (Pass::Shuffled, None) => here,
            (_, None) => true,
            (Pass::Shuffled, Some(_)) => here && among_four == 0,
            (_, Some(_)) => here,
        }
    }
}

fn is_set(variable: &str, value: &str) -> bool {
    std::env::var(variable).is_ok_and(|v| v == value)
}

/// Every file in the folder of scripts. One that nobody would run is an error.
fn found() -> Vec<Found> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/scripts");
    let mut scripts = Vec::new();
    for path in entries(&folder) {
        match path.file_name().and_then(|name| name.to_str()) {
            Some(name @ ("later" | "own" | "pooling")) => {
                scripts.extend(entries(&path).iter().map(|path| Found::read(path, Some(name))));
            }
            _ => scripts.push(Found::read(&path, None)),
        }
    }
    scripts
}

/// What is in a folder, in order.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder of scripts");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    paths
}

impl Found {
    fn read(path: &Path, folder: Option<&str>) -> Self {
        let is_script = path.is_file() && path.extension().is_some_and(|e| e == "sql");
        assert!(is_script, "{} is no script, and nobody would run it", path.display());
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let text = std::fs::read_to_string(path).expect("a script");
        let header = Header::parse(&path.display().to_string(), &text);
        let folder = folder.map(str::to_owned);
        let later = folder.as_deref() == Some("later");
        Self { name, folder, later, text, header }
    }

    /// About how many milliseconds it waits, for the order of the tests.
    fn length(&self) -> usize {
        let lines = || self.text.lines();
        let variants = 1 + lines().filter(|line| line.starts_with("@matrix")).count();
        let waits = lines().filter_map(|line| {
            let (_, rest) = line.split_once(':').unwrap_or((line, "")).0.split_once('~')?;
            rest.trim_end_matches(|c: char| !c.is_ascii_digit()).parse::<usize>().ok()
        });
        variants * (waits.sum::<usize>() + 10 * lines().count())
    }
}

impl Case {
    fn trial(self) -> Trial {
        let group = match (&self.script.folder, &self.script.header.own) {
            (Some(folder), _) => format!("{folder}::"),
            (None, Some(_)) => "own::".to_owned(),
            (None, None) => String::new(),
        };
        let flavour = self.flavour.name();
        let mut name = format!("differential::{group}{flavour}::{}", self.script.name);
        if self.pass != Pass::Plain {
            name = format!("{name}::{}", self.pass.name());
        }
        let ignored = self.script.header.ignored;
        Trial::test(name, move || self.run()).with_ignored_flag(ignored)
    }

    fn run(&self) -> Result<(), Failed> {
        let mut recorded = self.recorded.lock().unwrap_or_else(PoisonError::into_inner);
        let is_alone = is_set("LOCKSTEAD_DIFF_SELF", "1") || self.is_alone();
        if let Some(own) = &self.script.header.own {
            return self.run_at_own(own, is_alone);
        }
        if is_alone {
            return Ok(self.check(&Server::from_env(self.flavour), None, &mut recorded)?);
        }
        // The recorded answers are those of another server.
        let mut own = Recorded::default();
        let of_all = self.pass.server_options(self.flavour).is_none();
        let recorded = if of_all { &mut *recorded } else { &mut own };
        self.proxies.with(self.flavour, self.pass, |proxy, server| {
            let before = proxy.log().len();
            self.check(server, Some(proxy.port), recorded).map_err(|e| {
                format!("{e}\n--- log of the proxy ---\n{}", &proxy.log()[before..])
            })?;
            Ok(())
        })
    }

    /// Whether the script runs on the server alone, because the proxy does not cover it.
    fn is_alone(&self) -> bool {
        let later = self.script.later && self.pass == Pass::Plain;
        later && !is_set("LOCKSTEAD_DIFF_LATER", "proxy")
    }

    fn run_at_own(&self, own: &Own, is_alone: bool) -> Result<(), Failed> {
        let options: Vec<&str> = own.options.iter().map(String::as_str).collect();
        let server = OwnServer::start(self.flavour, &options);
        for sql in &own.first {
            server.server.root().run(sql);
        }
        let running = (!is_alone).then(|| Running::start(&server.server, self.pass));
        let through = running.as_ref().map(|running| running.proxy.port);
        Ok(self.check(&server.server, through, &mut Recorded::default())?)
    }

    fn check(
        &self,
        server: &Server,
        through: Option<u16>,
        recorded: &mut Recorded,
    ) -> Result<(), String> {
        let learns = self.pass == Pass::Shuffled;
        let wrap = self.pass.wrap();
        let flavour = self.flavour;
        let is_native = self.pass.is_native();
        let documented = |line: &&str| !(is_native && Header::is_of_durable(line));
        let lines = Header::lines_for(&self.script.text, self.pass, self.flavour);
        let text: Vec<&str> = lines.filter(documented).collect();
        let text = text.join("\n");
        self.clients.iter().try_for_each(|&library| {
            let check = Check { server, flavour, wrap, learns, through, library };
            check.run(&self.script.name, &text, recorded)
        })
    }
}
