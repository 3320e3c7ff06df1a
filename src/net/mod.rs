//! The two legs of a session: sockets, TLS, compression, and the buffers they share.

// Peers choose these bytes.
#![deny(clippy::indexing_slicing, clippy::string_slice)]

pub mod buffers;
pub mod certificate_dates;
pub mod certificate_expiry;
pub mod certificates;
pub mod compression;
pub mod leg;
mod packing;
pub mod peer;
pub mod proxy_protocol;
pub mod room;
pub mod self_signed;
pub mod socket;
pub mod tls;
pub mod tls_error;
