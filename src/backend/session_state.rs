//! The state of a session, as the next server connection must have it.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::protocol::session_track::SessionChange;
use crate::types::Flavour;

/// Values that the next statement uses up, or that stand still once they are set.
const ONE_SHOT: [&[u8]; 4] = [b"timestamp", b"insert_id", b"rand_seed1", b"rand_seed2"];
/// Settings that change what is replicated, and need a privilege.
const REPLICATION: [&[u8]; 14] = [
    b"pseudo_thread_id",
    b"pseudo_slave_mode",
    b"pseudo_replica_mode",
    b"gtid_next",
    b"gtid_next_list",
    b"gtid_domain_id",
    b"gtid_seq_no",
    b"server_id",
    b"sql_log_bin",
    b"sql_log_off",
    b"skip_replication",
    b"original_commit_timestamp",
    b"immediate_server_version",
    b"original_server_version",
];
/// What the server reports by itself, and what restores nothing.
const NO_STATE: [&[u8]; 7] = [
    b"statement_id",
    b"last_insert_id",
    b"identity",
    b"last_gtid",
    b"in_transaction",
    b"error_count",
    b"warning_count",
];

/// What is set with a schema: to select one sets them to its own, without a report.
pub(crate) const OF_SCHEMA: [&[u8]; 2] = [b"character_set_database", b"collation_database"];

/// To set the first of these variables sets the second as well, which servers do not report.
pub(crate) const COUPLED: [(&[u8], &[u8]); 8] = [
    (b"character_set_database", b"collation_database"),
    (b"character_set_server", b"collation_server"),
    (b"max_join_size", b"sql_big_selects"),
    // MariaDB's: the first are parts of the second.
    (b"log_queries_not_using_indexes", b"log_slow_filter"),
    (b"log_slow_admin_statements", b"log_slow_disabled_statements"),
    (b"log_slow_slave_statements", b"log_slow_disabled_statements"),
    (b"old", b"old_mode"),
    (b"wsrep_causal_reads", b"wsrep_sync_wait"),
];

/// Two names of one variable. Servers report the one that a statement has said.
const ALIASES: [(&[u8], &[u8]); 9] = [
    (b"alter_algorithm", b"old_alter_table"),
    (b"log_slow_min_examined_row_limit", b"min_examined_row_limit"),
    (b"log_slow_query", b"slow_query_log"),
    (b"log_slow_query_time", b"long_query_time"),
    (b"max_delayed_threads", b"max_insert_delayed_threads"),
    (b"tmp_memory_table_size", b"tmp_table_size"),
    (b"transaction_isolation", b"tx_isolation"),
    (b"transaction_read_only", b"tx_read_only"),
    (b"default_storage_engine", b"storage_engine"),
];

/// The other name of a variable.
fn alias(name: &[u8]) -> Option<&'static [u8]> {
    ALIASES.iter().find_map(|(one, other)| match name {
        name if name == *one => Some(*other),
        name if name == *other => Some(*one),
        _ => None,
    })
}

/// How long a session may be idle. At a login it is that of `interactive_timeout` for some clients.
pub(crate) const WAIT_TIMEOUT: &[u8] = b"wait_timeout";

/// The variable that limits the time of statements. A hint has its name as well.
pub(crate) fn time_limit(flavour: Flavour) -> &'static [u8] {
    match flavour {
        Flavour::MySql => b"max_execution_time",
        Flavour::MariaDb => b"max_statement_time",
    }
}

/// What a change of a variable means, beside its new value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum VariableKind {
    /// The variable moves with its session.
    Carried,
    /// The variable is no state of the session.
    Nothing,
    /// The variable is used up, or does not advance.
    OneShot,
    /// The variable changes what is replicated.
    Replication,
    /// The variable changes profiles or traces.
    Profiling,
    /// The variable changes what the server reports.
    Tracking,
}

impl VariableKind {
    /// The kind of the variable with this name.
    pub(crate) fn of(name: &[u8]) -> Self {
        if NO_STATE.contains(&name) {
            Self::Nothing
        } else if ONE_SHOT.contains(&name) {
            Self::OneShot
        } else if REPLICATION.contains(&name) {
            Self::Replication
        } else if name.starts_with(b"profiling") || name.starts_with(b"optimizer_trace") {
            Self::Profiling
        } else if name.starts_with(b"session_track") {
            Self::Tracking
        } else {
            Self::Carried
        }
    }
}

