//! A text with lock calls, as a session's observer remembers it: what it is, and what is bound to it.

use std::sync::Arc;

use crate::observe::event::Statement;
use crate::protocol::params::{Execute, Value};
use crate::sql::coverage::{By, Coverage, coverage};
use crate::sql::dialect::Dialect;
use crate::sql::normal::normalise;
use crate::sql::uses::{Uses, Written, uses};

/// Parameters of a statement up to which a name is looked for among them.
pub(super) const MAX_PARAMS: usize = 64;
/// Bytes of a statement that the report shows.
const SHOWN: usize = 1024;

/// What is known of a text with lock calls.
#[derive(Debug)]
pub(super) struct Text {
    pub(super) statement: Arc<Statement>,
    pub(super) uses: Uses,
}

impl Text {
    /// `None` for a text without any.
    pub(super) fn read(text: &[u8], dialect: Dialect, by: By) -> Option<Self> {
        let coverage = coverage(text, dialect, by)?;
        // In a definition nothing is called yet.
        let defines = coverage == Coverage::Passed;
        let mut uses = uses(text, dialect);
        if defines {
            uses.calls.clear();
            uses.alone = None;
        }
        let statement = Statement { text: normalise(text, dialect, SHOWN), coverage };
        Some(Self { statement: Arc::new(statement), uses })
    }

    /// The same text, run in a way that Lockstead would refuse.
    pub(super) fn refused(&self, why: &'static str) -> Self {
        let coverage = Coverage::Refused(why);
        let statement = Statement { coverage, ..Statement::clone(&self.statement) };
        let uses = Uses { alone: None, ..self.uses.clone() };
        Self { statement: Arc::new(statement), uses }
    }
}

/// A prepared statement.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) text: Arc<Text>,
    /// Types of the last execution that bound any.
    pub(super) types: Vec<u16>,
    /// Parameters of which data was sent ahead: it is not kept.
    pub(super) ahead: Vec<u16>,
}

pub(super) type Bound = (Vec<u16>, Vec<Option<Vec<u8>>>);

/// The types that an execution binds, and its values as names; `None` if it cannot be read.
pub(super) fn bound(
    text: &Text,
    payload: Option<&[u8]>,
    types: &[u16],
    ahead: &[u16],
    attributes: bool,
) -> Option<Bound> {
    let params = text.uses.params;
    if params > MAX_PARAMS {
        return None;
    }
    let nth = |n: usize| u16::try_from(n).is_ok_and(|n| ahead.contains(&n));
    let long: Vec<Option<Vec<u8>>> = (0..params).map(|n| nth(n).then(Vec::new)).collect();
    let execute = Execute::parse(payload?, params, types, &long, attributes)?;
    let values = execute.values.into_iter().enumerate().map(|(n, value)| match value {
        _ if nth(n) => None,
        Value::Null => Some(b"NULL".to_vec()),
        Value::Int(n) => Some(n.to_string().into_bytes()),
        Value::Uint(n) => Some(n.to_string().into_bytes()),
        Value::Bytes { bytes, .. } | Value::Decimal(bytes) => Some(bytes),
        Value::Double(_) | Value::Moment(_) | Value::Other => None,
    });
    // Only names are told.
    let is_name = |n: usize| text.uses.calls.iter().any(|c| c.name == Written::Parameter(n));
    let values = values.enumerate().map(|(n, value)| value.filter(|_| is_name(n))).collect();
    Some((execute.types, values))
}
