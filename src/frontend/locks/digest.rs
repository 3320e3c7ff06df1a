//! Counting statements with lock calls by their shape.

use std::time::Duration;

use super::call_context::CallContext;
use crate::clock;
use crate::frontend::shared::context::Context;
use crate::frontend::shared::digests::{DigestEvent, SHOWN};
use crate::metrics::CallOutcome;
use crate::sql::report::digest_text::normalise;

/// When a call begins, if that is to be known.
pub(crate) fn call_begins(context: &Context) -> Option<Duration> {
    (context.config.digests > 0).then(clock::now)
}

/// Counts a call, for the statement that it stands in.
pub(crate) fn count_call(
    cx: &CallContext<'_>,
    text: &[u8],
    outcome: CallOutcome,
    began: Option<Duration>,
) {
    if let Some(began) = began {
        let time = clock::now().saturating_sub(began);
        let shape = normalise(text, cx.dialect(), SHOWN);
        count(cx.context, shape, DigestEvent::Call(outcome, time));
    }
}

/// Counts a statement that is not covered.
pub(crate) fn count_uncovered(context: &Context, shape: String) {
    count(context, shape, DigestEvent::Uncovered);
}

fn count(context: &Context, shape: String, event: DigestEvent) {
    let most = context.config.digests;
    if most > 0 {
        context.digests.count(shape, &event, most);
    }
}
