//! Sessions that change their state at random, each beside a twin directly at the server: both get the same answers.
//!
//! A round has a seed of its own. `LOCKSTEAD_STORM_SEED=seed` begins with the round of that seed, `LOCKSTEAD_STORM_SECONDS` says
//! how long rounds begin.

mod grammar;

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::ground::{Ground, Tenant, teach};
use crate::own_server::flavour_of;
use crate::script::{Flavour, Server};
use crate::stage::{PATIENCE, eventually, on_both};
use crate::wire::decode::{Column, Cursor, text_row};
use crate::wire::library::LIBRARIES;
use crate::wire::response::{ErrPacket, OkPacket};
use crate::wire::{Account, Client, End, Execute, Kind, Library, Packet, Response, render};
use grammar::{CHARSETS_OF_VARIABLES, Grammar, Step, Variables};

on_both! {
    sessions_that_move_by_what_differs_answer_as_those_that_stay
}

/// Of each of two accounts.
const SESSIONS: usize = 6;
/// For all of them.
const CONNECTIONS: u32 = 4;
/// Of each session in a round.
const STEPS: usize = 80;
/// That a session runs without a pause.
const AT_ONCE: usize = 6;
/// How many seconds rounds begin, unless the environment says otherwise.
const SECONDS: u64 = 6;
/// What a difference shows of what came before it.
const SHOWN: usize = 80;

/// Errors of a statement that met a KILL, beside an end of the session.
const LOST: [u16; 6] = [1053, 1105, 1213, 1317, 1927, 2013];
/// What is not the session's state, or is another number in each moment.
const NOT_COMPARED: [&str; 10] = [
    "error_count",
    "gtid_",
    "last_gtid",
    "pseudo_thread_id",
    "rand_seed",
    "session_track_",
    "statement_id",
    "timestamp",
    "warning_count",
    "innodb_native_foreign_keys",
];

/// What all rounds have in common.
struct Storm {
    flavour: Flavour,
    server: Server,
    /// Of the proxy and of the server.
    ports: [u16; 2],
    accounts: [Account; 2],
    roles: [String; 2],
    variables: Variables,
    /// A part of the names of all schemas.
    tag: String,
    kills: AtomicBool,
    over: AtomicBool,
    difference: Mutex<Option<String>>,
    steps: AtomicUsize,
    begun: AtomicUsize,
}

/// A client, and what is its own.
struct Side {
    client: Client,
    schema: String,
    statements: BTreeMap<usize, u32>,
}

/// A session and its twin.
struct Pair<'a> {
    storm: &'a Storm,
    number: usize,
    account: Account,
    grammar: Grammar<'a>,
    sides: [Side; 2],
    history: VecDeque<String>,
}

impl Storm {
    /// The schema of a session, or of its twin. Their names have one length.
    fn schema(&self, side: usize, number: usize) -> String {
        format!("s{}_{}_{number:02}", ["p", "d"][side], self.tag)
    }

    fn log_in(&self, side: usize, account: &Account, number: usize) -> Side {
        let schema = self.schema(side, number);
        let account = Account { database: Some(schema.clone()), ..account.clone() };
        let client = eventually("a login", || {
            let mut client = Client::connect("127.0.0.1", self.ports[side], &account).ok()?;
            client.patience = PATIENCE;
            client.login.succeeded().then_some(client)
        });
        Side { client, schema, statements: BTreeMap::new() }
    }

    /// The tables of a session and its twin, as if nobody had used them before.
    fn lay(&self, number: usize) {
        let mut root = self.server.root();
        for side in 0..2 {
            let schema = self.schema(side, number);
            for (table, columns) in grammar::TABLES {
                root.run(&format!("DROP TABLE IF EXISTS {schema}.{table}"));
                root.run(&format!("CREATE TABLE {schema}.{table} ({columns}) ENGINE=InnoDB"));
            }
        }
    }

    /// The schemas, and the rights on them.
    fn found(&self) {
        let mut root = self.server.root();
        for number in 0..2 * SESSIONS {
            for side in 0..2 {
                let schema = self.schema(side, number);
                for name in [schema.clone(), format!("{schema}x")] {
                    root.run(&format!("CREATE DATABASE {name}"));
                    for account in &self.accounts {
                        root.run(&format!("GRANT ALL ON {name}.* TO {}", account.user));
                    }
                }
                root.run(&format!("CREATE TABLE {schema}x.of_role (v INT)"));
            }
        }
        for role in &self.roles {
            root.run(&format!("CREATE ROLE {role}"));
            for account in &self.accounts {
                root.run(&format!("GRANT {role} TO {}", account.user));
            }
        }
    }

