//! What a session's observer knows: texts with lock calls, and what came of them.

pub(super) mod observer;
pub(super) mod pending_response;
pub(super) mod statement;
