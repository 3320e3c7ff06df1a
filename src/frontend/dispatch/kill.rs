//! KILL of a session with shared connections, whose id the server does not know.

use std::borrow::Cow;
use std::ops::Range;

use super::kill_computed::computed;
use super::kill_rights::{KillRights, rights_over};
use crate::engine::handle::SessionEvent;
use crate::frontend::link::close_reason::CloseReason;
use crate::frontend::link::reply::Reply;
use crate::frontend::locks::call_context::CallContext;
use crate::frontend::shared::registry::FoundSession;
use crate::lock::codes;
use crate::protocol::command::Command;
use crate::protocol::frame::{HEADER, put_frame};
use crate::protocol::packet;
use crate::protocol::response::Ending;
use crate::sql::find::first_word::after_comments;
use crate::sql::find::prefilter::scan;
use crate::store::identity::same_run;
use crate::types::{BackendId, ConnectionId};

const OWN_ID: &[u8] = b"connection_id";

/// Bytes of an error packet before its text: the byte that marks it, the number, and the SQLSTATE after a `#`.
const ERROR_HEAD: usize = 9;

/// ER_NO_SUCH_THREAD.
const NO_SUCH_THREAD: u16 = 1094;
/// ER_KILL_DENIED_ERROR.
const NOT_OWNER: u16 = 1095;
/// ER_QUERY_INTERRUPTED.
const INTERRUPTED: u16 = 1317;
/// ER_CONNECTION_KILLED, of MariaDB.
const KILLED: u16 = 1927;

/// A KILL statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Kill {
    victim: KillTarget,
    /// KILL QUERY: ends a statement, not the session.
    query: bool,
}

/// The session that a KILL names.
#[derive(Debug, Clone, PartialEq, Eq)]
enum KillTarget {
    /// By a number, which stands there.
    Numbered(Range<usize>, ConnectionId),
    /// By CONNECTION_ID(): the session itself.
    Itself,
    /// By an expression, which stands there.
    Computed(Range<usize>),
}

impl Kill {
    /// Reads a text that is nothing but a KILL. `None`: it is another one, or names its victim in a way of MariaDB's own, or
    /// by a parameter.
    pub(crate) fn read(text: &[u8]) -> Option<Self> {
        let mut query = false;
        let mut words = Words { text, at: after_comments(text) };
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
                    let victim = KillTarget::Numbered(span, ConnectionId(victim));
                    return ends.then_some(Self { victim, query });
                }
                _ if !query && is_own_id(&text[span.start..]) => {
                    return Some(Self { victim: KillTarget::Itself, query });
                }
                b"user" | b"id" => return None,
                _ => {
                    let blank = |byte: &u8| byte.is_ascii_whitespace() || *byte == b';';
                    let end = text.iter().rposition(|byte| !blank(byte)).map_or(0, |at| at + 1);
                    let span = span.start..end;
                    let is_ours = !text[span.clone()].contains(&b'?') && !scan(text).call;
                    return is_ours.then_some(Self { victim: KillTarget::Computed(span), query });
                }
            }
        }
    }

    /// The session's id. `None`: it is yet to be computed.
    fn victim(&self, cx: &CallContext<'_>) -> Option<ConnectionId> {
        match self.victim {
            KillTarget::Numbered(_, id) => Some(id),
            KillTarget::Itself => Some(cx.identity.connection()),
            KillTarget::Computed(_) => None,
        }
    }

    /// The session that it ends.
    fn found(&self, cx: &CallContext<'_>) -> Option<ConnectionId> {
        self.victim(cx).filter(|id| find(cx, *id).is_some())
    }

    /// The statement for the server, which knows the session's connection.
    fn of_backend(&self, text: &[u8], backend: BackendId) -> Vec<u8> {
        let KillTarget::Numbered(Range { start, end }, _) = self.victim else {
            return text.to_vec();
        };
        [&text[..start], backend.to_string().as_bytes(), &text[end..]].concat()
    }
}