    fn tear_down(&self) {
        let mut root = self.server.root();
        for number in 0..2 * SESSIONS {
            for side in 0..2 {
                let schema = self.schema(side, number);
                root.run(&format!("DROP DATABASE {schema}"));
                root.run(&format!("DROP DATABASE {schema}x"));
            }
        }
        for role in &self.roles {
            root.run(&format!("DROP ROLE {role}"));
        }
    }

    /// Kills connections of the proxy's, until the round is over.
    fn kill_some(&self, seed: u64, over: &AtomicBool) {
        let mut random = StdRng::seed_from_u64(seed);
        let mut root = self.server.root();
        let names = self.accounts.each_ref().map(|account| format!("'{}'", account.user));
        let of_proxy = format!(
            "SELECT DISTINCT a.processlist_id FROM performance_schema.session_connect_attrs a JOIN \
             performance_schema.threads t USING (processlist_id) WHERE attr_name='_lockstead' \
             AND processlist_user IN ({})",
            names.join(",")
        );
        while !over.load(Ordering::SeqCst) {
            std::thread::park_timeout(Duration::from_millis(random.random_range(200..2000)));
            let mut ids = root.column(&of_proxy);
            if !ids.is_empty() {
                let id = ids.swap_remove(random.random_range(0..ids.len()));
                root.try_run(&format!("KILL {id}"));
            }
        }
    }
}

impl Side {
    fn run(&mut self, step: &Step, account: &Account) -> Response {
        let expand = |text: &[u8]| replaced(text, b"$DB", self.schema.as_bytes());
        let id = |slot: &usize| self.statements.get(slot).copied().unwrap_or(7777);
        match step {
            Step::Query(text) => self.client.query(&expand(text)),
            Step::Variables => self.client.query(b"SHOW SESSION VARIABLES"),
            Step::Schema(name) => self.client.init_db(&expand(name)),
            Step::Prepare(slot, text) => {
                let response = self.client.prepare(&expand(text));
                if let Some(id) = response.statement_id() {
                    self.statements.insert(*slot, id);
                }
                response
            }
            Step::Execute(slot, params) => {
                let execution = Execute { params: params.clone(), ..Execute::default() };
                self.client.execute(id(slot), &execution)
            }
            Step::Again(slot, params) => {
                let params = params.clone();
                let execution = Execute { params, keep_types: true, ..Execute::default() };
                self.client.execute(id(slot), &execution)
            }
            Step::Close(slot) => {
                let response = self.client.close_statement(id(slot));
                self.statements.remove(slot);
                response
            }
            Step::Several(on) => self.client.set_option(u16::from(!on)),
            Step::Ping => self.client.ping(),
            Step::Reset => {
                self.statements.clear();
                self.client.reset_connection()
            }
            Step::ChangeUser => {
                self.statements.clear();
                let database = Some(self.schema.clone());
                self.client.change_user(&Account { database, ..account.clone() })
            }
        }
    }
}

/// What came of a statement of both.
enum Outcome {
    Alike,
    /// Both begin again.
    Ended,
    Differs,
}

impl<'a> Pair<'a> {
    fn begin(storm: &'a Storm, number: usize, account: &Account, grammar: Grammar<'a>) -> Self {
        storm.lay(number);
        storm.begun.fetch_add(1, Ordering::SeqCst);
        let sides = [0, 1].map(|side| storm.log_in(side, account, number));
        Self { storm, number, account: account.clone(), grammar, sides, history: VecDeque::new() }
    }

    fn begin_again(&mut self) {
        let storm = self.storm;
        // The old ones are gone before their tables go.
        for side in &self.sides {
            side.client.end_sending();
        }
        for side in &mut self.sides {
            side.client.read_until_closed();
        }
        storm.lay(self.number);
        storm.begun.fetch_add(1, Ordering::SeqCst);
        self.sides = [0, 1].map(|side| storm.log_in(side, &self.account, self.number));
        self.grammar.begin();
        self.history.push_back("-- again".to_owned());
    }

