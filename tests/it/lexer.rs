//! What the servers' own lexers take for a lock call, and what the proxy does.
//!
//! Each text is run on the server, and a lock that is held after it shows that there was a call. A run
//! prints its seed. `LOCKSTEAD_LEXER_SEED=seed` draws the same texts again,
//! `LOCKSTEAD_LEXER_COUNT=n` says how many a flavour; each has a seed of its own.

mod texts;

use lockstead::sql::classify::{Statement, classify, classify_exactly};
use lockstead::sql::find::finder::Finder;
use lockstead::sql::find::prefilter::scan;
use lockstead::sql::find::stream::{Stream, StreamFound};
use lockstead::sql::lexer::dialect::{Dialect, Multibyte};
use lockstead::types;

use crate::own_server::flavour_of;
use crate::proxy::Proxy;
use crate::script::server::Root;
use crate::script::{Flavour, Server};
use crate::session::{Session, account};
use crate::stage::on_both;
use crate::wire::capability::{MULTI_STATEMENTS, QUERY_ATTRIBUTES};
use crate::wire::{Account, Library, Param, Response};
use texts::{Case, Source, draw};

on_both! {
    calls_are_what_the_server_s_lexer_takes_for_calls
}

/// Texts that a session sends as a client library, before one sends as the next.
const EACH: u64 = 50;

/// The texts that are drawn where nobody asks for others.
const KNOWN_SEED: u64 = 2_442_109_283;

fn setting(name: &str, default: u64) -> u64 {
    let value = std::env::var(name).ok();
    value.map_or(default, |v| v.parse().unwrap_or_else(|_| panic!("{name}={v} is not a number")))
}

/// What the server makes of a text.
#[derive(Debug)]
struct Truth {
    /// Locks held after it.
    taken: u64,
    error: Option<u16>,
}

fn calls_are_what_the_server_s_lexer_takes_for_calls(server: &Server) {
    let seed = setting("LOCKSTEAD_LEXER_SEED", KNOWN_SEED);
    let count = setting("LOCKSTEAD_LEXER_COUNT", 2000);
    println!("LOCKSTEAD_LEXER_SEED={seed} LOCKSTEAD_LEXER_COUNT={count}");
    let flavour = flavour_of(server);
    let mut root = server.root();
    let charsets = charsets(&mut root);
    let version = version(&mut root);
    let names = names();
    let mariadb = flavour == Flavour::MariaDb;
    let source = Source { mariadb, version, charsets: &charsets, names: &names };
    let proxy = Proxy::start(&server.url, &[]);
    let with_attributes = |seed: u64| {
        let place = usize::try_from(seed / EACH % 0xffff).expect("small");
        let account = account().by(Library::chosen(place)[0], flavour);
        Account {
            capabilities: account.capabilities | MULTI_STATEMENTS | QUERY_ATTRIBUTES,
            ..account
        }
    };
    let mut direct = Session::at(server.port);
    let mut proxied = Session::of(proxy.port, &with_attributes(seed));
    let (mut findings, mut called, mut silent, mut failed) = (Vec::new(), 0, 0, 0);
    for seed in seed..seed + count {
        if seed % EACH == 0 {
            proxied = Session::of(proxy.port, &with_attributes(seed));
        }
        let case = draw(seed, &source);
        let truth = run(&mut direct, &case, &[]);
        match (&truth, truth.error) {
            (Truth { taken: 1.., .. }, _) => called += 1,
            (_, Some(_)) => failed += 1,
            (_, None) => silent += 1,
        }
        let through = run(&mut proxied, &case, &attributes_of(seed));
        let mut wrong: Vec<String> = judge(&case, dialect(&case, flavour, version), &truth, seed);
        wrong.extend(meets(&case, &truth, &through));
        if held_at_server(&mut root, &names) {
            wrong.push("through the proxy it took the server's own lock".to_owned());
            proxied = Session::of(proxy.port, &with_attributes(seed));
        }
        findings.extend(wrong.into_iter().map(|what| {
            format!(
                "{what}: LOCKSTEAD_LEXER_SEED={seed} LOCKSTEAD_LEXER_COUNT=1 {:?} {}: \
                 {truth:?}, through the proxy {through:?}\n    {}",
                case.modes,
                case.charset,
                excerpt(&case.text)
            )
        }));
        if findings.len() > 40 {
            break;
        }
    }
    println!("{called} called, {silent} did not, {failed} were refused");
    assert!(findings.is_empty(), "{flavour:?}: {}\n{}", findings.len(), findings.join("\n"));
    assert!(count < 100 || (called > count / 10 && silent > count / 100), "texts are too strange");
}

