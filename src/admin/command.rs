//! What an administrator says.

use super::client_queries;

/// A command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Command {
    /// `SHOW LOCKS [LIKE 'pattern']`
    Locks(Option<String>),
    /// `SHOW WAITERS`
    Waiters,
    /// `SHOW SESSIONS`
    Sessions,
    /// `SHOW PROXIES`
    Proxies,
    /// `SHOW DEADLOCKS`
    Deadlocks,
    /// `SHOW DIGESTS`
    Digests,
    /// `SHOW LEASE`
    Lease,
    /// `SHOW BACKENDS`
    Backends,
    /// `SHOW CONFIG`
    Config,
    /// `SHOW METRICS`
    Metrics,
    /// `RELEASE LOCK 'name' [TOKEN n] [CLUSTER 'name']`
    Release {
        /// As the lock is shown.
        name: String,
        /// Only the grant of this token.
        token: Option<u64>,
        /// Only in this cluster.
        cluster: Option<String>,
    },
    /// `KILL id [CLUSTER 'name']`
    Kill {
        /// The session's connection.
        id: u64,
        /// Only in this cluster.
        cluster: Option<String>,
    },
    /// `DRAIN`
    Drain,
    /// `RESUME`
    Resume,
    /// `RELOAD`
    Reload,
    /// `UPGRADE`
    Upgrade,
    /// `UPGRADE IF NEEDED`
    UpgradeIfNeeded,
    /// `SHOW COMMANDS`, `HELP`
    Help,
    /// What clients ask for themselves, in words of theirs.
    Own(Own),
}

impl Command {
    /// Whether it changes something, and so is written into the audit log.
    pub(super) fn acts(&self) -> bool {
        matches!(
            self,
            Self::Release { .. }
                | Self::Kill { .. }
                | Self::Drain
                | Self::Resume
                | Self::Reload
                | Self::Upgrade
                | Self::UpgradeIfNeeded
        )
    }
}

/// What clients ask when they connect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Own {
    /// Settings and comments, which mean nothing here.
    Set,
    /// Nothing.
    Empty,
    /// Variables and functions, as they were written, and the names of their columns.
    Select(Vec<(String, String)>),
    /// `SHOW WARNINGS`; errors are told where they are made.
    Warnings,
    /// `SHOW ERRORS`
    Errors,
}

/// The commands, and what they are for.
pub(super) const HELP: [(&str, &str); 18] = [
    ("SHOW LOCKS [LIKE 'pattern']", "locks that are held, by whatever proxy"),
    ("SHOW WAITERS", "sessions of this proxy that wait for a lock"),
    ("SHOW SESSIONS", "sessions of this proxy"),
    ("SHOW PROXIES", "all proxies that share the lock tables"),
    ("SHOW DEADLOCKS", "the last deadlocks that this proxy has ended, with their circles"),
    (
        "SHOW DIGESTS",
        "statements with lock calls by shape, if `digests` is set: calls, answers, times",
    ),
    ("SHOW LEASE", "whether this proxy may grant locks, and for how long its own are certain"),
    ("SHOW BACKENDS", "servers and lock tables"),
    ("SHOW CONFIG", "the settings in force"),
    ("SHOW METRICS", "what Prometheus is told"),
    (
        "RELEASE LOCK 'name' [TOKEN n] [CLUSTER 'name']",
        "take a lock from its holder, whose session is closed, at whatever proxy",
    ),
    ("KILL id [CLUSTER 'name']", "end a session of this proxy at the server; its locks are freed"),
    ("DRAIN", "/readyz says no, so that load balancers send no more clients; who is here stays"),
    ("RESUME", "the end of DRAIN"),
    ("RELOAD", "read the configuration and the certificates again"),
    (
        "UPGRADE",
        "start the program anew in this one's place; sessions that are here stay until they end",
    ),
    (
        "UPGRADE IF NEEDED",
        "RELOAD, and UPGRADE if a setting that has changed, or a newer program, needs it",
    ),
    ("SHOW COMMANDS", "this list, and so does HELP where the client lets it through"),
];