    fn work(mut self, random: &mut StdRng) -> Result<(), String> {
        let (mut done, mut failed) = (0, false);
        while done < STEPS && !self.storm.over.load(Ordering::SeqCst) {
            let steps: Vec<Step> =
                (0..random.random_range(1..=AT_ONCE)).map(|_| self.grammar.step()).collect();
            done += steps.len();
            let account = &self.account;
            let [own, native] = self.sides.each_mut().map(|side| {
                let mut responses = Vec::new();
                for step in &steps {
                    responses.push(side.run(step, account));
                    if responses.last().is_some_and(|response| response.end != End::Complete) {
                        break;
                    }
                }
                responses
            });
            for (nth, step) in steps.iter().enumerate() {
                let (Some(own), Some(native)) = (own.get(nth), native.get(nth)) else { break };
                self.history.push_back(format!("{step}   -> {}", render::summary(native)));
                if self.history.len() > SHOWN {
                    self.history.pop_front();
                }
                // Documented: numbers of rows after a statement that has failed.
                if std::mem::replace(&mut failed, native.error().is_some()) && step.asks_for_rows()
                {
                    continue;
                }
                match self.outcome(step, own, native) {
                    Outcome::Alike => {}
                    Outcome::Ended => {
                        self.begin_again();
                        break;
                    }
                    Outcome::Differs => return Err(self.difference(step, own, native)),
                }
            }
            self.storm.steps.fetch_add(steps.len(), Ordering::SeqCst);
        }
        for side in self.sides {
            side.client.say_quit();
        }
        Ok(())
    }

    fn outcome(&self, step: &Step, own: &Response, native: &Response) -> Outcome {
        let schemas = self.sides.each_ref().map(|side| side.schema.as_bytes());
        let [a, b] = [own, native].map(|response| said(response, step, schemas));
        match (a == b && own.end == native.end, own.end) {
            (true, End::Closed) => Outcome::Ended,
            (true, _) => Outcome::Alike,
            (false, End::Closed) if self.storm.kills.load(Ordering::SeqCst) => Outcome::Ended,
            (false, _) if self.storm.kills.load(Ordering::SeqCst) && is_lost(own) => Outcome::Ended,
            (false, _) => Outcome::Differs,
        }
    }

    fn difference(&self, step: &Step, own: &Response, native: &Response) -> String {
        let before = self.history.iter().fold(String::new(), |mut out, line| {
            let _ = writeln!(out, "{line}");
            out
        });
        let shown = |response: &Response| match step {
            Step::Variables => String::new(),
            _ => render::response(response),
        };
        let schemas = self.sides.each_ref().map(|side| side.schema.as_bytes());
        let [a, b] = [own, native].map(|response| said(response, step, schemas));
        let words = |packet: Option<&(Kind, u8, Vec<u8>)>| {
            packet
                .map_or_else(String::new, |p| format!("{:?} {} {}", p.0, p.1, render::bytes(&p.2)))
        };
        let first = (0..a.len().max(b.len())).find(|n| a.get(*n) != b.get(*n)).unwrap_or_default();
        format!(
            "session {}: {before}\n{step}\nthrough the proxy:\n{}{}\ndirect:\n{}{}",
            self.number,
            shown(own),
            words(a.get(first)),
            shown(native),
            words(b.get(first)),
        )
    }
}

/// Whether a statement may have met a KILL.
fn is_lost(response: &Response) -> bool {
    response.error().is_some_and(|code| LOST.contains(&code))
}

/// The text with each `from` replaced.
fn replaced(text: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = memchr::memmem::find(rest, from) {
        out.extend_from_slice(&rest[..at]);
        out.extend_from_slice(to);
        rest = &rest[at + from.len()..];
    }
    out.extend_from_slice(rest);
    out
}

/// A response as it is compared: with the session's schema in place of its twin's, in whatever character set, and without
/// numbers that count over the whole server.
fn said(response: &Response, step: &Step, [own, native]: [&[u8]; 2]) -> Vec<(Kind, u8, Vec<u8>)> {
    let whole = response.with_definitions();
    let wide = |name: &[u8], zeros: usize, first: bool| {
        let zeros = vec![0; zeros];
        let of = |byte: &u8| {
            if first { [&zeros, &[*byte][..]].concat() } else { [&[*byte][..], &zeros].concat() }
        };
        name.iter().flat_map(of).collect::<Vec<u8>>()
    };
    let compared = |packet: &&Packet| match packet.kind {
        // Nonces.
        Kind::Auth => false,
        Kind::TextRow if *step == Step::Variables => is_compared(&packet.payload),
        _ => true,
    };
    let numbered = *step != Step::ChangeUser;
    let row = whole.packets.iter().find(|packet| packet.kind == Kind::TextRow);
    let row = row.and_then(|row| text_row(&row.payload)).unwrap_or_default();
    let is_null = |nth: usize| row.get(nth).is_some_and(Option::is_none);
    let mut nth = 0;
    let packets = whole.packets.iter().filter(compared);
    packets
        .map(|packet| {
            let mut bytes = packet.payload.clone();
            for (zeros, first) in [(0, true), (1, true), (1, false), (3, true)] {
                bytes = replaced(&bytes, &wide(native, zeros, first), &wide(own, zeros, first));
            }
            match packet.kind {
                // MariaDB says there, too, that something has changed.
                Kind::Eof => {
                    bytes.get_mut(4).into_iter().for_each(|high| *high &= 0xbf);
                    // Documented: warnings of the statement before it.
                    if !step.is_text() {
                        bytes.truncate(1);
                    }
                }
                // Documented: they may skip numbers.
                Kind::PrepareOk => {
                    bytes.get_mut(1..5).into_iter().for_each(|id| id.fill(0));
                }
                Kind::Err if [1243, 1421].contains(&ErrPacket::parse(&bytes).code) => {
                    bytes.retain(|byte| !byte.is_ascii_digit());
                }
                // Documented: the number of a collation in the definitions of texts, and all of a user variable that is NULL.
                Kind::Column => {
                    bytes = without_collation(bytes, step.has_older_definitions(), is_null(nth));
                    nth += 1;
                }
                Kind::TextRow if *step == Step::Query(CHARSETS_OF_VARIABLES.into()) => {
                    bytes = without_charsets(&bytes);
                }
                // Documented: reports of a transaction's state, and of a schema that an execution has set again.
                Kind::Ok => {
                    bytes = without_some_reports(bytes, step);
                }
                _ => {}
            }
            (packet.kind, if numbered { packet.sequence() } else { 0 }, bytes)
        })
        .collect()
}

