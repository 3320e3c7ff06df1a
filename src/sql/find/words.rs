//! Questions about a text that its words answer, without a look at its grammar.

use super::mentions::mention;

/// Results that a statement leaves in its session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Back {
    /// ROW_COUNT()
    RowCount,
    /// FOUND_ROWS()
    FoundRows,
    /// @@warning_count
    Warnings,
    /// @@error_count
    Errors,
    /// CONNECTION_ID(), which is no result, but another one's in a session with shared connections.
    ConnectionId,
    /// @@pseudo_thread_id, the same.
    ThreadId,
}

impl Back {
    pub(in crate::sql) const ALL: [Self; 6] = [
        Self::RowCount,
        Self::FoundRows,
        Self::Warnings,
        Self::Errors,
        Self::ConnectionId,
        Self::ThreadId,
    ];

    /// Whether it is the session's id, which no statement changes.
    pub fn is_id(self) -> bool {
        matches!(self, Self::ConnectionId | Self::ThreadId)
    }

    /// Whether it is a variable.
    pub(in crate::sql) fn is_variable(self) -> bool {
        matches!(self, Self::Warnings | Self::Errors | Self::ThreadId)
    }

    pub(in crate::sql) fn word(self) -> &'static str {
        match self {
            Self::RowCount => "ROW_COUNT",
            Self::FoundRows => "FOUND_ROWS",
            Self::Warnings => "warning_count",
            Self::Errors => "error_count",
            Self::ConnectionId => "CONNECTION_ID",
            Self::ThreadId => "pseudo_thread_id",
        }
    }

    /// The expression that asks for the value.
    pub fn sql(self) -> &'static str {
        match self {
            Self::RowCount => "ROW_COUNT()",
            Self::FoundRows => "FOUND_ROWS()",
            Self::Warnings => "@@warning_count",
            Self::Errors => "@@error_count",
            Self::ConnectionId => "CONNECTION_ID()",
            Self::ThreadId => "@@pseudo_thread_id",
        }
    }
}

/// Whether one of the five functions is named anywhere, in strings and comments too.
pub fn mentions(text: &[u8]) -> bool {
    mention(text).is_some()
}

/// Whether a text has one of these words in it, whatever their case.
pub fn has_any(text: &[u8], words: &[&[u8]]) -> bool {
    words.iter().any(|word| {
        let Some(&first) = word.first() else { return false };
        memchr::memchr2_iter(first.to_ascii_lowercase(), first.to_ascii_uppercase(), text)
            .any(|at| text[at..].get(..word.len()).is_some_and(|w| w.eq_ignore_ascii_case(word)))
    })
}

/// Whether a text names the setting that ends a transaction when it is switched on.
pub fn names_autocommit(text: &[u8]) -> bool {
    memchr::memmem::find(&text.to_ascii_lowercase(), b"autocommit").is_some()
}

/// Whether the default schema may be asked for by name.
pub fn names_schema(text: &[u8]) -> bool {
    let text = text.to_ascii_lowercase();
    [&b"database"[..], b"schema"].iter().any(|word| memchr::memmem::find(&text, word).is_some())
}

/// Whether a text of several statements may change the modes or the character set in which the
/// server reads what follows.
pub fn may_change_modes(text: &[u8]) -> bool {
    const WORDS: [&[u8]; 5] = [b"sql_mode", b"names", b"charset", b"character", b"execute"];
    let text = text.to_ascii_lowercase();
    let has = |word: &[u8]| memchr::memmem::find(&text, word).is_some();
    has(b";") && WORDS.iter().any(|word| has(word))
}

/// Whether a text may ask for results that the statement before it left in the session. A query of
/// the proxy's own would overwrite them.
pub fn looks_back(text: &[u8]) -> bool {
    names_any(text, |back| !back.is_id())
}

/// Whether a text may ask for ROW_COUNT() or FOUND_ROWS().
pub fn asks_for_counts(text: &[u8]) -> bool {
    names_any(text, |back| matches!(back, Back::RowCount | Back::FoundRows))
}

/// Whether a text may ask for the id of its connection.
pub fn names_connection(text: &[u8]) -> bool {
    names_any(text, Back::is_id)
}

impl Back {
    /// Whether a text names the value.
    pub fn is_in(self, text: &[u8]) -> bool {
        names_any(text, |back| back == self)
    }
}

fn names_any(text: &[u8], which: impl Fn(Back) -> bool) -> bool {
    memchr::memchr_iter(b'_', text).any(|at| {
        Back::ALL.into_iter().filter(|back| which(*back)).any(|back| {
            let word = back.word().as_bytes();
            let start = memchr::memchr(b'_', word).and_then(|n| at.checked_sub(n));
            let found = start.and_then(|start| text.get(start..start + word.len()));
            found.is_some_and(|found| found.eq_ignore_ascii_case(word))
        })
    })
}

/// Whether settings of the statement, up to `start` or in hints, may change what its expressions
/// come to.
pub fn shifts(text: &[u8], start: usize) -> bool {
    const HARMLESS: [&[u8]; 6] =
        [b"_timeout", b"_statement_time", b"_execution_time", b"_size", b"_switch", b"_limit"];
    let lower = text.to_ascii_lowercase();
    let hints = memchr::memmem::find(&lower, b"/*+").map_or(&[][..], |at| &lower[at..]);
    let hints = if memchr::memmem::find(hints, b"set_var").is_some() { hints } else { &[] };
    let hints = &hints[..memchr::memmem::find(hints, b"*/").unwrap_or(hints.len())];
    let sets = |settings: &[u8]| {
        memchr::memchr_iter(b'=', settings).any(|at| {
            let name = settings[..at].trim_ascii_end();
            !HARMLESS.iter().any(|harmless| name.ends_with(harmless))
        })
    };
    sets(&lower[..start]) || sets(hints)
}