/// What is known of a session's state. State that servers do not report is captured before it moves.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct SessionState {
    /// System variables that were set, with their values as text.
    variables: BTreeMap<Box<[u8]>, Box<[u8]>>,
    /// What SET NAMES is to say in place of the character sets and the collation.
    names: Option<Box<[u8]>>,
    /// `collation_connection`, which servers do not report.
    pub collation: Option<Box<[u8]>>,
    /// The default schema, in utf8mb4 unless it is in doubt.
    pub schema: Option<Box<[u8]>>,
    /// The server did not find it when the session came to its connection, which has none.
    pub schema_gone: bool,
    /// The active roles as SET ROLE takes them, in utf8mb4.
    pub role: Option<Box<[u8]>>,
    /// User variables as expressions, by name.
    pub user_variables: BTreeMap<Box<[u8]>, Box<[u8]>>,
    /// What LAST_INSERT_ID() says.
    pub last_insert_id: u64,
    /// Statements that give the next transaction its characteristics.
    pub characteristics: Box<[u8]>,
    /// One text may hold several statements.
    pub several: bool,
}

impl SessionState {
    /// Right after a login.
    pub(crate) fn at_login(schema: Option<Box<[u8]>>, several: bool) -> Self {
        Self { schema, several, ..Self::default() }
    }

    /// Whether the session's connection has its default schema.
    pub(crate) fn is_in_schema(&self) -> bool {
        self.schema.is_some() && !self.schema_gone
    }

    /// System variables, with their values as text.
    pub(crate) fn variables(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.variables.iter().map(|(name, value)| (&**name, &**value))
    }

    /// Whether the server may end a statement with this text after a time of its own.
    pub(crate) fn limits(&self, text: &[u8], flavour: Flavour) -> bool {
        let name = time_limit(flavour);
        let is_zero = |value: &[u8]| value.iter().all(|byte| matches!(byte, b'0' | b'.'));
        self.variable(name).is_some_and(|value| !is_zero(value))
            || text.windows(name.len()).any(|part| part.eq_ignore_ascii_case(name))
    }

    /// How long the client may say nothing, as far as that is known.
    pub(crate) fn wait_timeout(&self) -> Option<Duration> {
        let seconds = std::str::from_utf8(self.variables.get(WAIT_TIMEOUT)?).ok()?;
        Some(Duration::from_secs(seconds.parse().ok()?))
    }

    /// A system variable's value as text, if it is known.
    pub(crate) fn variable(&self, name: &[u8]) -> Option<&[u8]> {
        let value = self.variables.get(name).or_else(|| self.variables.get(alias(name)?));
        value.map(|value| &**value)
    }

    /// Whether the next transaction has characteristics of its own. The report of a transaction may stand when that is over, as
    /// after an error: what was set for it was used up by it.
    pub(crate) fn has_characteristics(&self) -> bool {
        memchr::memmem::find(&self.characteristics, b"START TRANSACTION").is_none()
            && !self.characteristics.is_empty()
    }

    /// What SET NAMES is to say, where one has said what is to be restored.
    pub(crate) fn names(&self) -> Option<&[u8]> {
        self.names.as_deref()
    }

    /// The character sets and the collation are those that one SET NAMES leaves, if they are alike.
    pub(crate) fn set_names(&mut self) {
        let [client, connection, results] = ["client", "connection", "results"]
            .map(|of| self.variables.get(format!("character_set_{of}").as_bytes()));
        self.names = match (client, &self.collation) {
            (Some(charset), Some(collation)) if connection == client && results == client => {
                Some([&**charset, b" COLLATE ", &**collation].concat().into())
            }
            _ => None,
        };
    }

    /// A system variable has this value now.
    pub(crate) fn set(&mut self, name: &[u8], value: &[u8]) {
        if is_of_names(name) {
            self.names = None;
        }
        // The collation changes with a character set as well, which servers do not report.
        if name == b"collation_connection" {
            self.collation = Some(value.into());
            return;
        }
        if let Some(other) = alias(name) {
            self.variables.remove(other);
        }
        self.variables.insert(name.into(), value.into());
    }

    /// Sets character sets and collation as SET NAMES does with this text of [`Self::names`].
    pub(crate) fn take_names(&mut self, names: &[u8]) {
        const COLLATE: &[u8] = b" COLLATE ";
        let Some(at) = memchr::memmem::find(names, COLLATE) else { return };
        let (charset, rest) = names.split_at(at);
        for of in ["client", "connection", "results"] {
            self.set(format!("character_set_{of}").as_bytes(), charset);
        }
        self.collation = Some(rest[COLLATE.len()..].into());
        self.set_names();
    }

    /// Takes in what the server has reported.
    pub(crate) fn apply(&mut self, change: &SessionChange) {
        match change {
            SessionChange::Variable { name, value } => {
                if VariableKind::of(name) == VariableKind::Carried {
                    self.set(name, value);
                }
            }
            SessionChange::Schema(name) => {
                self.schema = Some(name.clone()).filter(|name| !name.is_empty());
                self.schema_gone = false;
                // These variables are the schema's own then, without a report.
                for name in OF_SCHEMA {
                    self.variables.remove(name);
                }
            }
            SessionChange::Characteristics(text) => self.characteristics.clone_from(text),
            SessionChange::Something | SessionChange::Transaction(_) => {}
        }
    }