/// Reads a command; an error in words.
pub(super) fn parse(text: &str) -> Result<Command, String> {
    let whole = text;
    let text = &client_queries::without_comments(text);
    let mut words = words(text)?;
    let cluster = cluster(&mut words)?;
    let upper: Vec<String> = words.iter().map(Word::upper).collect();
    let upper: Vec<&str> = upper.iter().map(String::as_str).collect();
    Ok(match upper.as_slice() {
        // Some clients send a line that is a comment by itself.
        [] if text != whole => Command::Own(Own::Set),
        [] => Command::Own(Own::Empty),
        ["SHOW", "LOCKS"] => Command::Locks(None),
        ["SHOW", "LOCKS", "LIKE", _] => Command::Locks(Some(quoted_word(&words[3])?)),
        ["SHOW", "WAITERS"] => Command::Waiters,
        ["SHOW", "SESSIONS" | "PROCESSLIST"] => Command::Sessions,
        ["SHOW", "PROXIES"] => Command::Proxies,
        ["SHOW", "DEADLOCKS"] => Command::Deadlocks,
        ["SHOW", "DIGESTS"] => Command::Digests,
        ["SHOW", "LEASE"] => Command::Lease,
        ["SHOW", "BACKENDS"] => Command::Backends,
        ["SHOW", "CONFIG" | "VARIABLES"] => Command::Config,
        ["SHOW", "METRICS"] => Command::Metrics,
        ["RELEASE", "LOCK", _] => {
            Command::Release { name: quoted_word(&words[2])?, token: None, cluster }
        }
        ["RELEASE", "LOCK", _, "TOKEN", _] => {
            let token = Some(number(words.last())?);
            Command::Release { name: quoted_word(&words[2])?, token, cluster }
        }
        ["KILL", _] | ["KILL", "CONNECTION", _] => {
            Command::Kill { id: number(words.last())?, cluster }
        }
        ["DRAIN"] => Command::Drain,
        ["RESUME"] => Command::Resume,
        ["RELOAD"] => Command::Reload,
        ["UPGRADE"] => Command::Upgrade,
        ["UPGRADE", "IF", "NEEDED"] => Command::UpgradeIfNeeded,
        // The command line clients have a HELP of their own.
        ["HELP"] | ["SHOW", "COMMANDS"] => Command::Help,
        ["SET", ..] | ["COMMIT" | "ROLLBACK" | "BEGIN"] | ["START", "TRANSACTION"] => {
            Command::Own(Own::Set)
        }
        ["SELECT", ..] => Command::Own(Own::Select(client_queries::asked(text))),
        ["SHOW", "WARNINGS"] | ["SHOW", "WARNINGS", "LIMIT", _] => Command::Own(Own::Warnings),
        ["SHOW", "ERRORS"] | ["SHOW", "ERRORS", "LIMIT", _] => Command::Own(Own::Errors),
        _ => return Err("this is no command of Lockstead's; SHOW COMMANDS lists them".to_owned()),
    })
}

/// Takes a CLUSTER 'name' off the end of an order that may have one.
fn cluster(words: &mut Vec<Word>) -> Result<Option<String>, String> {
    let orders = ["RELEASE", "KILL"];
    let has = match words.as_slice() {
        [first, .., word, _] => {
            orders.contains(&first.upper().as_str()) && word.upper() == "CLUSTER"
        }
        _ => false,
    };
    let name = words.pop_if(|_| has).as_ref().map(quoted_word).transpose()?;
    words.pop_if(|_| has);
    Ok(name)
}

fn quoted_word(word: &Word) -> Result<String, String> {
    match word {
        Word::Quoted(text) => Ok(text.clone()),
        Word::Bare(word) => Err(format!("{word} needs quotes")),
    }
}

fn number(word: Option<&Word>) -> Result<u64, String> {
    match word {
        Some(Word::Bare(word)) => {
            word.parse().map_err(|_| format!("{word} is no number from 0 to 2^64-1"))
        }
        _ => Err("a number stands without quotes".to_owned()),
    }
}

#[derive(Debug)]
enum Word {
    Bare(String),
    Quoted(String),
}

impl Word {
    /// What a keyword is compared with: quoted text is none.
    fn upper(&self) -> String {
        match self {
            Self::Bare(word) => word.to_ascii_uppercase(),
            Self::Quoted(_) => String::new(),
        }
    }
}

