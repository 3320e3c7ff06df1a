//! Sockets: options every connection gets, and the buffers they share.

pub mod buffers;
pub mod socket;