    /// The session has reset its connection: schema, roles and the right to several statements stay.
    pub(crate) fn reset(&mut self) {
        let Self { schema, schema_gone, role, several, .. } = std::mem::take(self);
        *self = Self { schema, schema_gone, role, several, ..Self::default() };
    }
}

/// Whether SET NAMES sets a variable.
pub(crate) fn is_of_names(name: &[u8]) -> bool {
    matches!(name, b"character_set_client" | b"character_set_connection" | b"character_set_results")
}

/// Whether a text says the same in every character set that a client may have. Bytes beyond ASCII differ in each, and
/// swe7 has letters of its own in place of some signs of ASCII.
pub(crate) fn is_plain(text: &[u8]) -> bool {
    text.iter().all(|byte| matches!(byte, b' '..=b'?' | b'A'..=b'Z' | b'_' | b'a'..=b'z'))
}

/// Quotes a name for the server, which reads it as utf8mb4 unless it is plain.
pub(crate) fn quoted(name: &[u8]) -> Vec<u8> {
    let mut out = vec![b'`'];
    for byte in name {
        out.extend(std::iter::repeat_n(*byte, 1 + usize::from(*byte == b'`')));
    }
    out.push(b'`');
    out
}

/// The text for SET ROLE of what CURRENT_ROLE() says, in utf8mb4.
pub(crate) fn role_text(current: Option<&[u8]>, flavour: Flavour) -> Box<[u8]> {
    match (current, flavour) {
        (None, _) => (*b"NONE").into(),
        // As it takes them: names in quotes, or NONE.
        (Some(roles), Flavour::MySql) => roles.into(),
        (Some(role), Flavour::MariaDb) => quoted(role).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variable(name: &[u8], value: &[u8]) -> SessionChange {
        SessionChange::Variable { name: name.into(), value: value.into() }
    }

    #[test]
    fn a_variable_of_two_names_is_one() {
        let mut state = SessionState::default();
        state.set(b"slow_query_log", b"ON");
        assert_eq!(state.variable(b"log_slow_query"), Some(&b"ON"[..]));
        state.set(b"log_slow_query", b"OFF");
        assert_eq!(state.variables().collect::<Vec<_>>(), [(&b"log_slow_query"[..], &b"OFF"[..])]);
    }

    #[test]
    fn reported_state_is_carried() {
        let mut state = SessionState::default();
        state.apply(&variable(b"sql_mode", b"ANSI"));
        state.apply(&variable(b"statement_id", b"77"));
        state.apply(&variable(b"timestamp", b"1"));
        state.apply(&SessionChange::Schema((*b"db").into()));
        assert_eq!(state.variables().collect::<Vec<_>>(), [(&b"sql_mode"[..], &b"ANSI"[..])]);
        assert_eq!(state.schema.as_deref(), Some(&b"db"[..]));
        state.role = Some((*b"NONE").into());
        state.reset();
        assert_eq!(state.variables().count(), 0);
        assert!(state.schema.is_some() && state.role.is_some(), "a reset leaves them");
        state.apply(&SessionChange::Schema((*b"").into()));
        assert_eq!(state.schema, None);
    }

    #[test]
    fn limits_are_in_the_session_or_in_the_text() {
        let mut state = SessionState::default();
        let limits = |state: &SessionState, text: &str| {
            [Flavour::MySql, Flavour::MariaDb].map(|flavour| state.limits(text.as_bytes(), flavour))
        };
        assert_eq!(limits(&state, "SELECT 1"), [false, false]);
        assert_eq!(limits(&state, "SELECT /*+ Max_Execution_Time(5) */ 1"), [true, false]);
        assert_eq!(limits(&state, "SET STATEMENT max_statement_time=1 FOR DO 1"), [false, true]);
        state.set(b"max_statement_time", b"0.000000");
        assert_eq!(limits(&state, "SELECT 1"), [false, false]);
        state.set(b"max_statement_time", b"0.400000");
        assert_eq!(limits(&state, "SELECT 1"), [false, true]);
    }

    #[test]
    fn roles_are_named_as_set_role_takes_them() {
        let text = |current: Option<&[u8]>, flavour| role_text(current, flavour).into_vec();
        assert_eq!(text(Some(b"`r`@`%`,`s`@`%`"), Flavour::MySql), b"`r`@`%`,`s`@`%`");
        assert_eq!(text(Some(b"a`b"), Flavour::MariaDb), b"`a``b`");
        assert_eq!(text(None, Flavour::MariaDb), b"NONE");
    }
}
