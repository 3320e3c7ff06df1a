//! What an administrator says.

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
    /// `RELEASE LOCK 'name' [TOKEN n]`
    Release(String, Option<u64>),
    /// `KILL id`
    Kill(u64),
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
            Self::Release(..)
                | Self::Kill(_)
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
    /// Settings that mean nothing here.
    Set,
    /// Variables and functions, as they were written.
    Select(Vec<String>),
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
        "RELEASE LOCK 'name' [TOKEN n]",
        "take a lock from its holder, whose session is closed, at whatever proxy",
    ),
    ("KILL id", "end a session of this proxy at the server; its locks are freed"),
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
    let words = words(text)?;
    let upper: Vec<String> = words.iter().map(Word::upper).collect();
    let upper: Vec<&str> = upper.iter().map(String::as_str).collect();
    Ok(match upper.as_slice() {
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
        ["RELEASE", "LOCK", _] => Command::Release(quoted_word(&words[2])?, None),
        ["RELEASE", "LOCK", _, "TOKEN", _] => {
            Command::Release(quoted_word(&words[2])?, Some(number(words.last())?))
        }
        ["KILL", _] | ["KILL", "CONNECTION", _] => Command::Kill(number(words.last())?),
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
        ["SELECT", ..] => Command::Own(Own::Select(asked(text))),
        _ => return Err("this is no command of Lockstead's; SHOW COMMANDS lists them".to_owned()),
    })
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

/// What stands between SELECT and a LIMIT.
fn asked(text: &str) -> Vec<String> {
    let text = text.trim().trim_end_matches(';');
    let text = text.get(6..).unwrap_or_default();
    let lower = text.to_ascii_lowercase();
    let end = lower.find(" limit ").unwrap_or(text.len());
    text[..end].split(',').map(|one| one.trim().to_owned()).collect()
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
        let release = |token| Ok(Command::Release("k".to_owned(), token));
        assert_eq!(parse("release lock 'k'"), release(None));
        assert_eq!(parse("RELEASE LOCK 'k' TOKEN 18446744073709551615;"), release(Some(u64::MAX)));
        assert_eq!(parse("kill connection 7"), Ok(Command::Kill(7)));
        let select = Own::Select(vec!["@@version_comment".to_owned()]);
        assert_eq!(parse("select @@version_comment limit 1"), Ok(Command::Own(select)));
        assert_eq!(parse("upgrade if needed"), Ok(Command::UpgradeIfNeeded));
        for wrong in [
            "",
            "UPGRADE IF",
            ";",
            "SHOW",
            "KILL x",
            "KILL -1",
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
