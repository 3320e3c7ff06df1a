//! From the text of a script to its steps.

use std::collections::BTreeMap;

use super::Flavour;
use super::action::{Action, Options, Pace, Step};
use crate::wire::capability;

/// Below this a reply came at once: a wait of the scripts is at least 400 ms.
const AT_ONCE_MS: u64 = 350;
/// Below this a reply came at once, in a script that times no wait: a wrong one is at least a second.
const AT_ONCE_OR_SECONDS_MS: u64 = 900;

/// A parsed script, as it holds for one flavour.
#[derive(Debug, Clone, Default)]
pub(crate) struct Script {
    pub(crate) steps: Vec<Step>,
    pub(crate) sessions: BTreeMap<String, Options>,
    /// Further runs: the words of the line and what they add to each session.
    pub(crate) matrix: Vec<(String, Options)>,
    /// Statements that root runs at the server before the script.
    pub(crate) setup: Vec<String>,
    /// Server variables and the least value that they must have.
    pub(crate) globals: Vec<(String, u64)>,
}

impl Script {
    /// Parses `text`; a line that makes no sense panics with its number.
    pub(crate) fn parse(name: &str, text: &str, flavour: Flavour) -> Script {
        let mut script = Script::default();
        for (index, raw) in text.lines().enumerate() {
            let line = index + 1;
            let here = || format!("{name}:{line}: {raw}");
            let Some(text) = for_flavour(raw.trim(), flavour) else {
                continue;
            };
            if text.is_empty() || text.starts_with('#') {
                continue;
            }
            if let Some(expected) = text.strip_prefix('=') {
                let step = script.steps.last_mut().unwrap_or_else(|| panic!("{}", here()));
                step.expect = Some(expected.trim().to_owned());
            } else if let Some(instead) = text.strip_prefix('~') {
                let step = script.steps.last_mut().unwrap_or_else(|| panic!("{}", here()));
                step.instead = Some(instead.trim().to_owned());
            } else if let Some(directive) = text.strip_prefix('@') {
                script.directive(directive, &here);
            } else {
                let (times, text) = repeated(text);
                for nth in 0..times {
                    let mut step = parse_step(&text.replace("$#", &nth.to_string()), &here);
                    step.line = line;
                    script.steps.push(step);
                }
            }
        }
        assert!(!script.steps.is_empty(), "{name} has no steps for {flavour:?}");
        if script.steps.iter().all(|step| step.expected_ms.unwrap_or(0) == 0) {
            script.steps.iter_mut().for_each(|step| step.at_once_ms = AT_ONCE_OR_SECONDS_MS);
        }
        script
    }

    fn directive(&mut self, text: &str, here: &dyn Fn() -> String) {
        let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
        match word {
            "session" => {
                let (name, options) = rest.split_once(' ').unwrap_or((rest, ""));
                self.sessions.insert(name.to_owned(), parse_options(options, here));
            }
            "matrix" => self.matrix.push((rest.to_owned(), parse_options(rest, here))),
            "setup" => self.setup.push(rest.to_owned()),
            "global" => {
                let (name, value) = rest.split_once('=').unwrap_or_else(|| panic!("{}", here()));
                let least = value.trim().parse().unwrap_or_else(|_| panic!("{}", here()));
                self.globals.push((name.trim().to_owned(), least));
            }
            // Of the script as a whole, read before it is run.
            "only" | "also" | "not" | "end" | "own" | "first" | "ignored" | "client" => {}
            _ => panic!("unknown directive in {}", here()),
        }
    }
}

/// `a*300: …` as 300 and `a: …`; any other line as 1 and itself.
fn repeated(text: &str) -> (usize, String) {
    let end = text.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(text.len());
    let (session, rest) = text.split_at(end);
    let Some(rest) = rest.strip_prefix('*') else {
        return (1, text.to_owned());
    };
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    (rest[..end].parse().unwrap_or(1), format!("{session}{}", &rest[end..]))
}

/// The line without its flavour mark, or `None` where it holds for the other flavour.
fn for_flavour(text: &str, flavour: Flavour) -> Option<&str> {
    for (mark, of) in [("[mysql]", Flavour::MySql), ("[mariadb]", Flavour::MariaDb)] {
        if let Some(rest) = text.strip_prefix(mark) {
            return (of == flavour).then(|| rest.trim());
        }
    }
    Some(text)
}

fn parse_options(text: &str, here: &dyn Fn() -> String) -> Options {
    let mut options = Options::default();
    for word in text.split_whitespace() {
        let (key, value) = word.split_once('=').unwrap_or_else(|| panic!("{}", here()));
        match key {
            "user" => options.user = Some(value.to_owned()),
            "password" => options.password = Some(value.to_owned()),
            "db" => options.database = Some(value.to_owned()),
            "charset" => {
                let id = collation(value);
                options.collation = Some(id.unwrap_or_else(|| panic!("charset in {}", here())));
            }
            "caps" => {
                for name in value.split(',') {
                    let (sign, bare) = name.split_at(1);
                    let bit = capability::by_name(bare);
                    let bit = bit.unwrap_or_else(|| panic!("capability {bare} in {}", here()));
                    match sign {
                        "+" => options.add |= bit,
                        "-" => options.remove |= bit,
                        _ => panic!("no sign before {bare} in {}", here()),
                    }
                }
            }
            "attributes" if value == "none" => options.no_attributes = true,
            _ => panic!("unknown option {key} in {}", here()),
        }
    }
    options
}

