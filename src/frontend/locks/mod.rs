//! Lock calls: their arguments, what they do, the wait, the reply.

pub(super) mod arguments;
pub(super) mod attend;
pub(super) mod bare_call;
pub(super) mod call_context;
pub(super) mod commit_fence;
pub(super) mod ended_wait;
#[cfg(test)]
pub(super) mod fakes;
mod late;
pub(super) mod lock_owner;
pub(super) mod operations;
pub(super) mod owner;
pub(super) mod pending_claim;
pub(super) mod reading;
pub(super) mod reply;
pub(super) mod server;
pub(super) mod unsupported;
pub(super) mod visible_wait;
pub(super) mod wait;
pub(super) mod write_fence;
