//! Limits and times of administrators' connections.

use std::time::Duration;

/// The version that clients are shown: one that they take for a server's, and the proxy's own.
pub(super) const VERSION: &str = concat!("8.4.0-lockstead-", env!("CARGO_PKG_VERSION"));
/// Longest command taken, in bytes.
pub(super) const MAX_COMMAND: usize = 64 * 1024;
/// A connection without a command for this long is closed. A machine that is gone is noticed sooner
/// (`net::socket::set_tcp_options`).
pub(super) const IDLE: Duration = Duration::from_hours(8);
/// Limit of a login.
pub(super) const LOGIN: Duration = Duration::from_secs(10);
/// How long the client may take to read an answer.
pub(super) const ANSWER: Duration = Duration::from_mins(1);
/// Connections at once, of one entrance.
pub(super) const CONNECTIONS: usize = 32;
/// Logins under way at once, of one entrance.
pub(super) const LOGINS: usize = 32;
