//! What ties a session to the server connection that it has. A held lock does not.

use crate::sql::session::effects::{Mark, Marks};

/// Why a session keeps its connection. Each has an end, or lasts as long as the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pin {
    /// LOCK TABLES, FLUSH TABLES with names: until UNLOCK TABLES or the begin of a transaction.
    TableLocks,
    /// FLUSH TABLES WITH READ LOCK: until UNLOCK TABLES.
    GlobalLock,
    /// LOCK INSTANCE, BACKUP STAGE, BACKUP LOCK: until the session resets its connection.
    BackupLock,
    /// HANDLER … OPEN: until the session resets its connection.
    Handler,
    /// A temporary table: until the session resets its connection.
    TempTable,
    /// A statement that was prepared by a command and cannot be prepared again elsewhere: until all of these are
    /// closed.
    Prepared,
    /// Values that were sent ahead of an execution: until it, or until they are dropped.
    LongData,
    /// A cursor: until its last row is fetched, or until it is closed.
    Cursor,
    /// A statement that was prepared in SQL: until all of these are deallocated.
    SqlPrepare,
    /// Warnings or an error, of which the client may ask: until the next statement.
    Diagnostics,
    /// An XA transaction: until the session resets its connection.
    Xa,
    /// A variable that the next statement uses up, such as `timestamp`.
    OneShotValue,
    /// A variable that changes what is replicated, such as `sql_log_bin`.
    ReplicationVar,
    /// Profiles and traces of statements.
    Profiling,
    /// The last value of a sequence.
    Sequence,
    /// A stored program may have done what no server tells.
    Routine,
    /// A user variable that is too large to be carried.
    LargeVariable,
    /// What the server reports of the session was changed by its client.
    Tracking,
    /// SQL_CALC_FOUND_ROWS: until the second statement after it.
    FoundRows,
    /// A resource group.
    ResourceGroup,
    /// A statement too long to be judged by its text.
    LongStatement,
    /// The server runs statements of its own at each login.
    InitConnect,
    /// Both sides talk freely.
    Replication,
    /// No other connection could be opened for the account: its password is not known.
    Auth,
}

/// All of them, and what metrics call them.
pub(crate) const PINS: [(Pin, &str); 24] = [
    (Pin::TableLocks, "table_locks"),
    (Pin::GlobalLock, "global_lock"),
    (Pin::BackupLock, "backup_lock"),
    (Pin::Handler, "handler"),
    (Pin::TempTable, "temp_table"),
    (Pin::Prepared, "prepared"),
    (Pin::LongData, "long_data"),
    (Pin::Cursor, "cursor"),
    (Pin::SqlPrepare, "sql_prepare"),
    (Pin::Diagnostics, "diagnostics"),
    (Pin::Xa, "xa"),
    (Pin::OneShotValue, "one_shot_value"),
    (Pin::ReplicationVar, "replication_var"),
    (Pin::Profiling, "profiling"),
    (Pin::Sequence, "sequence"),
    (Pin::Routine, "routine"),
    (Pin::LargeVariable, "large_variable"),
    (Pin::Tracking, "tracking"),
    (Pin::FoundRows, "found_rows"),
    (Pin::ResourceGroup, "resource_group"),
    (Pin::LongStatement, "long_statement"),
    (Pin::InitConnect, "init_connect"),
    (Pin::Replication, "replication"),
    (Pin::Auth, "auth"),
];

/// What begins with a statement of this kind. No statement ends a lock of the whole server: it may only be prepared, or it
/// may fail. Then the next session would have the lock.
const BEGINS: [(Mark, Pin); 18] = [
    (Mark::Call, Pin::Routine),
    (Mark::Execute, Pin::Routine),
    (Mark::Block, Pin::Routine),
    (Mark::ServiceLock, Pin::Routine),
    (Mark::PreparesLiteral, Pin::SqlPrepare),
    (Mark::PreparesComputed, Pin::SqlPrepare),
    (Mark::OpensHandler, Pin::Handler),
    (Mark::GlobalReadLock, Pin::GlobalLock),
    (Mark::BackupLock, Pin::BackupLock),
    (Mark::TemporaryTable, Pin::TempTable),
    (Mark::SessionUser, Pin::Auth),
    (Mark::ResourceGroup, Pin::ResourceGroup),
    (Mark::CalcFoundRows, Pin::FoundRows),
    (Mark::TrackSetting, Pin::Tracking),
    (Mark::Profiling, Pin::Profiling),
    (Mark::OptimizerTrace, Pin::Profiling),
    (Mark::Sequence, Pin::Sequence),
    (Mark::Xa, Pin::Xa),
];

/// Those that a session has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Pins(u32);

impl Pins {
    /// Of the account, not of what was done: they outlast a reset of the connection.
    const LASTING: [Pin; 3] = [Pin::InitConnect, Pin::Replication, Pin::Auth];

    /// One more.
    pub(crate) fn add(&mut self, pin: Pin) {
        self.0 |= 1 << pin as u32;
    }

    /// Without it.
    pub(crate) fn remove(&mut self, pin: Pin) {
        self.0 &= !(1 << pin as u32);
    }

    /// With it, or without it.
    pub(crate) fn set(&mut self, pin: Pin, is: bool) {
        if is { self.add(pin) } else { self.remove(pin) }
    }

    /// Whether it is among them.
    pub(crate) fn has(self, pin: Pin) -> bool {
        self.0 & 1 << pin as u32 != 0
    }

    /// Whether there is none.
    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// A statement of these kinds is about to run, or to be prepared.
    pub(super) fn take_marks(&mut self, marks: Marks) {
        BEGINS.iter().filter(|(mark, _)| marks.has(*mark)).for_each(|(_, pin)| self.add(*pin));
    }

    /// The session has reset its connection.
    pub(crate) fn reset(&mut self) {
        let before = *self;
        self.0 = 0;
        for pin in Self::LASTING {
            if before.has(pin) {
                self.add(pin);
            }
        }
    }

    /// Those of both.
    pub(crate) fn with(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }

    /// What metrics call them.
    pub(crate) fn names(self) -> impl Iterator<Item = &'static str> {
        PINS.iter().filter(move |(pin, _)| self.has(*pin)).map(|(_, name)| *name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_pin_has_a_bit_and_a_name_of_its_own() {
        let mut all = Pins::default();
        for (n, (pin, name)) in PINS.iter().enumerate() {
            assert!(!all.has(*pin), "{name}");
            all.add(*pin);
            assert_eq!(all.names().count(), n + 1);
        }
        for (pin, _) in PINS {
            all.remove(pin);
        }
        assert!(all.is_empty());
    }

    #[test]
    fn a_reset_ends_what_the_session_did() {
        let mut pins = Pins::default();
        pins.add(Pin::TempTable);
        pins.add(Pin::Auth);
        pins.reset();
        assert!(pins.has(Pin::Auth) && !pins.has(Pin::TempTable));
    }
}
