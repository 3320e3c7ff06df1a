//! The client side: accepting, logging in, relaying, answering lock calls, ending.
//!
//! The floors, the lowest first: what sessions share, the observer, the state of pooled sessions, the legs of a
//! session, its state, lock calls. Above them: mode coexist, statements with calls in them, prepared statements, the
//! decision about a command, the login, the session, the listener. A file imports from its own floor and those below.

pub mod accept;
mod coexist;
mod dispatch;
// Peers choose its bytes.
#[deny(clippy::indexing_slicing, clippy::string_slice)]
mod link;
mod locks;
pub mod login;
#[deny(clippy::indexing_slicing, clippy::string_slice)]
mod moves;
mod observe;
mod pooling;
mod prepared;
pub mod session;
pub mod shared;
mod state;
mod statements;