/// Whether this is CONNECTION_ID(), and nothing after it.
fn is_own_id(text: &[u8]) -> bool {
    let Some((name, rest)) = text.split_at_checked(OWN_ID.len()) else { return false };
    let mut call = rest.iter().filter(|byte| !byte.is_ascii_whitespace());
    let called = call.next() == Some(&b'(') && call.next() == Some(&b')');
    name.eq_ignore_ascii_case(OWN_ID) && called && call.all(|byte| *byte == b';')
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

/// A KILL as it was sent.
struct SentKill<'a> {
    packet: &'a [u8],
    victim: ConnectionId,
    /// Where a statement's text begins in the packet's payload, and what it says; `None`: COM_PROCESS_KILL.
    text: Option<(usize, &'a Kill)>,
}

impl SentKill<'_> {
    /// Whether the KILL ends the session, and not only its statement.
    fn ends_a_session(&self) -> bool {
        !self.text.is_some_and(|(_, kill)| kill.query)
    }

    /// What it does to a session of which the server does not know.
    fn event(&self) -> SessionEvent {
        if self.ends_a_session() { SessionEvent::Kill } else { SessionEvent::Interrupt }
    }

    /// The KILL with the id of the session's connection, which the server knows.
    fn of_backend(&self, backend: BackendId) -> Vec<u8> {
        let Some((at, kill)) = self.text else {
            let id = u32::try_from(backend.0).unwrap_or(u32::MAX);
            return packet::command(&[&[Command::PROCESS_KILL.0], &id.to_le_bytes()]);
        };
        let (prefix, text) = self.packet[HEADER..].split_at(at);
        packet::command(&[prefix, &kill.of_backend(text, backend)])
    }
}

/// Carries out a KILL.
pub(crate) async fn run_kill(
    cx: &mut CallContext<'_>,
    packet: &[u8],
    at: usize,
    kill: &Kill,
) -> Result<(), CloseReason> {
    if let KillTarget::Computed(span) = &kill.victim {
        let (prefix, text) = packet[HEADER..].split_at(at);
        let Some(text) = computed(cx, text, span).await? else { return cx.forward(packet) };
        let packet = packet::command(&[prefix, &text]);
        cx.forget_skipped();
        return match Kill::read(&text) {
            Some(kill) => run_plain(cx, &packet, at, &kill).await,
            None => cx.forward(&packet),
        };
    }
    run_plain(cx, packet, at, kill).await
}

/// Carries out a KILL whose id is in the text, so the server has nothing to compute.
async fn run_plain(
    cx: &mut CallContext<'_>,
    packet: &[u8],
    at: usize,
    kill: &Kill,
) -> Result<(), CloseReason> {
    let Some(victim) = kill.found(cx) else { return cx.forward(packet) };
    cx.count(Command::QUERY);
    carry_out(cx, &SentKill { packet, victim, text: Some((at, kill)) }).await
}

/// Carries out a KILL that was prepared from a text; the packet executes it.
pub(crate) async fn run_prepared_kill(
    cx: &mut CallContext<'_>,
    packet: &[u8],
    text: &[u8],
) -> Result<(), CloseReason> {
    let Some(mut kill) = Kill::read(text) else { return cx.forward(packet) };
    let mut text = Cow::Borrowed(text);
    if let KillTarget::Computed(span) = &kill.victim {
        let Some(plain) = computed(cx, &text, span).await? else { return cx.forward(packet) };
        let Some(read) = Kill::read(&plain) else { return cx.forward(packet) };
        (text, kill) = (Cow::Owned(plain), read);
    }
    let found = kill.found(cx);
    if found.is_none() && matches!(text, Cow::Borrowed(_)) {
        return cx.forward(packet);
    }
    cx.forget_skipped();
    let packet = packet::query(&text, cx.capabilities());
    let at = cx.text_start(&packet[HEADER..]);
    let (Some(victim), Some(at)) = (found, at) else { return cx.forward(&packet) };
    cx.count(Command::STMT_EXECUTE);
    carry_out(cx, &SentKill { packet: &packet, victim, text: Some((at, &kill)) }).await
}