/// The text, without what makes it long.
fn excerpt(text: &[u8]) -> String {
    let from = text.len().saturating_sub(400);
    format!("{}{}", if from > 0 { "…" } else { "" }, text[from..].escape_ascii())
}

fn charsets(root: &mut Root) -> Vec<String> {
    // Those of two bytes and more a character cannot be a client's.
    const NO_CLIENT: [&str; 4] = ["ucs2", "utf16", "utf16le", "utf32"];
    let all = root.column("SELECT CHARACTER_SET_NAME FROM information_schema.CHARACTER_SETS");
    all.into_iter().filter(|name| !NO_CLIENT.contains(&name.as_str())).collect()
}

fn version(root: &mut Root) -> u32 {
    let version = root.column("SELECT VERSION()").concat();
    let mut numbers = version.split(['.', '-']).map_while(|n| n.parse::<u32>().ok());
    let mut next = || numbers.next().expect("three numbers");
    next() * 10_000 + next() * 100 + next()
}

/// Names of this text alone: two that strings name, and two that numbers do.
fn names() -> [String; 4] {
    let own = rand::random::<u32>();
    [format!("la{own:08x}"), format!("lb{own:08x}"), format!("1{own:010}"), format!("2{own:010}")]
}

fn dialect(case: &Case, flavour: Flavour, version: u32) -> Dialect {
    let has = |mode| case.modes.contains(&mode);
    Dialect {
        flavour: match flavour {
            Flavour::MySql => types::Flavour::MySql,
            Flavour::MariaDb => types::Flavour::MariaDb,
        },
        version,
        // MariaDB's MSSQL has them too.
        ansi_quotes: has("ANSI_QUOTES") || has("MSSQL"),
        no_backslash_escapes: has("NO_BACKSLASH_ESCAPES"),
        brackets: has("MSSQL"),
        multibyte: Multibyte::from_charset(&case.charset),
    }
}

/// Query attributes, whose bytes belong to no text.
fn attributes_of(seed: u64) -> Vec<(String, Param)> {
    let text = Param::Text(b"'; SELECT GET_LOCK(1,0) /*".to_vec());
    let all = [("a".to_owned(), text), ("'`\"".to_owned(), Param::Long(0x5c27_2260))];
    all.into_iter().take(usize::try_from(seed % 5).expect("small")).collect()
}

fn run(session: &mut Session, case: &Case, attributes: &[(String, Param)]) -> Truth {
    let modes = case.modes.join(",");
    session.run(&format!("SET sql_mode='{modes}', NAMES {}", case.charset));
    let answer: Response = session.client.query_with(&case.text, attributes);
    let taken = session.value("SELECT RELEASE_ALL_LOCKS()").and_then(|n| n.parse().ok());
    Truth { taken: taken.expect("a count"), error: answer.error() }
}

/// Whether any session holds one of the locks at the server.
fn held_at_server(root: &mut Root, names: &[String; 4]) -> bool {
    let all: Vec<String> = names.iter().map(|n| format!("IS_USED_LOCK('{n}')")).collect();
    !root.column(&format!("SELECT COALESCE({})", all.join(","))).is_empty()
}