/// The row of [`CHARSETS_OF_VARIABLES`], without character set and collation of variables that are NULL.
fn without_charsets(row: &[u8]) -> Vec<u8> {
    let mut values = text_row(row).unwrap_or_default();
    for value in [0, 3] {
        if values.get(value).is_some_and(Option::is_none) {
            values[value + 1..value + 3].fill(None);
        }
    }
    format!("{values:?}").into_bytes()
}

/// A column's definition, without the number of the collation of a text, and without the greatest length of a long one.
fn without_collation(payload: Vec<u8>, older: bool, null: bool) -> Vec<u8> {
    const BINARY: u16 = 63;
    const BY_BYTES: u16 = 128;
    const BLOBS: std::ops::RangeInclusive<u8> = 249..=252;
    const VAR_STRING: u8 = 253;
    let Some(mut column) = Column::parse(&payload) else { return payload };
    if null && column.name.iter().find(|byte| **byte != 0) == Some(&b'@') {
        return column.name;
    }
    if older && (BLOBS.contains(&column.kind) || column.kind == VAR_STRING) {
        // Documented: of a statement that was prepared again, by `character_set_results` of now.
        (column.kind, column.charset) = (VAR_STRING, BINARY);
        column.flags &= !BY_BYTES;
    }
    if column.charset != BINARY {
        column.charset = 0;
        // Of a collation by bytes.
        column.flags &= !BY_BYTES;
        // Documented.
        column.length *= u32::from(!older);
    }
    if BLOBS.contains(&column.kind) || (column.kind, column.charset) == (VAR_STRING, BINARY) {
        (column.kind, column.length) = (*BLOBS.end(), 0);
    }
    format!("{column:?}").into_bytes()
}

/// An OK packet without reports of the transaction's state, or of a schema that the statement has not chosen, and without the
/// lengths of what follows.
fn without_some_reports(payload: Vec<u8>, step: &Step) -> Vec<u8> {
    const SCHEMA: u8 = 1;
    const TRANSACTION: u8 = 5;
    const CHANGED: u16 = 0x4000;
    let Some(ok) = OkPacket::parse(&payload) else { return payload };
    let mut rest = Cursor(&ok.rest);
    if ok.status & CHANGED == 0 && ok.rest.is_empty() {
        rest = Cursor(b"\0");
    }
    let info = rest.lenenc_bytes().unwrap_or_default();
    let mut changes = Cursor(rest.lenenc_bytes().unwrap_or_default());
    let mut kept = Vec::new();
    while let (Some(kind), Some(change)) = (changes.u8(), changes.lenenc_bytes()) {
        if kind != TRANSACTION && (kind != SCHEMA || step.chooses_schema()) {
            kept.extend_from_slice(&[&[kind], change].concat());
        }
    }
    let status = ok.status & !CHANGED;
    // Documented, too: warnings of the statement before it.
    let warnings = if step.is_text() { ok.warnings } else { 0 };
    let head = format!("{} {} {status} {warnings} ", ok.affected, ok.insert_id);
    [&payload[..1], head.as_bytes(), info, &kept].concat()
}

