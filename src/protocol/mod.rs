//! MySQL's wire protocol as pure functions over bytes: no socket, no clock.

// Peers choose these bytes.
#![deny(clippy::indexing_slicing, clippy::string_slice)]

pub mod account_login;
pub mod amend;
pub mod attributes;
pub mod auth;
pub mod capabilities;
pub mod column;
pub mod command;
pub mod cut;
mod ending;
pub mod error_replacement;
pub mod frame;
mod grammar;
pub mod handshake;
pub mod host_block_guard;
pub mod own_greeting;
pub mod packet;
pub mod params;
pub mod reader;
pub mod recover;
pub mod renumber;
pub mod reply;
pub mod response;
pub mod serve;
pub mod session_track;
pub mod statement_ids;
pub mod status;
pub mod user_name;