/// Compares the verdict on a text with what the server made of it.
fn judge(case: &Case, dialect: Dialect, truth: &Truth, seed: u64) -> Vec<String> {
    let text = &case.text;
    let verdict = classify_exactly(text, dialect);
    let passes = matches!(
        verdict,
        Statement::NoCall | Statement::WrongCount | Statement::InTable | Statement::Definition
    );
    let mut wrong = Vec::new();
    if truth.taken > 0 && passes {
        wrong.push(format!("missed, it is {}", kind(&verdict)));
    }
    if truth.taken > 0 && !scan(text).call {
        wrong.push("missed by the prefilter".to_owned());
    }
    if truth.taken == 0 && truth.error.is_none() && !passes {
        wrong.push(format!("no call, but it is {}", kind(&verdict)));
    }
    let known = Dialect {
        ansi_quotes: dialect.ansi_quotes && dialect.flavour == types::Flavour::MariaDb,
        brackets: false,
        multibyte: Multibyte::Safe,
        ..dialect
    };
    let general = classify(text, known);
    if general != Statement::Ambiguous && general != verdict {
        wrong.push(format!("not ambiguous, {} and {}", kind(&general), kind(&verdict)));
    }
    wrong.extend(streams(text, dialect, known, truth, seed));
    wrong
}

/// Compares what is found in a text that comes in chunks with what is found in the whole.
fn streams(
    text: &[u8],
    dialect: Dialect,
    known: Dialect,
    truth: &Truth,
    seed: u64,
) -> Option<String> {
    let whole = Finder::of(text, dialect);
    let size = 1 + usize::try_from(seed % 97).expect("small");
    let mut pieces = Finder::new(dialect);
    text.chunks(size).for_each(|chunk| {
        pieces.feed(chunk, 0);
    });
    if pieces.calls() != whole.calls() {
        return Some(format!("other calls in chunks of {size}"));
    }
    let mut stream = Stream::after(known, 0);
    let mut passed = text.to_vec();
    let found = passed.chunks_mut(size).find_map(|chunk| stream.pass(chunk));
    match (whole.first_call(), found) {
        // A syntax error takes nothing.
        (Some(_), None) if truth.taken > 0 || truth.error.is_none() => {
            Some(format!("missed in chunks of {size}"))
        }
        // A name in quotes may be one in other modes; in these it makes a syntax error.
        (None, Some(StreamFound::Call)) if truth.error.is_none() => {
            Some(format!("no call, but one in chunks of {size}"))
        }
        _ => None,
    }
}

/// What the client of the proxy may see of it.
fn meets(case: &Case, truth: &Truth, through: &Truth) -> Option<String> {
    // In swe7 braces and brackets are letters. The proxy does not ask for that character set before
    // it answers {fn GET_LOCK(…)}: it takes the lock, where the server sees a syntax error.
    let letters = case.charset == "swe7" && case.text.iter().any(|b| b"[]{}^~".contains(b));
    if truth.taken == 0 && through.taken > 0 && !letters {
        return Some("took a lock only through the proxy".to_owned());
    }
    (truth.taken > 0 && truth.error.is_none() && through.taken == 0 && through.error.is_none())
        .then(|| "took no lock through the proxy, and no error".to_owned())
}

fn kind(statement: &Statement) -> &'static str {
    match statement {
        Statement::NoCall => "no call",
        Statement::Bare(_) => "a bare call",
        Statement::WrongCount => "a wrong count",
        Statement::InTable => "in a table's definition",
        Statement::Definition => "a definition",
        Statement::Composite(_) => "a composite",
        Statement::Several(_) => "several",
        Statement::Named(_) => "a named one",
        Statement::PerhapsLists => "one that may list locks",
        Statement::Executes => "one that executes",
        Statement::Other => "another",
        Statement::Ambiguous => "ambiguous",
    }
}
