//! What one session may take of the proxy. Each limit is met with a clear error and counted, and the
//! session goes on.

use super::call_context::CallContext;
use crate::frontend::shared::context::Context;
use crate::lock::codes;
use crate::lock::timeout::Timeout;
use crate::protocol::reply::ErrorReply;

/// Why the session may not ask for one more lock.
pub(crate) fn over_limit(cx: &CallContext<'_>, timeout: &Timeout) -> Option<ErrorReply> {
    let Context { config, metrics, .. } = &cx.context;
    let waits = !matches!(timeout, Timeout::Once | Timeout::Refused);
    let waiters = u32::try_from(metrics.waiting.get()).unwrap_or_default();
    if cx.locks.ledger().held().len() >= config.max_session_locks {
        Some(met(cx, "max_session_locks", config.max_session_locks as u64))
    } else if waits && config.max_waiters > 0 && waiters >= config.max_waiters {
        Some(met(cx, "max_waiters", u64::from(config.max_waiters)))
    } else {
        None
    }
}

/// Bytes that the session's prepared lock calls may still take.
pub(crate) fn room(cx: &CallContext<'_>) -> usize {
    cx.statements.room(cx.context.config.max_session_memory)
}

/// The refusal of what does not fit.
pub(crate) fn no_room(cx: &CallContext<'_>) -> ErrorReply {
    met(cx, "max_session_memory", cx.context.config.max_session_memory as u64)
}

fn met(cx: &CallContext<'_>, key: &str, value: u64) -> ErrorReply {
    cx.context.metrics.limits.with_label_values(&[key]).inc();
    codes::limit_met(cx.identity.owner(), key, value)
}
