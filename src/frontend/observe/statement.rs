//! A text with lock calls, as a session's observer remembers it: what it is, and what is bound to it.

use std::sync::Arc;

use super::row_update::{UnknownLocks, UntoldStatement};
use crate::lock::function::Function;
use crate::lock::name::{Name, is_plain};
use crate::observe::event::SeenStatement;
use crate::protocol::params::{Execute, Value};
use crate::sql::find::readings::Readings;
use crate::sql::find::words::mentions;
use crate::sql::lexer::dialect::Dialect;
use crate::sql::report::call_names::{Alone, Use, Uses, Written, uses};
use crate::sql::report::coverage::{By, Coverage, coverage};
use crate::sql::report::digest_text::normalise;

/// Parameters of a statement up to which a name is looked for among them.
pub(crate) const MAX_PARAMS: usize = 64;
/// Bytes of a text in all its readings up to which they are looked at: nobody is asked how the server
/// reads it, and nobody waits.
const MAX_WORK: usize = 128 * 1024;
/// Bytes of a statement that the report shows.
const SHOWN: usize = 1024;

/// What is known of a text with lock calls.
#[derive(Debug)]
pub(crate) struct WatchedText {
    pub statement: Arc<SeenStatement>,
    pub uses: Uses,
}

/// A text that reads in so many ways that nobody looks at all of them.
#[derive(Debug)]
pub(crate) struct TooManyReadings;

/// Whether a text reads in too many ways to be looked at; an error if it may call.
fn is_beyond(text: &[u8], dialect: Dialect) -> Result<bool, TooManyReadings> {
    let beyond = Readings::of(text, dialect).work() > MAX_WORK;
    if beyond && mentions(text) { Err(TooManyReadings) } else { Ok(beyond) }
}

impl WatchedText {
    /// Reads a text for its calls; `None` for one without any. `reports`: a report shows each text.
    pub(crate) fn read(
        text: &[u8],
        dialect: Dialect,
        by: By,
        reports: bool,
    ) -> Result<Option<Self>, TooManyReadings> {
        if is_beyond(text, dialect)? {
            return Ok(None);
        }
        let mut uses = uses(text, dialect);
        // Where no calls are found, there are none, or it depends on how the server reads the text.
        let coverage = match uses.alone {
            Some(_) if !reports => Some(Coverage::Covered),
            Some(_) | None => coverage(text, dialect, by),
        };
        let Some(coverage) = coverage else { return Ok(None) };
        // Without a report, a text is shown only if the server alone knows the name of a lock.
        let shows = reports || !tells(&uses);
        let text = if shows { normalise(text, dialect, SHOWN) } else { String::new() };
        // In a definition nothing is called yet.
        if coverage == Coverage::Passed {
            uses.calls.clear();
            uses.alone = None;
        }
        let statement = SeenStatement { text, coverage };
        Ok(Some(Self { statement: Arc::new(statement), uses }))
    }

    /// A text of which only the server knows what it calls; that is shown of it.
    pub(crate) fn unknown(text: String) -> Self {
        let coverage = Coverage::Refused("a statement that runs others");
        let statement = SeenStatement { text, coverage };
        let uses = Uses { calls: Vec::new(), alone: None, params: 0 };
        Self { statement: Arc::new(statement), uses }
    }

    /// Whether a run may take a lock.
    pub(crate) fn takes(&self) -> bool {
        let calls = &self.uses.calls;
        let gets = calls.iter().any(|call| call.function == Function::GetLock);
        gets || (calls.is_empty() && self.statement.coverage != Coverage::Passed)
    }

    /// Whether it is one call that looks at a lock, and returns what it sees.
    pub(crate) fn only_looks(&self) -> bool {
        let looks = |f: Function| matches!(f, Function::IsFreeLock | Function::IsUsedLock);
        self.uses.alone == Some(Alone::Row) && self.uses.calls.iter().all(|c| looks(c.function))
    }

