//! What is said of a text: marks, the user variables that it names, and system variables.

use std::fmt::{self, Debug, Formatter};

/// What a text may do to its session, or ask of it. Where it has a mark for taking something and
/// the one for giving it back, it may end with either.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// Asks for LAST_INSERT_ID() or changes it; sets the next id.
    LastInsertId,
    /// CALL
    Call,
    /// EXECUTE, also IMMEDIATE: the statement may be in another text.
    Execute,
    /// A block outside of routines (MariaDB), of which branches decide what is run.
    Block,
    /// PREPARE from one string.
    PreparesLiteral,
    /// PREPARE from a variable or an expression.
    PreparesComputed,
    /// DEALLOCATE PREPARE, DROP PREPARE
    Deallocates,
    /// HANDLER … OPEN
    OpensHandler,
    /// HANDLER … CLOSE
    ClosesHandler,
    /// FLUSH TABLES WITH READ LOCK
    GlobalReadLock,
    /// LOCK TABLES; FLUSH TABLES with names and WITH READ LOCK or FOR EXPORT.
    LocksTables,
    /// UNLOCK TABLES, which also ends the global read lock.
    UnlocksTables,
    /// LOCK INSTANCE, BACKUP STAGE, BACKUP LOCK
    BackupLock,
    /// A lock of a loadable function: the locking service, version tokens.
    ServiceLock,
    /// CREATE TEMPORARY TABLE or SEQUENCE.
    TemporaryTable,
    /// DROP of a table or sequence, which may have been a temporary one.
    DropsTable,
    /// SET ROLE, SET DEFAULT ROLE
    Role,
    /// SET RESOURCE GROUP
    ResourceGroup,
    /// SET SESSION AUTHORIZATION
    SessionUser,
    /// What a login gets changes, or a password.
    Accounts,
    /// What a login gets changes, or a password, and accounts or their privileges.
    Privileges,
    /// SET TRANSACTION for the next transaction, also by `@@` without a scope.
    OneShotTransaction,
    /// SQL_CALC_FOUND_ROWS
    CalcFoundRows,
    /// Asks for FOUND_ROWS().
    FoundRows,
    /// Asks for ROW_COUNT().
    RowCount,
    /// Asks for warnings and errors, or how many there were.
    Diagnostics,
    /// Sets or names a setting of the state trackers.
    TrackSetting,
    /// Profiles of statements: switches them on, or asks for them.
    Profiling,
    /// Traces of the optimizer.
    OptimizerTrace,
    /// Asks for values of a sequence (MariaDB).
    Sequence,
    /// Asks for the connection's id, changes it, or names one.
    ConnectionId,
    /// KILL
    Kill,
    /// XA
    Xa,
    /// SET STATEMENT … FOR (MariaDB)
    SetStatement,
    /// LOAD DATA, LOAD XML
    LoadsData,
    /// BINLOG
    Binlog,
    /// Routines, triggers, events or views change, or belong to another table: what is known of their bodies is no
    /// longer true.
    ChangesRoutines,
    /// Lists system variables, with those of other marks.
    ListsVariables,
    /// Lists or clears user variables without naming them.
    AllUserVariables,
}

impl Mark {
    /// All of them, in the order of their bits.
    pub const ALL: [Self; 39] = [
        Self::LastInsertId,
        Self::Call,
        Self::Execute,
        Self::Block,
        Self::PreparesLiteral,
        Self::PreparesComputed,
        Self::Deallocates,
        Self::OpensHandler,
        Self::ClosesHandler,
        Self::GlobalReadLock,
        Self::LocksTables,
        Self::UnlocksTables,
        Self::BackupLock,
        Self::ServiceLock,
        Self::TemporaryTable,
        Self::DropsTable,
        Self::Role,
        Self::ResourceGroup,
        Self::SessionUser,
        Self::Accounts,
        Self::Privileges,
        Self::OneShotTransaction,
        Self::CalcFoundRows,
        Self::FoundRows,
        Self::RowCount,
        Self::Diagnostics,
        Self::TrackSetting,
        Self::Profiling,
        Self::OptimizerTrace,
        Self::Sequence,
        Self::ConnectionId,
        Self::Kill,
        Self::Xa,
        Self::SetStatement,
        Self::LoadsData,
        Self::Binlog,
        Self::ChangesRoutines,
        Self::ListsVariables,
        Self::AllUserVariables,
    ];
}

/// A set of marks.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Marks(u64);

impl Marks {
    /// Whether the mark is in it.
    pub fn has(self, mark: Mark) -> bool {
        self.0 & (1 << mark as u64) != 0
    }

    /// Whether there is none.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The marks of the set.
    pub fn iter(self) -> impl Iterator<Item = Mark> {
        Mark::ALL.into_iter().filter(move |mark| self.has(*mark))
    }

    pub(super) fn add(&mut self, mark: Mark) {
        self.0 |= 1 << mark as u64;
    }

    pub(super) fn add_all(&mut self, others: Self) {
        self.0 |= others.0;
    }
}

impl Debug for Marks {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

/// What a text may do to its session unseen by the server's state trackers.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct SessionEffects {
    /// What it may do or ask. Too many rather than too few.
    pub marks: Marks,
    /// User variables that it names, each once, in lower case and without quotes: printable ASCII,
    /// any of which may need quotes. Accounts and, where modes differ, parts of strings may be
    /// among them.
    pub variables: Vec<Box<[u8]>>,
    /// System variables that it sets by `@@` without a scope: MariaDB reports nothing of them.
    pub settings: Vec<Box<[u8]>>,
    /// The text may name other variables, too: more than are kept, or some whose names servers compare in other ways
    /// than byte by byte.
    pub more_variables: bool,
}

impl SessionEffects {
    /// Whether the mark was found.
    pub fn has(&self, mark: Mark) -> bool {
        self.marks.has(mark)
    }

    /// Whether there is nothing that the trackers would not report.
    pub fn is_empty(&self) -> bool {
        self.marks.is_empty()
            && self.variables.is_empty()
            && self.settings.is_empty()
            && !self.more_variables
    }
}

/// Without the names: one may have been part of a password.
impl Debug for SessionEffects {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionEffects")
            .field("marks", &self.marks)
            .field("variables", &self.variables.len())
            .field("settings", &self.settings.len())
            .field("more_variables", &self.more_variables)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_told_apart() {
        for (n, mark) in Mark::ALL.into_iter().enumerate() {
            assert_eq!(mark as usize, n);
            let mut marks = Marks::default();
            marks.add(mark);
            assert_eq!(marks.iter().collect::<Vec<_>>(), [mark]);
        }
    }

    #[test]
    fn names_are_not_shown() {
        let variables = vec![Box::from(&b"ssw0rd"[..])];
        let effects = SessionEffects { variables, ..SessionEffects::default() };
        assert!(!format!("{effects:?}").contains("ssw0rd"));
    }
}
