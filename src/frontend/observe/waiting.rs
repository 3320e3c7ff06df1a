//! The wait that a watched statement may be: as far as its text and the bound values show.

use super::arguments::{given, lock};
use super::pending_response::About;
use crate::frontend::shared::waits::{LockWait, WaitCertainty, WaitingSession};
use crate::lock::function::Function;
use crate::lock::timeout::Timeout;
use crate::sql::report::call_names::Use;
use crate::types::Flavour;

/// Shown in place of a name where a statement may wait for one of several locks, or only the server knows for which.
const SEVERAL: &[u8] = b"<several>";
const COMPUTED: &[u8] = b"<computed>";

/// The wait of a command that is about to be forwarded, if it may wait for a lock.
pub(crate) fn wait_of(about: &About, flavour: Flavour, who: WaitingSession) -> Option<LockWait> {
    let About::Run(text, values) = about else { return None };
    if !text.takes() {
        return None;
    }
    let calls = &text.uses.calls;
    let gets: Vec<&Use> = calls.iter().filter(|c| c.function == Function::GetLock).collect();
    let certainty = match (text.uses.alone, gets.is_empty()) {
        (Some(_), false) => WaitCertainty::Waits,
        (None, false) => WaitCertainty::Calls,
        (_, true) => WaitCertainty::MayCall,
    };
    let (key, name, timeout) = match gets.as_slice() {
        [call] => {
            let name = given(&call.name, values, true);
            let shown = || lock(call, values, true, flavour).name.as_bytes().into();
            let key = name.and_then(|name| name.plain(flavour)).map(|name| name.key);
            let timeout = given(&call.timeout, values, true).and_then(|t| t.timeout(flavour));
            (key, name.map_or_else(shown, |name| name.bytes().into()), timeout)
        }
        [] => (None, COMPUTED.into(), None),
        _ => (None, SEVERAL.into(), None),
    };
    let measured = !matches!(timeout, Some(Timeout::Once | Timeout::Refused));
    Some(LockWait { who, key, name, certainty, measured })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::frontend::observe::statement::WatchedText;
    use crate::sql::lexer::dialect::Dialect;
    use crate::sql::report::coverage::By;
    use crate::types::ConnectionId;

    #[test]
    fn a_wait_is_shown_as_far_as_the_statement_tells() {
        let (flavour, by) = (Flavour::MySql, By::Query { several: false });
        let who = WaitingSession { conn: ConnectionId(1), backend: None, owner: b""[..].into() };
        for (sql, value, expected) in [
            ("SELECT GET_LOCK('Job', 40)", "", Some(("Job", true, WaitCertainty::Waits, true))),
            ("DO GET_LOCK(\"Job\", -1)", "", Some(("Job", true, WaitCertainty::Waits, true))),
            ("SELECT GET_LOCK('Job', 0)", "", Some(("Job", true, WaitCertainty::Waits, false))),
            ("SELECT GET_LOCK(?, 9)", "Job", Some(("Job", true, WaitCertainty::Waits, true))),
            ("SELECT GET_LOCK(?, 9)", "", Some(("<parameter>", false, WaitCertainty::Waits, true))),
            ("SELECT GET_LOCK(@a, 9)", "", Some(("<computed>", false, WaitCertainty::Waits, true))),
            ("SELECT 1, GET_LOCK('a', 9)", "", Some(("a", true, WaitCertainty::Calls, true))),
            (
                "SELECT GET_LOCK('a', 9), GET_LOCK('b', 9)",
                "",
                Some(("<several>", false, WaitCertainty::Calls, true)),
            ),
            ("SELECT RELEASE_LOCK('a')", "", None),
            ("SELECT IS_USED_LOCK('a')", "", None),
        ] {
            let text = WatchedText::read(sql.as_bytes(), Dialect::of(flavour), by, false);
            let text = text.ok().flatten().expect("it calls");
            let value = Some(value.as_bytes().to_vec()).filter(|value| !value.is_empty());
            let about = About::Run(Arc::new(text), vec![value]);
            let wait = wait_of(&about, flavour, who.clone());
            let seen = wait.as_ref().map(|wait| {
                let name = std::str::from_utf8(&wait.name).expect("text");
                (name, wait.key.is_some(), wait.certainty, wait.measured)
            });
            assert_eq!(seen, expected, "{sql}");
        }
    }
}
