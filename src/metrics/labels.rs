//! Values of labels that are known in advance. Counters with them start at 0, so that the first event is seen as an
//! increase.

/// How a lock call ended: the label `outcome`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallOutcome {
    /// Answered 1, or a number.
    One,
    /// Answered 0.
    Zero,
    /// Answered NULL.
    Null,
    /// Left to the server, which gave an answer of its own: an error, for example.
    Native,
    /// Refused as not supported.
    Unsupported,
    /// Ended by the server: KILL QUERY, or a time limit.
    Ended,
    /// The store failed.
    Failed,
    /// The server ran it, and its response does not show the value: DO, or a call inside a larger statement.
    Untold,
}

impl CallOutcome {
    /// All of them.
    pub(super) const ALL: [Self; 8] = [
        Self::One,
        Self::Zero,
        Self::Null,
        Self::Native,
        Self::Unsupported,
        Self::Ended,
        Self::Failed,
        Self::Untold,
    ];

    pub(super) fn label(self) -> &'static str {
        match self {
            Self::One => "one",
            Self::Zero => "zero",
            Self::Null => "null",
            Self::Native => "native",
            Self::Unsupported => "unsupported",
            Self::Ended => "ended",
            Self::Failed => "failed",
            Self::Untold => "untold",
        }
    }
}

/// Limits, most of them of the configuration: the label `limit`.
pub(super) const LIMITS: &[&str] = &[
    "admin_connections",
    "admin_passwords",
    "max_connections",
    "max_login_rate",
    "max_session_locks",
    "max_session_memory",
    "max_waiters",
    "unpacking",
];

/// Why the proxy refuses or ends a session: the label `reason`.
pub(super) const CLOSED: &[&str] = &[
    "backend_tls",
    "bad_handshake",
    "broken",
    "drained",
    "fenced",
    "inactive",
    "killed",
    "left_before_login",
    "login_failed",
    "lost",
    "moved",
    "no_certificate",
    "no_connection_id",
    "no_proxy_header",
    "no_tls",
    "panicked",
    "refused_by_server",
    "response",
    "revoked",
    "server_unreachable",
    "too_many_connections",
    "writer",
];

/// Why a session keeps its connection to the server: the label `reason`.
pub(super) const PINNED: &[&str] = &[
    "table_locks",
    "global_lock",
    "backup_lock",
    "handler",
    "temp_table",
    "prepared",
    "long_data",
    "cursor",
    "sql_prepare",
    "diagnostics",
    "xa",
    "one_shot_value",
    "replication_var",
    "profiling",
    "sequence",
    "routine",
    "large_variable",
    "tracking",
    "found_rows",
    "resource_group",
    "long_statement",
    "init_connect",
    "replication",
    "auth",
];

/// Why a session ends with its shared connection: the label `reason`.
pub(super) const LOST: &[&str] =
    &["answering", "client", "in_doubt", "killed", "pinned", "unproved"];

/// What a session waits for at its server: the label `errand`.
pub(super) const ERRANDS: &[&str] = &[
    "change_user",
    "fence",
    "give_back",
    "hand_over",
    "login",
    "prepare",
    "question",
    "settle",
    "statement",
];

#[cfg(test)]
mod tests {
    use super::*;

    /// Words after `before` in the source of the login and of a session's end.
    fn reasons<'a>(text: &'a str, before: &'a str) -> impl Iterator<Item = &'a str> {
        text.split(before).skip(1).filter_map(|rest| rest.split('"').next())
    }

    #[test]
    fn every_reason_for_which_a_session_is_closed_is_known_beforehand() {
        let text = [
            include_str!("../frontend/link/close_reason.rs"),
            include_str!("../frontend/shared/leg_options.rs"),
            include_str!("../frontend/accept/listener.rs"),
            include_str!("../frontend/login/mod.rs"),
            include_str!("../frontend/login/relayed.rs"),
            include_str!("../frontend/login/known.rs"),
            include_str!("../frontend/login/lent.rs"),
        ]
        .concat();
        // Of an end of a session by itself, the side that has ended it is no reason that is counted.
        let sides = ["client", "server"];
        let before =
            ["turned_away(peer, \"", "TurnedAway::of(\"", "TurnedAway::silent(\"", " => \""];
        let mut used: Vec<&str> = before
            .map(|b| reasons(&text, b))
            .into_iter()
            .flatten()
            .filter(|reason| !sides.contains(reason))
            .collect();
        used.sort_unstable();
        used.dedup();
        assert_eq!(used, CLOSED);
    }

    #[test]
    fn every_reason_for_which_a_session_is_lost_is_known_beforehand() {
        let text = include_str!("../frontend/pooling/lost.rs");
        let labels = text.split("impl WhyEnds").nth(1).and_then(|rest| rest.split("\n}").next());
        let mut used: Vec<&str> = reasons(labels.expect("labels"), " => \"").collect();
        used.sort_unstable();
        assert_eq!(used, LOST);
    }

    #[test]
    fn every_errand_is_known_beforehand() {
        let text = include_str!("../frontend/link/errand.rs");
        let mut used: Vec<&str> = reasons(text, " => \"").collect();
        used.sort_unstable();
        assert_eq!(used, ERRANDS);
    }

    #[test]
    fn every_reason_for_which_a_session_is_pinned_is_known_beforehand() {
        let text = include_str!("../frontend/pooling/pins.rs");
        let list = text.split("PINS: [").nth(1).and_then(|rest| rest.split("];").next());
        let used: Vec<&str> = reasons(list.expect("a list"), ", \"").collect();
        assert_eq!(used, PINNED);
    }
}