    /// If it may take a lock whose name only the server knows: what is shown of it. `names`: those of its calls, as
    /// far as they are known.
    pub(crate) fn untold(&self, names: &[Option<Name>]) -> UnknownLocks {
        let mut calls = self.uses.calls.iter().zip(names);
        let gets = |(call, name): (&Use, &Option<Name>)| {
            call.function == Function::GetLock && name.is_none()
        };
        let calls_untold = calls.any(gets);
        let runs_others = self.uses.calls.is_empty() && self.takes();
        let text = || self.statement.text.clone();
        (calls_untold || runs_others).then(|| UntoldStatement { text: text(), calls: calls_untold })
    }

    /// A copy of this text that is run in a way that Lockstead would refuse.
    pub(crate) fn refused(&self, why: &'static str) -> Self {
        let coverage = Coverage::Refused(why);
        let statement = SeenStatement { coverage, ..SeenStatement::clone(&self.statement) };
        let uses = Uses { alone: None, ..self.uses.clone() };
        Self { statement: Arc::new(statement), uses }
    }
}

/// Whether a text tells the name of each lock by itself.
fn tells(uses: &Uses) -> bool {
    let told = |name: &Written| match name {
        Written::Literal(name) | Written::Double(name) => is_plain(name),
        Written::None => true,
        Written::Parameter(_) | Written::Computed => false,
    };
    !uses.calls.is_empty() && uses.calls.iter().all(|call| told(&call.name))
}

/// A statement that runs others, as it is shown.
pub(crate) fn runs_unknown(text: &[u8], dialect: Dialect) -> WatchedText {
    WatchedText::unknown(normalise(text, dialect, SHOWN))
}

/// A prepared statement.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub text: Arc<WatchedText>,
    /// Types of the last execution that bound any.
    pub types: Vec<u16>,
    /// Parameters of which data was sent ahead: it is not kept.
    pub ahead: Vec<u16>,
}

pub(crate) type BoundNames = (Vec<u16>, Vec<Option<Vec<u8>>>);

/// The types that an execution binds, and its values as names; `None` if it cannot be read.
pub(crate) fn bound(
    text: &WatchedText,
    payload: Option<&[u8]>,
    types: &[u16],
    ahead: &[u16],
    attributes: bool,
) -> Option<BoundNames> {
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
    // Only names and timeouts are told.
    let is_name = |n: usize| {
        let nth = Written::Parameter(n);
        text.uses.calls.iter().any(|c| c.name == nth || c.timeout == nth)
    };
    let values = values.enumerate().map(|(n, value)| value.filter(|_| is_name(n))).collect();
    Some((execute.types, values))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::work::{MOST, best, many_readings, plain, worked};
    use crate::types::Flavour;

    #[test]
    fn no_text_takes_an_observer_much_longer_than_a_plain_one() {
        const SIZE: usize = 16 * 1024;
        let dialect = Dialect::of(Flavour::MariaDb);
        let by = By::Query { several: true };
        let read = |text: &[u8]| {
            let began = worked();
            let read = WatchedText::read(text, dialect, by, true);
            (worked().saturating_sub(began), read)
        };
        let text = plain(SIZE);
        let usual = best(|| read(&text).0);
        for text in many_readings(SIZE) {
            let start = text[..48].escape_ascii();
            assert!(matches!(read(&text).1, Err(TooManyReadings)), "{start}");
            let took = best(|| read(&text).0);
            assert!(took < MOST * usual, "{start}: {took:?}, a plain text {usual:?}");
        }
        // Shorter texts are read, and long ones in which nothing is called.
        for text in many_readings(768) {
            assert!(read(&text).1.is_ok(), "{}", text.escape_ascii());
        }
        let other = "SELECT user_locked, 'd\u{e9}j\u{e0} vu \\ \"'".repeat(1000);
        assert!(matches!(read(other.as_bytes()).1, Ok(None)));
    }
}
