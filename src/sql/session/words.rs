//! The words that mean something: at the start of a statement, after certain starts, and anywhere.

use super::effects::Mark;
use crate::types::Flavour;

/// More than the longest of the words.
const FOLDED_MAX: usize = 32;

/// A word as it is compared.
#[derive(Debug, Clone, Copy)]
pub(super) struct Folded {
    bytes: [u8; FOLDED_MAX],
    length: usize,
}

impl Folded {
    /// In lower case, without digits that may be a comment's version, and without bytes beyond
    /// ASCII: servers drop half a character at the end of a name. `None` if it is no word.
    pub(super) fn of(word: &[u8]) -> Option<Self> {
        let start = word.iter().position(u8::is_ascii)?;
        let word = &word[start..];
        let word = &word[..word.iter().position(|b| !b.is_ascii()).unwrap_or(word.len())];
        let start = word.iter().position(|b| !b.is_ascii_digit())?;
        let word = &word[start..];
        let length = word.len().min(FOLDED_MAX);
        let mut bytes = [0; FOLDED_MAX];
        bytes[..length].copy_from_slice(&word[..length]);
        bytes.make_ascii_lowercase();
        Some(Self { bytes, length })
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

/// First words of statements in which later words decide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FirstWord {
    Alter,
    /// ALTER TABLE
    AlterTable,
    Backup,
    Begin,
    Create,
    Drop,
    /// EXPLAIN and its synonyms.
    Explain,
    Flush,
    Get,
    Handler,
    Load,
    Lock,
    Prepare,
    Rename,
    Set,
    Show,
    Unlock,
}

/// A set of first words.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct FirstWords(u32);

impl FirstWords {
    pub(super) fn has(self, first: FirstWord) -> bool {
        self.0 & (1 << first as u32) != 0
    }

    pub(super) fn add(&mut self, first: FirstWord) {
        self.0 |= 1 << first as u32;
    }

    pub(super) fn remove(&mut self, first: FirstWord) {
        self.0 &= !(1 << first as u32);
    }

    pub(super) fn is_empty(self) -> bool {
        self.0 == 0
    }
}

pub(super) fn first_word(word: &[u8]) -> Option<FirstWord> {
    Some(match word {
        b"alter" => FirstWord::Alter,
        b"backup" => FirstWord::Backup,
        b"begin" => FirstWord::Begin,
        b"create" => FirstWord::Create,
        b"drop" => FirstWord::Drop,
        b"explain" | b"desc" | b"describe" | b"analyze" => FirstWord::Explain,
        b"flush" => FirstWord::Flush,
        b"get" => FirstWord::Get,
        b"handler" => FirstWord::Handler,
        b"load" => FirstWord::Load,
        b"lock" => FirstWord::Lock,
        b"prepare" => FirstWord::Prepare,
        b"rename" => FirstWord::Rename,
        b"set" => FirstWord::Set,
        b"show" => FirstWord::Show,
        b"unlock" => FirstWord::Unlock,
        _ => return None,
    })
}

/// First words that say all.
pub(super) fn mark_of_first(word: &[u8]) -> Option<Mark> {
    Some(match word {
        b"binlog" => Mark::Binlog,
        b"call" => Mark::Call,
        b"deallocate" => Mark::Deallocates,
        b"execute" => Mark::Execute,
        b"grant" | b"revoke" => Mark::Privileges,
        b"kill" => Mark::Kill,
        b"xa" => Mark::Xa,
        _ => return None,
    })
}

/// First words of statements that hold others.
pub(super) fn begins_block(word: &[u8]) -> bool {
    matches!(word, b"if" | b"case" | b"loop" | b"while" | b"repeat" | b"for" | b"declare")
}

/// Words that tell what CREATE, ALTER and DROP are about. Names come after them.
pub(super) fn is_object(word: &[u8]) -> bool {
    is_program(word)
        || matches!(
            word,
            b"table"
                | b"tables"
                | b"sequence"
                | b"user"
                | b"role"
                | b"view"
                | b"database"
                | b"schema"
                | b"prepare"
                | b"index"
                | b"server"
                | b"tablespace"
                | b"instance"
        )
}

/// What may have statements in its definition.
pub(super) fn is_program(word: &[u8]) -> bool {
    matches!(word, b"procedure" | b"function" | b"trigger" | b"event" | b"package" | b"library")
}

/// What a word means after the first words with which it means something.
pub(super) fn marks_after(word: &[u8]) -> &'static [(FirstWord, Mark)] {
    use FirstWord as First;
    match word {
        b"analyze" | b"explain" => &[(First::Show, Mark::ConnectionId)],
        b"authorization" => &[(First::Set, Mark::SessionUser)],
        b"binlog" | b"instance" => &[(First::Lock, Mark::BackupLock)],
        b"block_commit" | b"block_ddl" | b"flush" | b"start" => {
            &[(First::Backup, Mark::BackupLock)]
        }
        b"close" => &[(First::Handler, Mark::ClosesHandler)],
        b"connection" => &[(First::Explain, Mark::ConnectionId)],
        b"data" | b"xml" => &[(First::Load, Mark::LoadsData)],
        // A login may name the database.
        b"database" | b"schema" => {
            &[(First::Drop, Mark::ChangesRoutines), (First::Drop, Mark::Accounts)]
        }
        b"diagnostics" => &[(First::Get, Mark::Diagnostics)],
        b"errors" | b"warnings" => &[(First::Show, Mark::Diagnostics)],
        b"export" => &[(First::Flush, Mark::LocksTables)],
        b"lock" => &[(First::Flush, Mark::LocksTables), (First::Backup, Mark::BackupLock)],
        b"open" => &[(First::Handler, Mark::OpensHandler)],
        // SET DEFAULT ROLE and SET GLOBAL, too: what logins get.
        b"default" | b"global" | b"password" | b"persist" | b"persist_only" => {
            &[(First::Set, Mark::Accounts)]
        }
        b"prepare" => &[(First::Drop, Mark::Deallocates)],
        b"privileges" => &[(First::Flush, Mark::Privileges)],
        b"procedure" | b"function" | b"trigger" | b"event" | b"package" | b"library" | b"view" => {
            &[
                (First::Create, Mark::ChangesRoutines),
                (First::Alter, Mark::ChangesRoutines),
                (First::Drop, Mark::ChangesRoutines),
            ]
        }
        b"profile" | b"profiles" => &[(First::Show, Mark::Profiling)],
        // Triggers go with their table.
        b"rename" => &[(First::AlterTable, Mark::ChangesRoutines)],
        b"resource" => &[(First::Set, Mark::ResourceGroup)],
        b"role" => &[
            (First::Create, Mark::Privileges),
            (First::Drop, Mark::Privileges),
            (First::Set, Mark::Role),
        ],
        b"row_count" => &[(First::Get, Mark::RowCount)],
        b"sequence" => &[(First::Drop, Mark::DropsTable)],
        b"table" | b"tables" => &[
            (First::Drop, Mark::DropsTable),
            (First::Lock, Mark::LocksTables),
            (First::Unlock, Mark::UnlocksTables),
            (First::Rename, Mark::ChangesRoutines),
        ],
        b"temporary" => &[(First::Create, Mark::TemporaryTable), (First::Drop, Mark::DropsTable)],
        b"user" => &[
            (First::Create, Mark::Privileges),
            (First::Alter, Mark::Privileges),
            (First::Drop, Mark::Privileges),
            (First::Rename, Mark::Privileges),
        ],
        _ => &[],
    }
}

