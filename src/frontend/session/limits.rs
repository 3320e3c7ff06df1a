//! What one session may take of the proxy. Each limit is met with a clear error and counted, and the
//! session goes on.

use std::io;

use super::{End, Session};
use crate::frontend::prepared::store::LockStatement;
use crate::frontend::shared::context::Context;
use crate::lock::codes;
use crate::lock::timeout::Timeout;
use crate::protocol::reply::ErrorReply;

impl Session {
    /// Why the session may not ask for one more lock.
    pub(in crate::frontend) fn over_limit(&self, timeout: &Timeout) -> Option<ErrorReply> {
        let Context { config, metrics, .. } = &self.context;
        let waits = !matches!(timeout, Timeout::Once | Timeout::Refused);
        let waiters = u32::try_from(metrics.waiting.get()).unwrap_or_default();
        if self.held.len() >= config.max_session_locks {
            Some(self.met("max_session_locks", config.max_session_locks as u64))
        } else if waits && config.max_waiters > 0 && waiters >= config.max_waiters {
            Some(self.met("max_waiters", u64::from(config.max_waiters)))
        } else {
            None
        }
    }

    /// Bytes that the session's prepared lock calls may still take. The rest of what a session takes
    /// is bounded by itself: buffers, and a command that is being answered.
    pub(in crate::frontend) fn room(&self) -> usize {
        let prepared: usize = self.statements.values().map(LockStatement::size).sum();
        self.context.config.max_session_memory.saturating_sub(prepared + self.named.size())
    }

    /// The refusal of what does not fit.
    pub(in crate::frontend) fn no_room(&self) -> ErrorReply {
        self.met("max_session_memory", self.context.config.max_session_memory as u64)
    }

    /// The end of a session whose peer could not be read.
    pub(in crate::frontend) fn unread(&self, error: &io::Error, gone: End) -> End {
        if error.kind() != io::ErrorKind::OutOfMemory {
            return gone;
        }
        self.context.metrics.limits.with_label_values(&["unpacking"]).inc();
        End::Broken("all sessions together have no more memory for long compressed packets")
    }

    fn met(&self, key: &str, value: u64) -> ErrorReply {
        self.context.metrics.limits.with_label_values(&[key]).inc();
        codes::limit_met(&self.owner, key, value)
    }
}
