//! The commands of administrators, and reading them.

use std::time::Duration;

use super::command_text::{Word, number, quoted_word, select_list, without_comments, words};
use crate::config::Config;

/// A command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum AdminCommand {
    /// `SHOW LOCKS [LIKE 'pattern']`
    Locks(Option<String>),
    /// `SHOW HISTORY [LIKE 'pattern']`
    History(Option<String>),
    /// `SHOW WAITERS`
    Waiters,
    /// `SHOW SESSIONS`
    Sessions,
    /// `SHOW POOL`
    Pool,
    /// `SHOW PROXIES`
    Proxies,
    /// `SHOW DEADLOCKS`
    Deadlocks,
    /// `SHOW LEASE`
    Lease,
    /// `SHOW BACKENDS`
    Backends,
    /// `SHOW SWITCHOVER`
    Switchover,
    /// `SWITCHOVER PREPARE ['time'] [CLUSTER 'name']`
    PrepareSwitchover {
        /// For how long statements wait, if not as the settings say.
        hold: Option<Duration>,
        /// Only in this cluster.
        cluster: Option<String>,
    },
    /// `SWITCHOVER CANCEL [CLUSTER 'name']`
    CancelSwitchover {
        /// Only in this cluster.
        cluster: Option<String>,
    },
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
    /// A query that a client sends by itself.
    Client(ClientQuery),
}

impl AdminCommand {
    /// Whether it changes something, and so is written into the audit log.
    pub(super) fn acts(&self) -> bool {
        matches!(
            self,
            Self::Release { .. }
                | Self::Kill { .. }
                | Self::PrepareSwitchover { .. }
                | Self::CancelSwitchover { .. }
                | Self::Drain
                | Self::Resume
                | Self::Reload
                | Self::Upgrade
                | Self::UpgradeIfNeeded
        )
    }
}

/// Queries that clients send by themselves when they connect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ClientQuery {
    /// Settings and comments, which mean nothing here.
    Set,
    /// Nothing.
    Empty,
    /// Variables and functions, as they were written, and the names of their columns.
    Select(Vec<(String, String)>),
    /// `SHOW WARNINGS`; errors are returned at once.
    Warnings,
    /// `SHOW ERRORS`
    Errors,
}

/// The commands, and what they are for.
pub(super) const HELP: [(&str, &str); 22] = [
    ("SHOW LOCKS [LIKE 'pattern']", "held locks of all proxies"),
    ("SHOW HISTORY [LIKE 'pattern']", "the last locks that sessions of this proxy have had"),
    ("SHOW WAITERS", "sessions of this proxy that wait for a lock"),
    ("SHOW SESSIONS", "sessions of this proxy"),
    ("SHOW POOL", "connections that sessions of this proxy share, by account"),
    ("SHOW PROXIES", "all proxies that share the lock tables"),
    ("SHOW DEADLOCKS", "the last deadlocks that this proxy has ended, with their circles"),
    ("SHOW LEASE", "whether this proxy may grant locks, and how long its own remain certain"),
    ("SHOW BACKENDS", "servers, which of them is the writer, and lock tables"),
    ("SHOW SWITCHOVER", "whether statements wait for a planned switch, and what is still open"),
    ("SHOW CONFIG", "the settings in force"),
    ("SHOW METRICS", "all metrics, as Prometheus reads them"),
    (
        "RELEASE LOCK 'name' [TOKEN n] [CLUSTER 'name']",
        "take a lock from its holder at any proxy; the holder's session is closed",
    ),
    (
        "KILL id [CLUSTER 'name']",
        "end a session of this proxy at the server; its locks are freed. What it ran may have taken effect, or not",
    ),
    (
        "SWITCHOVER PREPARE ['time'] [CLUSTER 'name']",
        "before a planned switch: let new statements wait, and say when no transaction is open",
    ),
    ("SWITCHOVER CANCEL [CLUSTER 'name']", "let them go on"),
    ("DRAIN", "make /readyz fail, so that load balancers send no new clients; sessions stay"),
    ("RESUME", "the end of DRAIN"),
    ("RELOAD", "read the configuration and the certificates again"),
    ("UPGRADE", "start a new process in place of this one; existing sessions stay until they end"),
    (
        "UPGRADE IF NEEDED",
        "RELOAD, and UPGRADE if a setting that has changed, or a newer program, needs it",
    ),
    ("SHOW COMMANDS", "this list; so does HELP, if the client sends it"),
];

