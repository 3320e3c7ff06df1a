//! Peers that cannot be followed: the session ends, and nobody gets the connection.

use std::io;

use super::Link;
use super::close_reason::CloseReason;
use crate::protocol::command::Command;
use crate::protocol::frame::HEADER;

/// The response under way, or the one that is owed next, cannot be followed.
pub(super) fn cannot_follow(link: &Link, why: &'static str) -> CloseReason {
    let command = link.owed.front().map_or("none", |next| next.command.label());
    bad_response(link, command, why)
}

/// What the server says in answer to a command of this kind cannot be followed. What it says after that may be the
/// answer to anything, so nobody may have the connection.
pub(super) fn bad_response(link: &Link, command: &'static str, why: &'static str) -> CloseReason {
    link.metrics.protocol_errors.with_label_values(&[command]).inc();
    CloseReason::BadResponse(command, why)
}

/// Counts an answer to a packet of the proxy's own that breaks the protocol.
pub(super) fn bad_answer(link: &Link, packet: &[u8], why: &'static str) -> CloseReason {
    let command = Command(packet.get(HEADER).copied().unwrap_or(0));
    bad_response(link, command.label(), why)
}

/// The end of a session whose peer could not be read.
pub(super) fn unread(link: &Link, error: &io::Error, gone: CloseReason) -> CloseReason {
    match (error.kind(), &gone) {
        (io::ErrorKind::OutOfMemory, _) => {}
        (io::ErrorKind::InvalidData, CloseReason::ServerGone) => {
            return cannot_follow(link, "bytes that cannot be read");
        }
        _ => return gone,
    }
    link.metrics.limits.with_label_values(&["unpacking"]).inc();
    CloseReason::Broken("there is no memory left for long compressed packets of all sessions")
}
