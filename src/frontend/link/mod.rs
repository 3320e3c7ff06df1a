//! Both legs of a session, and what is owed on them.

pub(in crate::frontend) mod discard;
pub(in crate::frontend) mod large_packets;
pub(in crate::frontend) mod pending;
pub(in crate::frontend) mod presence;
pub mod relay;
pub(in crate::frontend) mod server_query;