/// Reads a command; an error in words.
pub(super) fn parse(text: &str) -> Result<AdminCommand, String> {
    let whole = text;
    let text = &without_comments(text);
    let mut words = words(text)?;
    let cluster = cluster(&mut words)?;
    let upper: Vec<String> = words.iter().map(Word::upper).collect();
    let upper: Vec<&str> = upper.iter().map(String::as_str).collect();
    Ok(match upper.as_slice() {
        // Some clients send a line that is a comment by itself.
        [] if text != whole => AdminCommand::Client(ClientQuery::Set),
        [] => AdminCommand::Client(ClientQuery::Empty),
        ["SHOW", "LOCKS"] => AdminCommand::Locks(None),
        ["SHOW", "LOCKS", "LIKE", _] => AdminCommand::Locks(Some(quoted_word(&words[3])?)),
        ["SHOW", "HISTORY"] => AdminCommand::History(None),
        ["SHOW", "HISTORY", "LIKE", _] => AdminCommand::History(Some(quoted_word(&words[3])?)),
        ["SHOW", "WAITERS"] => AdminCommand::Waiters,
        ["SHOW", "SESSIONS" | "PROCESSLIST"] => AdminCommand::Sessions,
        ["SHOW", "PROXIES"] => AdminCommand::Proxies,
        ["SHOW", "DEADLOCKS"] => AdminCommand::Deadlocks,
        ["SHOW", "POOL"] => AdminCommand::Pool,
        ["SHOW", "LEASE"] => AdminCommand::Lease,
        ["SHOW", "BACKENDS"] => AdminCommand::Backends,
        ["SHOW", "SWITCHOVER"] => AdminCommand::Switchover,
        ["SWITCHOVER", "PREPARE"] => AdminCommand::PrepareSwitchover { hold: None, cluster },
        ["SWITCHOVER", "PREPARE", _] => {
            let hold = Some(Config::hold(&quoted_word(&words[2])?)?);
            AdminCommand::PrepareSwitchover { hold, cluster }
        }
        ["SWITCHOVER", "CANCEL"] => AdminCommand::CancelSwitchover { cluster },
        ["SHOW", "CONFIG" | "VARIABLES"] => AdminCommand::Config,
        ["SHOW", "METRICS"] => AdminCommand::Metrics,
        ["RELEASE", "LOCK", _] => {
            AdminCommand::Release { name: quoted_word(&words[2])?, token: None, cluster }
        }
        ["RELEASE", "LOCK", _, "TOKEN", _] => {
            let token = Some(number(words.last())?);
            AdminCommand::Release { name: quoted_word(&words[2])?, token, cluster }
        }
        ["KILL", _] | ["KILL", "CONNECTION", _] => {
            AdminCommand::Kill { id: number(words.last())?, cluster }
        }
        ["DRAIN"] => AdminCommand::Drain,
        ["RESUME"] => AdminCommand::Resume,
        ["RELOAD"] => AdminCommand::Reload,
        ["UPGRADE"] => AdminCommand::Upgrade,
        ["UPGRADE", "IF", "NEEDED"] => AdminCommand::UpgradeIfNeeded,
        // The command line clients have a HELP of their own.
        ["HELP"] | ["SHOW", "COMMANDS"] => AdminCommand::Help,
        ["SET", ..] | ["COMMIT" | "ROLLBACK" | "BEGIN"] | ["START", "TRANSACTION"] => {
            AdminCommand::Client(ClientQuery::Set)
        }
        ["SELECT", ..] => AdminCommand::Client(ClientQuery::Select(select_list(text))),
        ["SHOW", "WARNINGS"] | ["SHOW", "WARNINGS", "LIMIT", _] => {
            AdminCommand::Client(ClientQuery::Warnings)
        }
        ["SHOW", "ERRORS"] | ["SHOW", "ERRORS", "LIMIT", _] => {
            AdminCommand::Client(ClientQuery::Errors)
        }
        _ => return Err("this is not a command of Lockstead; SHOW COMMANDS lists them".to_owned()),
    })
}

