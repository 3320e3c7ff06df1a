//! Lock calls: their arguments, what they do, the wait, the reply.

pub(in crate::frontend) mod arguments;
pub(in crate::frontend) mod deadlock_reply;
pub mod operations;
pub(in crate::frontend) mod release;
pub(in crate::frontend) mod reply;
pub mod unsupported;
pub(in crate::frontend) mod visible_wait;
pub(in crate::frontend) mod wait;
