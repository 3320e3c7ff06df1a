//! Answers: rows under named columns.

use serde_json::Value;

use crate::engine::io::admin_queries;
use crate::engine::io::last_known::Old;
use crate::lock::name;
pub use crate::protocol::serve::ColumnKind;

/// Up to here readers of JSON keep integers exact; beyond stand fencing tokens, as text.
pub const EXACT: u64 = (1 << 53) - 1;

/// Rows of a cluster that are shown at most.
pub(super) const MOST: usize = admin_queries::MOST;
/// How long ago a row was read, where that cannot be done now.
pub(super) const SEEN: (&str, ColumnKind) = ("seen_seconds_ago", ColumnKind::Fraction);
/// Columns of SHOW WARNINGS and SHOW ERRORS.
pub(super) const NOTES: &[(&str, ColumnKind)] =
    &[("Level", ColumnKind::Text), ("Code", ColumnKind::Number), ("Message", ColumnKind::Text)];

/// One value.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// Nothing is known.
    Null,
    /// Text.
    Text(String),
    /// A number.
    Number(u64),
    /// Seconds.
    Seconds(f64),
}

/// A table.
#[derive(Debug, Clone, PartialEq)]
pub struct AdminTable {
    /// Names and kinds.
    pub columns: &'static [(&'static str, ColumnKind)],
    /// Whether there may be more rows than are shown.
    pub cut: bool,
    /// Whether some of it was read before, and cannot be read now.
    pub old: Option<Old>,
    /// Rows, each with as many values as there are columns.
    pub rows: Vec<Vec<Cell>>,
}

impl AdminTable {
    /// All rows, as they are now.
    pub(super) fn of(columns: &'static [(&'static str, ColumnKind)], rows: Vec<Vec<Cell>>) -> Self {
        Self { columns, cut: false, old: None, rows }
    }

    /// Warnings that belong to the rows.
    pub fn notes(&self) -> Vec<String> {
        let cut =
            || format!("only the first {MOST} rows of a cluster are shown: there may be more");
        let old = |old: &Old| {
            let age = old.age.as_secs();
            format!("the lock tables do not answer ({}): their rows here are {age}s old", old.why)
        };
        self.cut.then(cut).into_iter().chain(self.old.as_ref().map(old)).collect()
    }

    /// An object for each row.
    pub fn json(&self) -> Vec<Value> {
        let row = |row: &Vec<Cell>| {
            let pairs = self.columns.iter().zip(row);
            Value::Object(
                pairs.map(|((name, _), cell)| ((*name).to_owned(), cell.json())).collect(),
            )
        };
        self.rows.iter().map(row).collect()
    }
}

impl Cell {
    fn json(&self) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Text(text) => Value::from(text.as_str()),
            Self::Number(number) if *number <= EXACT => Value::from(*number),
            Self::Number(number) => Value::from(number.to_string()),
            Self::Seconds(seconds) => Value::from((seconds * 1000.0).round() / 1000.0),
        }
    }

    /// Text, or NULL.
    pub fn text(text: Option<impl Into<String>>) -> Self {
        text.map_or(Self::Null, |text| Self::Text(text.into()))
    }

    /// A lock's name.
    pub fn name(bytes: &[u8]) -> Self {
        Self::Text(name::shown(bytes))
    }

    /// Bytes in an unknown character set, for display.
    pub fn bytes(bytes: &[u8]) -> Self {
        Self::Text(String::from_utf8_lossy(bytes).into_owned())
    }

    /// Yes or no.
    pub fn yes(yes: bool) -> Self {
        Self::Text(if yes { "yes" } else { "no" }.to_owned())
    }

    /// As the text protocol writes it.
    pub fn written(&self) -> Option<Vec<u8>> {
        match self {
            Self::Null => None,
            Self::Text(text) => Some(text.clone().into_bytes()),
            Self::Number(number) => Some(number.to_string().into_bytes()),
            Self::Seconds(seconds) => Some(format!("{seconds:.3}").into_bytes()),
        }
    }
}