/// Takes a CLUSTER 'name' off the end of an order that may have one.
fn cluster(words: &mut Vec<Word>) -> Result<Option<String>, String> {
    let orders = ["RELEASE", "KILL", "SWITCHOVER"];
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_read_in_any_case_and_with_any_quotes() {
        assert_eq!(parse("show  locks ;"), Ok(AdminCommand::Locks(None)));
        let like = |pattern: &str| Ok(AdminCommand::Locks(Some(pattern.to_owned())));
        assert_eq!(parse("SHOW LOCKS LIKE 'a''b%'"), like("a'b%"));
        assert_eq!(parse("SHOW LOCKS LIKE \"é'\\_;\";"), like("é'\\_;"));
        assert_eq!(parse(r"SHOW LOCKS LIKE 'a\'b\\\%\n'"), like("a'b\\\\%\n"));
        assert_eq!(parse("show history"), Ok(AdminCommand::History(None)));
        let history = Ok(AdminCommand::History(Some("a%".to_owned())));
        assert_eq!(parse("SHOW HISTORY LIKE 'a%';"), history);
        let release = |token, cluster: Option<&str>| {
            let cluster = cluster.map(str::to_owned);
            Ok(AdminCommand::Release { name: "k".to_owned(), token, cluster })
        };
        assert_eq!(parse("release lock 'k'"), release(None, None));
        let most = "RELEASE LOCK 'k' TOKEN 18446744073709551615";
        assert_eq!(parse(&format!("{most};")), release(Some(u64::MAX), None));
        assert_eq!(parse(&format!("{most} cluster 'b'")), release(Some(u64::MAX), Some("b")));
        assert_eq!(parse("RELEASE LOCK 'k' CLUSTER 'b'"), release(None, Some("b")));
        assert_eq!(parse("kill connection 7"), Ok(AdminCommand::Kill { id: 7, cluster: None }));
        let there = Ok(AdminCommand::Kill { id: 7, cluster: Some("b".to_owned()) });
        assert_eq!(parse("KILL 7 CLUSTER 'b'"), there);
        for text in ["/* c */ SHOW LEASE", "-- x\nSHOW LEASE", "# 'x\nSHOW/* */LEASE -- y"] {
            assert_eq!(parse(text), Ok(AdminCommand::Lease), "{text}");
        }
        assert_eq!(parse("SHOW LOCKS LIKE '/* -- # */'"), like("/* -- # */"));
        assert_eq!(parse(" ;"), Ok(AdminCommand::Client(ClientQuery::Empty)));
        assert_eq!(parse("-- c"), Ok(AdminCommand::Client(ClientQuery::Set)));
        assert_eq!(parse("upgrade if needed"), Ok(AdminCommand::UpgradeIfNeeded));
        let hold = Some(Duration::from_secs(20));
        assert_eq!(
            parse("switchover prepare '20s' cluster 'b'"),
            Ok(AdminCommand::PrepareSwitchover { hold, cluster: Some("b".to_owned()) })
        );
        let any = Ok(AdminCommand::CancelSwitchover { cluster: None });
        assert_eq!(parse("SWITCHOVER CANCEL;"), any);
        for wrong in [
            "SWITCHOVER PREPARE '2m'",
            "SWITCHOVER PREPARE 20s",
            "SWITCHOVER",
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