/// Whether a row of SHOW VARIABLES is of a session's state.
fn is_compared(row: &[u8]) -> bool {
    let name = text_row(row).and_then(|row| row.first().copied().flatten().map(<[u8]>::to_vec));
    let name: Vec<u8> = name.unwrap_or_default().into_iter().filter(|byte| *byte != 0).collect();
    !NOT_COMPARED.iter().any(|begin| name.starts_with(begin.as_bytes()))
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

/// One round: all sessions of it, from their logins to their ends.
fn round(storm: &Storm, seed: u64) {
    let place = usize::try_from(seed % 0xffff).expect("small");
    let libraries: [&Library; 2] =
        [0, 1].map(|nth| &LIBRARIES[(place * (1 + 3 * nth) + 5 * nth) % LIBRARIES.len()]);
    let kills = seed % 3 == 2;
    storm.kills.store(kills, Ordering::SeqCst);
    println!(
        "LOCKSTEAD_STORM_SEED={seed}: {} and {}{}",
        libraries[0].name,
        libraries[1].name,
        if kills { ", under KILLs" } else { "" }
    );
    let variables = storm.variables.some(&mut StdRng::seed_from_u64(seed));
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..2 * SESSIONS)
            .map(|number| {
                let of = number / SESSIONS;
                let mut account = storm.accounts[of].clone();
                account.capabilities = libraries[of].capabilities(storm.flavour);
                let variables = &variables;
                scope.spawn(move || {
                    let random = |salt: u64| StdRng::seed_from_u64(seed * 1000 + salt);
                    let mut own = random(2 * number as u64);
                    let grammar = Grammar::new(
                        random(2 * number as u64 + 1),
                        storm.flavour,
                        variables,
                        &storm.roles,
                        !kills,
                    );
                    let pair = Pair::begin(storm, number, &account, grammar);
                    if let Err(difference) = pair.work(&mut own) {
                        storm.over.store(true, Ordering::SeqCst);
                        let mut first = storm.difference.lock().expect("a difference");
                        first.get_or_insert(difference);
                    }
                })
            })
            .collect();
        let killer = kills.then(|| scope.spawn(|| storm.kill_some(seed, &over)));
        for worker in workers {
            worker.join().expect("a worker");
        }
        over.store(true, Ordering::SeqCst);
        if let Some(killer) = killer {
            killer.thread().unpark();
        }
    });
    let difference = storm.difference.lock().expect("a difference").take();
    if let Some(difference) = difference {
        panic!("{:?}: LOCKSTEAD_STORM_SEED={seed}\n{difference}", storm.flavour);
    }
}

fn sessions_that_move_by_what_differs_answer_as_those_that_stay(server: &Server) {
    let seed = number("LOCKSTEAD_STORM_SEED").unwrap_or_else(|| rand::random::<u64>() >> 40);
    // Documented: on MariaDB, the question before a COMMIT leaves no warnings.
    let extra = ["--pool-wait", "60s", "--fenced-commit", "off"];
    let ground = Ground::new(server, CONNECTIONS, &extra);
    let second = Tenant::create(ground.server(), "another password");
    teach(&ground.proxy, &second.account);
    let accounts = [&ground.tenant, &second].map(|tenant| tenant.account.clone());
    let tag = ground.tenant.name.trim_start_matches('p').to_owned();
    let roles = [format!("r_{tag}"), format!("q_{tag}")];
    let flavour = flavour_of(ground.server());
    let variables = Variables::of(ground.server().port, &accounts[0]);
    println!("{} variables", variables.len());
    let storm = Storm {
        flavour,
        server: ground.server().clone(),
        ports: [ground.proxy.port, ground.server().port],
        accounts,
        roles,
        variables,
        tag,
        kills: AtomicBool::new(false),
        over: AtomicBool::new(false),
        difference: Mutex::new(None),
        steps: AtomicUsize::new(0),
        begun: AtomicUsize::new(0),
    };
    storm.found();
    let long = Duration::from_secs(number("LOCKSTEAD_STORM_SECONDS").unwrap_or(SECONDS));
    let begun = Instant::now();
    for seed in seed.. {
        round(&storm, seed);
        if begun.elapsed() >= long {
            break;
        }
    }
    let counted =
        |sent: &str| ground.proxy.metric(&format!("lockstead_pool_moves_total{{sent=\"{sent}\"}}"));
    let moved = ["nothing", "delta", "reset", "all"].map(|sent| (sent, counted(sent)));
    println!(
        "{} statements of {} sessions, moves: {moved:?}",
        storm.steps.load(Ordering::SeqCst),
        storm.begun.load(Ordering::SeqCst)
    );
    assert!(counted("delta") > 100.0, "{moved:?}");
    storm.tear_down();
}