/// Carries out a COM_PROCESS_KILL. Newer servers do not know it.
pub(crate) async fn run_process_kill(
    cx: &mut CallContext<'_>,
    packet: &[u8],
) -> Result<(), CloseReason> {
    let victim = match packet.get(HEADER + 1..) {
        Some(&[a, b, c, d, ..]) => ConnectionId(u64::from(u32::from_le_bytes([a, b, c, d]))),
        _ => return cx.forward(packet),
    };
    if find(cx, victim).is_none() {
        return cx.forward(packet);
    }
    cx.count(Command::PROCESS_KILL);
    carry_out(cx, &SentKill { packet, victim, text: None }).await
}

fn find(cx: &CallContext<'_>, id: ConnectionId) -> Option<FoundSession> {
    cx.context.registry.session(cx.context.cluster.as_deref(), id)
}

/// Ends a session, or its statement. The rights of the session that asks are known before anything is done to the other
/// one.
async fn carry_out(cx: &mut CallContext<'_>, sent: &SentKill<'_>) -> Result<(), CloseReason> {
    let own = sent.victim;
    let Some(victim) = find(cx, own) else {
        return cx.refuse(&codes::unknown_thread(own.0));
    };
    if sent.text.is_none() {
        let reply = cx.exchange(sent.packet).await?;
        if !is_unknown(&reply) {
            // The server does not know the command.
            return cx.send_client(&reply.bytes);
        }
    }
    match rights_over(cx, &victim.shown.user).await? {
        KillRights::Granted => {}
        KillRights::Refused => return cx.refuse(&codes::not_owner(own.0)),
        KillRights::Untold(reply) => return cx.send_client(&reply.bytes),
    }
    // A condemned connection is given to no other session after this one.
    if let Some((backend, run)) = victim.shown.backend.condemn()
        && perhaps_same_run(run, cx.identity.run())
    {
        let reply = cx.exchange(&sent.of_backend(backend)).await?;
        if !is_unknown(&reply) {
            if own == cx.identity.connection() && sent.ends_a_session() && has_killed(&reply) {
                cx.send_client(&reply.bytes)?;
                return Err(CloseReason::Killed);
            }
            if reply.is_error() {
                victim.shown.backend.pardon(backend);
            } else {
                // The victim may be idle, or wait for a lock that the server does not see: then only this event ends
                // it.
                let _ = victim.events.send(sent.event());
            }
            return cx.send_client(&with_own_id(&reply, backend, own));
        }
    }
    let _ = victim.events.send(sent.event());
    let [low, high] = cx.lasting_status().0.to_le_bytes();
    let mut out = Vec::new();
    put_frame(&mut out, 1, &[0, 0, 0, low, high, 0, 0]);
    cx.send_client(&out)
}

/// Whether the server knows no such connection.
fn is_unknown(reply: &Reply) -> bool {
    matches!(reply.ending, Ending::Err { code: NO_SUCH_THREAD })
}

/// Whether the server ends the connection that has asked for that. The statement itself is the first thing that ends.
fn has_killed(reply: &Reply) -> bool {
    match reply.ending {
        Ending::Err { code } => code == INTERRUPTED || code == KILLED,
        _ => true,
    }
}

/// Whether two connections may be of the same run of the server. If not, the id of one means another client to the other.
fn perhaps_same_run(a: Option<i64>, b: Option<i64>) -> bool {
    a.zip(b).is_none_or(|(a, b)| same_run(a, b))
}