fn collation(charset: &str) -> Option<u16> {
    Some(match charset {
        "big5" => 1,
        "koi8r" => 7,
        "latin1" => 8,
        "ascii" => 11,
        "sjis" => 13,
        "gbk" => 28,
        "utf8mb3" => 33,
        "utf8mb4" => 45,
        "binary" => 63,
        "cp932" => 95,
        "gb18030" => 248,
        "utf8mb4_0900" => 255,
        _ => return None,
    })
}

fn parse_step(text: &str, here: &dyn Fn() -> String) -> Step {
    let name_end = text.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(text.len());
    let (session, mut rest) = text.split_at(name_end);
    let mut step = Step {
        line: 0,
        text: text.to_owned(),
        session: session.to_owned(),
        pace: Pace::Now,
        expected_ms: None,
        at_once_ms: AT_ONCE_MS,
        action: Action::Ping,
        instead: None,
        expect: None,
    };
    if let Some(after) = rest.strip_prefix('~') {
        let end = after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len());
        step.expected_ms = after[..end].parse().ok();
        rest = &after[end..];
    }
    if let Some(after) = rest.strip_prefix("!!") {
        step.pace = Pace::Later;
        rest = after;
    } else if let Some(after) = rest.strip_prefix('!') {
        step.pace = Pace::WhenBlocked;
        rest = after;
    }
    step.action = match rest.strip_prefix('?') {
        Some(_) => Action::Collect,
        None => parse_action(rest, here),
    };
    step
}

fn parse_action(rest: &str, here: &dyn Fn() -> String) -> Action {
    if let Some(sql) = rest.strip_prefix(':') {
        return Action::Query { attributes: Vec::new(), sql: unspaced(sql) };
    }
    let rest = rest.trim_start();
    let (verb, args) = rest.split_once(' ').unwrap_or((rest, ""));
    let with_sql = || {
        let (head, sql) = args.split_once(':').unwrap_or_else(|| panic!("{}", here()));
        (head.trim(), unspaced(sql))
    };
    let first_word = || args.split_once(' ').unwrap_or((args, ""));
    match verb {
        "connect" => Action::Connect,
        "qattr" => {
            let (head, sql) = with_sql();
            let attributes = words(head)
                .iter()
                .map(|word| word.split_once('=').unwrap_or_else(|| panic!("{}", here())))
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .collect();
            Action::Query { attributes, sql }
        }
        "prepare" => {
            let (handle, sql) = with_sql();
            Action::Prepare { handle: handle.to_owned(), sql }
        }
        "execute" => {
            let (handle, params) = first_word();
            Action::Execute { handle: handle.to_owned(), words: words(params) }
        }
        "fetch" => {
            let (handle, rows) = first_word();
            let rows = rows.parse().unwrap_or_else(|_| panic!("{}", here()));
            Action::Fetch { handle: handle.to_owned(), rows }
        }
        "closestmt" => Action::CloseStatement { handle: args.to_owned() },
        "resetstmt" => Action::ResetStatement { handle: args.to_owned() },
        "longdata" => {
            let mut parts = args.splitn(3, ' ');
            let handle = parts.next().unwrap_or_default().to_owned();
            let param = parts.next().and_then(|p| p.parse().ok());
            let param = param.unwrap_or_else(|| panic!("{}", here()));
            Action::LongData { handle, param, text: parts.next().unwrap_or_default().to_owned() }
        }
        "initdb" => Action::InitDb(args.to_owned()),
        "ping" => Action::Ping,
        "statistics" => Action::Statistics,
        "fieldlist" => {
            let (table, wildcard) = first_word();
            Action::FieldList { table: table.to_owned(), wildcard: wildcard.to_owned() }
        }
        "setoption" => Action::SetOption(args.parse().unwrap_or_else(|_| panic!("{}", here()))),
        "raw" => Action::Raw(args.to_owned()),
        "reset" => Action::Reset,
        "changeuser" => Action::ChangeUser(parse_options(args, here)),
        "infile" => Action::Infile(args.to_owned()),
        "gone" => Action::Gone,
        "quit" => Action::Quit,
        "close" => Action::Close,
        "rst" => Action::Rst,
        _ => panic!("unknown verb '{verb}' in {}", here()),
    }
}

/// The text after a colon, less the one space that sets it off.
fn unspaced(sql: &str) -> String {
    sql.strip_prefix(' ').unwrap_or(sql).to_owned()
}

/// Words at white space, where `'…'` keeps a word together.
fn words(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut word = String::new();
    let mut quoted = false;
    for ch in text.chars() {
        quoted ^= ch == '\'';
        if ch.is_whitespace() && !quoted {
            if !word.is_empty() {
                out.push(std::mem::take(&mut word));
            }
        } else {
            word.push(ch);
        }
    }
    if !word.is_empty() {
        out.push(word);
    }
    out
}