/// What a name means wherever it is in code, quoted or not.
pub(super) fn mark_of_name(word: &[u8], flavour: Flavour) -> Option<Mark> {
    Some(match word {
        b"sql_calc_found_rows" => Mark::CalcFoundRows,
        b"user_variables" | b"user_variables_by_thread" => Mark::AllUserVariables,
        b"session_variables" | b"system_variables" | b"variables_by_thread" => Mark::ListsVariables,
        b"nextval" | b"lastval" | b"setval" | b"currval" if flavour == Flavour::MariaDb => {
            Mark::Sequence
        }
        // With rows, no OK packet tells the id of a row that was inserted.
        b"returning" if flavour == Flavour::MariaDb => Mark::LastInsertId,
        _ if word.starts_with(b"session_track") => Mark::TrackSetting,
        _ if word.starts_with(b"optimizer_trace") => Mark::OptimizerTrace,
        _ => return None,
    })
}

/// What a name means before a parenthesis.
pub(super) fn mark_of_function(word: &[u8]) -> Option<Mark> {
    Some(match word {
        b"last_insert_id" => Mark::LastInsertId,
        b"found_rows" => Mark::FoundRows,
        b"row_count" => Mark::RowCount,
        b"connection_id" | b"ps_current_thread_id" => Mark::ConnectionId,
        b"service_get_read_locks"
        | b"service_get_write_locks"
        | b"service_release_locks"
        | b"version_tokens_lock_shared"
        | b"version_tokens_lock_exclusive"
        | b"version_tokens_unlock" => Mark::ServiceLock,
        _ => return None,
    })
}

/// What the name of a system variable means.
pub(super) fn mark_of_variable(word: &[u8]) -> Option<Mark> {
    Some(match word {
        b"last_insert_id" | b"identity" | b"insert_id" => Mark::LastInsertId,
        b"warning_count" | b"error_count" => Mark::Diagnostics,
        b"pseudo_thread_id" => Mark::ConnectionId,
        b"profiling" | b"profiling_history_size" => Mark::Profiling,
        _ => return None,
    })
}

/// Whether the system variable is of the next transaction if it is set without a scope.
pub(super) fn is_of_transaction(word: &[u8]) -> bool {
    matches!(
        word,
        b"transaction_isolation" | b"tx_isolation" | b"transaction_read_only" | b"tx_read_only"
    )
}