/// The server's reply, with the session's id in place of its connection's.
fn with_own_id(reply: &Reply, backend: BackendId, own: ConnectionId) -> Vec<u8> {
    let named = matches!(reply.ending, Ending::Err { code: NO_SUCH_THREAD | NOT_OWNER });
    let changed = || renamed(reply.bytes.get(HEADER..)?, backend, own);
    named.then(changed).flatten().map_or_else(
        || reply.bytes.clone(),
        |payload| {
            let mut out = Vec::new();
            put_frame(&mut out, 1, &payload);
            out
        },
    )
}

/// An error packet with another id in its text, where the whole of a number is the connection's: each language has a place of its
/// own for it.
fn renamed(payload: &[u8], backend: BackendId, own: ConnectionId) -> Option<Vec<u8>> {
    let (head, text) = payload.split_at_checked(ERROR_HEAD).filter(|(head, _)| head[3] == b'#')?;
    let number = backend.to_string();
    let digit = |at: Option<usize>| at.and_then(|at| text.get(at)).is_some_and(u8::is_ascii_digit);
    let whole = |at: &usize| !digit(at.checked_sub(1)) && !digit(Some(at + number.len()));
    let at = memchr::memmem::find_iter(text, number.as_bytes()).find(whole)?;
    Some([head, &text[..at], own.to_string().as_bytes(), &text[at + number.len()..]].concat())
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
            ("/* app */ KILL 1073741825", false, "/* app */ KILL 77"),
            ("-- app\n# it\nKILL 1073741825", false, "-- app\n# it\nKILL 77"),
        ] {
            let kill = read(text).expect(text);
            let number = matches!(kill.victim, KillTarget::Numbered(_, ConnectionId(0x4000_0001)));
            assert_eq!((number, kill.query), (true, query), "{text}");
            assert_eq!(kill.of_backend(text.as_bytes(), BackendId(77)), sent.as_bytes());
        }
        for text in ["KILL CONNECTION_ID()", "kill\tconnection connection_id ( ) ;"] {
            let kill = read(text).expect(text);
            assert_eq!((&kill.victim, kill.query), (&KillTarget::Itself, false), "{text}");
            assert_eq!(kill.of_backend(text.as_bytes(), BackendId(77)), text.as_bytes());
        }
        for (text, expression) in [
            ("KILL QUERY CONNECTION_ID()", "CONNECTION_ID()"),
            ("kill connection connection_id() + 1 ; ", "connection_id() + 1"),
            ("KILL CONNECTION_ID", "CONNECTION_ID"),
            ("KILL\n@x", "@x"),
            ("KILL HARD (SELECT 5)", "(SELECT 5)"),
        ] {
            let kill = read(text).expect(text);
            let KillTarget::Computed(span) = kill.victim else { panic!("{text}") };
            assert_eq!(&text[span], expression);
        }
        for text in [
            "",
            "KILL",
            "KILL 1 2",
            "KILLER 1",
            "KILL QUERY ID 5",
            "KILL USER a",
            "KILL ?",
            "KILL GET_LOCK('a', 1)",
            "SELECT 1",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn only_the_text_of_an_error_names_another_id() {
        let error = |code: u16, state: &str, text: &str| {
            [&[0xff][..], &code.to_le_bytes(), b"#", state.as_bytes(), text.as_bytes()].concat()
        };
        let own = ConnectionId(1_073_741_825);
        for id in [1, 7, 10, 70, 100, 1094, 1095] {
            let theirs = error(1095, "HY000", &format!("You are not owner of thread {id}"));
            let ours = error(1095, "HY000", "You are not owner of thread 1073741825");
            assert_eq!(renamed(&theirs, BackendId(id), own), Some(ours), "{id}");
            let other = error(1317, "70100", "Query execution was interrupted");
            assert_eq!(renamed(&other, BackendId(id), own), None, "{id}");
        }
        let theirs = error(1095, "HY000", "13 3 ist nicht 31");
        let ours = error(1095, "HY000", "13 1073741825 ist nicht 31");
        assert_eq!(renamed(&theirs, BackendId(3), own), Some(ours));
        assert_eq!(renamed(b"\xff\x47\x04", BackendId(1), own), None);
    }
}
