//! The end of a run of a watched statement: its calls are counted as the proxy's own are.

use std::sync::Arc;

use super::arguments::given;
use super::pending_response::{About, Seen};
use super::statement::WatchedText;
use crate::frontend::shared::context::Context;
use crate::frontend::shared::waits::WaitGuard;
use crate::lock::function::Function;
use crate::metrics::CallOutcome;
use crate::observe::event::Outcome;
use crate::protocol::response::Ending;
use crate::sql::report::call_names::Use;
use crate::sql::report::coverage::Coverage;

/// Errors by which the server ends a wait: KILL QUERY, a time limit of MySQL's or MariaDB's.
const ENDED: [u16; 3] = [1317, 3024, 1969];
/// A wait was given up to end a deadlock: MySQL's error, and MariaDB's, which has more than one meaning.
const DEADLOCK: u16 = 3058;
const ANY_DEADLOCK: u16 = 1213;

/// A run of a watched statement that has ended, and whose wait has not: the client does not have the answer yet.
#[derive(Debug)]
pub(crate) struct RunEnd {
    text: Arc<WatchedText>,
    outcome: CallOutcome,
    deadlock: bool,
    wait: Option<WaitGuard>,
}

impl RunEnd {
    /// Of a response that has ended; `None` if it was not one to a run.
    pub(crate) fn of(seen: &mut Seen, ending: Ending) -> Option<Self> {
        let About::Run(text, values) = &seen.about else { return None };
        let (outcome, deadlock) = outcome(text, values, seen.outcome(ending), ending);
        let text = Arc::clone(text);
        Some(Self { text, outcome, deadlock, wait: seen.wait.take() })
    }

    /// Whether the only call is a GET_LOCK, and the response says 1.
    pub(crate) fn is_granted(&self) -> bool {
        let calls = self.text.uses.calls.as_slice();
        let gets = matches!(calls, [call] if call.function == Function::GetLock);
        gets && self.outcome == CallOutcome::One
    }

    /// Counts its calls. `instead`: what GET_LOCK has come to if the client gets another answer than the server's.
    pub(crate) fn count(self, context: &Context, instead: Option<CallOutcome>) {
        let Self { text, outcome, deadlock, wait } = self;
        drop(wait);
        if deadlock {
            context.metrics.deadlocks.with_label_values(&["server"]).inc();
        }
        if text.statement.coverage == Coverage::Passed && outcome == CallOutcome::Untold {
            context.metrics.definitions.inc();
        }
        for call in &text.uses.calls {
            let instead = instead.filter(|_| call.function == Function::GetLock);
            context.metrics.call(call.function, instead.unwrap_or(outcome));
        }
    }
}

/// What the calls of a statement came to, as far as its response tells; and whether a deadlock has ended it.
fn outcome(
    text: &WatchedText,
    values: &[Option<Vec<u8>>],
    seen: Outcome,
    ending: Ending,
) -> (CallOutcome, bool) {
    let alone = text.uses.alone.is_some();
    let gets = |call: &Use| call.function == Function::GetLock;
    let outcome = match (ending, seen) {
        (Ending::Err { code }, _) => {
            let deadlock = (code == DEADLOCK || (code == ANY_DEADLOCK && alone))
                && text.uses.calls.iter().any(gets);
            let ended = deadlock || ENDED.contains(&code);
            return (if ended { CallOutcome::Ended } else { CallOutcome::Native }, deadlock);
        }
        (_, Outcome::One) => CallOutcome::One,
        (_, Outcome::Zero) => CallOutcome::Zero,
        // A wait for a lock that has a name answers NULL if it was ended.
        (_, Outcome::Null) => match text.uses.calls.as_slice() {
            [call] if gets(call) && given(&call.name, values, true).is_some() => CallOutcome::Ended,
            _ => CallOutcome::Null,
        },
        (_, Outcome::Error | Outcome::Untold) => CallOutcome::Untold,
    };
    (outcome, false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::lexer::dialect::Dialect;
    use crate::sql::report::coverage::By;
    use crate::types::Flavour;

    #[test]
    fn calls_come_to_what_the_response_tells() {
        use CallOutcome::{Ended, Native, Null, One, Untold, Zero};
        let error = |code| Ending::Err { code };
        for (sql, seen, ending, expected, deadlock) in [
            ("SELECT GET_LOCK('a', 1)", Outcome::One, Ending::Plain, One, false),
            ("SELECT GET_LOCK('a', 1)", Outcome::Zero, Ending::Plain, Zero, false),
            ("SELECT GET_LOCK('a', 1)", Outcome::Null, Ending::Plain, Ended, false),
            ("SELECT GET_LOCK(@a, 1)", Outcome::Null, Ending::Plain, Null, false),
            ("SELECT RELEASE_LOCK('a')", Outcome::Null, Ending::Plain, Null, false),
            ("DO GET_LOCK('a', 1)", Outcome::Untold, Ending::Plain, Untold, false),
            ("SELECT 1, GET_LOCK('a', 1)", Outcome::Untold, Ending::Plain, Untold, false),
            ("SELECT GET_LOCK('a', 1)", Outcome::Error, error(1317), Ended, false),
            ("SELECT GET_LOCK('a', 1)", Outcome::Error, error(3058), Ended, true),
            ("SELECT GET_LOCK('a', 1)", Outcome::Error, error(1213), Ended, true),
            ("SELECT 1, GET_LOCK('a', 1)", Outcome::Untold, error(1213), Native, false),
            ("SELECT GET_LOCK('a', 1)", Outcome::Error, error(3057), Native, false),
        ] {
            let dialect = Dialect::of(Flavour::MySql);
            let by = By::Query { several: false };
            let text = WatchedText::read(sql.as_bytes(), dialect, by, false);
            let text = text.ok().flatten().expect("it calls");
            assert_eq!(outcome(&text, &[], seen, ending), (expected, deadlock), "{sql} {ending:?}");
        }
    }
}
