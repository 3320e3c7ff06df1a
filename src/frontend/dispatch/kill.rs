//! KILL of a session with shared connections, whose id the server does not know.

use std::ops::Range;

use crate::engine::handle::SessionEvent;
use crate::frontend::link::close_reason::CloseReason;
use crate::frontend::link::reply::Reply;
use crate::frontend::locks::call_context::CallContext;
use crate::lock::codes;
use crate::protocol::command::{Command, Shape};
use crate::protocol::frame::{HEADER, put_frame};
use crate::protocol::packet;
use crate::types::{BackendId, ConnectionId};

/// A KILL statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Kill {
    /// Where the number stands.
    span: Range<usize>,
    victim: ConnectionId,
    /// It ends a statement, not the session.
    query: bool,
}

impl Kill {
    /// Reads a text that is nothing but a KILL with a number.
    pub(crate) fn read(text: &[u8]) -> Option<Self> {
        let mut query = false;
        let mut words = Words { text, at: 0 };
        if !words.next()?.1.eq_ignore_ascii_case(b"kill") {
            return None;
        }
        loop {
            let (span, word) = words.next()?;
            let word = word.to_ascii_lowercase();
            match &*word {
                b"hard" | b"soft" | b"connection" => {}
                b"query" => query = true,
                number if number.iter().all(u8::is_ascii_digit) => {
                    let victim = std::str::from_utf8(number).ok()?.parse().ok()?;
                    let ends = words.next().is_none();
                    return ends.then_some(Self { span, victim: ConnectionId(victim), query });
                }
                _ => return None,
            }
        }
    }

    /// The statement for the server, which knows the session's connection.
    fn of_backend(&self, text: &[u8], backend: BackendId) -> Vec<u8> {
        let Range { start, end } = self.span;
        [&text[..start], backend.to_string().as_bytes(), &text[end..]].concat()
    }
}

/// Words between white space and semicolons.
struct Words<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Words<'a> {
    fn next(&mut self) -> Option<(Range<usize>, &'a [u8])> {
        let parts = |byte: &u8| byte.is_ascii_whitespace() || *byte == b';';
        let rest = &self.text[self.at..];
        let start = self.at + rest.iter().position(|byte| !parts(byte))?;
        let rest = &self.text[start..];
        self.at = start + rest.iter().position(parts).unwrap_or(rest.len());
        Some((start..self.at, &self.text[start..self.at]))
    }
}

/// Carries out a KILL. The server judges who may, as far as the victim has a connection there.
pub(crate) async fn run_kill(
    cx: &mut CallContext<'_>,
    packet: &[u8],
    at: usize,
    kill: &Kill,
) -> Result<(), CloseReason> {
    let (prefix, text) = packet[HEADER..].split_at(at);
    let cluster = cx.context.cluster.clone();
    let Some(victim) = cx.context.registry.session(cluster.as_deref(), kill.victim) else {
        return cx.forward(packet);
    };
    cx.count(Command::QUERY);
    // It goes to no other session after this one.
    if let Some(backend) = victim.shown.backend.condemn() {
        let packet = packet::command(&[prefix, &kill.of_backend(text, backend)]);
        let reply = cx.exchange(&packet, Shape::Results).await?;
        let told = with_own_id(&reply, backend, kill.victim);
        return cx.send_client(&told);
    }
    let user = |owner: &[u8]| owner.iter().rposition(|b| *b == b'@').map(|at| owner[..at].to_vec());
    if user(&victim.shown.owner) != user(cx.identity.owner()) {
        return cx.refuse(&codes::not_owner(kill.victim.0));
    }
    if !kill.query {
        let _ = victim.events.send(SessionEvent::Stop);
    }
    let [low, high] = cx.lasting_status().0.to_le_bytes();
    let mut out = Vec::new();
    put_frame(&mut out, 1, &[0, 0, 0, low, high, 0, 0]);
    cx.send_client(&out)
}

/// The server's reply, with the session's id in place of its connection's.
fn with_own_id(reply: &Reply, backend: BackendId, own: ConnectionId) -> Vec<u8> {
    let Some(payload) = reply.bytes.get(HEADER..).filter(|_| reply.is_error()) else {
        return reply.bytes.clone();
    };
    let (from, to) = (backend.to_string(), own.to_string());
    let Some(at) = memchr::memmem::rfind(payload, from.as_bytes()) else {
        return reply.bytes.clone();
    };
    let mut out = Vec::new();
    let parts = [&payload[..at], to.as_bytes(), &payload[at + from.len()..]];
    put_frame(&mut out, 1, &parts.concat());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kill_is_read_and_its_number_replaced() {
        let read = |text: &str| Kill::read(text.as_bytes());
        for (text, query, sent) in [
            ("KILL 1073741825", false, "KILL 77"),
            (" kill query 1073741825 ; ", true, " kill query 77 ; "),
            ("KILL HARD CONNECTION\n1073741825", false, "KILL HARD CONNECTION\n77"),
        ] {
            let kill = read(text).expect(text);
            assert_eq!((kill.victim, kill.query), (ConnectionId(0x4000_0001), query), "{text}");
            assert_eq!(kill.of_backend(text.as_bytes(), BackendId(77)), sent.as_bytes());
        }
        for text in ["", "KILL", "KILL x", "KILL 1 2", "KILLER 1", "KILL QUERY ID 5", "SELECT 1"] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