fn words(text: &str) -> Result<Vec<Word>, String> {
    let mut words = Vec::new();
    let mut rest = text.trim().trim_end_matches(';').trim_end();
    while let Some(first) = rest.chars().next() {
        if first.is_whitespace() {
            rest = rest.trim_start();
        } else if first == '\'' || first == '"' {
            let (word, behind) = quoted(&rest[1..], first)?;
            words.push(Word::Quoted(word));
            rest = behind;
        } else {
            let end = rest.find(|c: char| c.is_whitespace() || c == '\'' || c == '"');
            let (word, behind) = rest.split_at(end.unwrap_or(rest.len()));
            words.push(Word::Bare(word.to_owned()));
            rest = behind;
        }
    }
    Ok(words)
}

/// Text up to the quote that ends it, with the escapes of SQL's text.
///
/// <https://dev.mysql.com/doc/refman/8.4/en/string-literals.html>
fn quoted(text: &str, quote: char) -> Result<(String, &str), String> {
    let mut word = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        if c == '\\' {
            match chars.next().map(|(_, c)| c) {
                // What it means is for the pattern to say.
                Some(c @ ('%' | '_')) => word.extend(['\\', c]),
                Some('0') => word.push('\0'),
                Some('b') => word.push('\x08'),
                Some('n') => word.push('\n'),
                Some('r') => word.push('\r'),
                Some('t') => word.push('\t'),
                Some('Z') => word.push('\x1a'),
                Some(c) => word.push(c),
                None => break,
            }
        } else if c != quote {
            word.push(c);
        } else if text[at + 1..].starts_with(quote) {
            word.push(quote);
            chars.next();
        } else {
            return Ok((word, &text[at + 1..]));
        }
    }
    Err("a quote is not closed".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_read_in_any_case_and_with_any_quotes() {
        assert_eq!(parse("show  locks ;"), Ok(Command::Locks(None)));
        let like = |pattern: &str| Ok(Command::Locks(Some(pattern.to_owned())));
        assert_eq!(parse("SHOW LOCKS LIKE 'a''b%'"), like("a'b%"));
        assert_eq!(parse("SHOW LOCKS LIKE \"é'\\_;\";"), like("é'\\_;"));
        assert_eq!(parse(r"SHOW LOCKS LIKE 'a\'b\\\%\n'"), like("a'b\\\\%\n"));
        let release = |token, cluster: Option<&str>| {
            let cluster = cluster.map(str::to_owned);
            Ok(Command::Release { name: "k".to_owned(), token, cluster })
        };
        assert_eq!(parse("release lock 'k'"), release(None, None));
        let most = "RELEASE LOCK 'k' TOKEN 18446744073709551615";
        assert_eq!(parse(&format!("{most};")), release(Some(u64::MAX), None));
        assert_eq!(parse(&format!("{most} cluster 'b'")), release(Some(u64::MAX), Some("b")));
        assert_eq!(parse("RELEASE LOCK 'k' CLUSTER 'b'"), release(None, Some("b")));
        assert_eq!(parse("kill connection 7"), Ok(Command::Kill { id: 7, cluster: None }));
        let there = Ok(Command::Kill { id: 7, cluster: Some("b".to_owned()) });
        assert_eq!(parse("KILL 7 CLUSTER 'b'"), there);
        for text in ["/* c */ SHOW LEASE", "-- x\nSHOW LEASE", "# 'x\nSHOW/* */LEASE -- y"] {
            assert_eq!(parse(text), Ok(Command::Lease), "{text}");
        }
        assert_eq!(parse("SHOW LOCKS LIKE '/* -- # */'"), like("/* -- # */"));
        assert_eq!(parse(" ;"), Ok(Command::Own(Own::Empty)));
        assert_eq!(parse("-- c"), Ok(Command::Own(Own::Set)));
        assert_eq!(parse("upgrade if needed"), Ok(Command::UpgradeIfNeeded));
        for wrong in [
            "UPGRADE IF",
            "SHOW",
            "KILL x",
            "KILL -1",
            "KILL 1 CLUSTER b",
            "KILL CLUSTER 'b'",
            "SHOW LEASE CLUSTER 'b'",
            "/* SHOW LEASE",
            "RELEASE LOCK k",
            "RELEASE LOCK 'k' TOKEN x",
            "SHOW LOCKS LIKE x",
            "'SHOW' LOCKS",
            "x '",
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
