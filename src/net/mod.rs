//! The two legs of a session: sockets, TLS, compression, and the buffers they share.

pub mod announce;
pub mod buffers;
pub mod certificates;
pub mod compression;
pub mod dates;
pub mod expiry;
pub mod leg;
mod packing;
pub mod peer;
pub mod room;
pub mod self_signed;
pub mod socket;
pub mod tls;
pub mod tls_error;
