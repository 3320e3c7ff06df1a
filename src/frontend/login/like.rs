//! What makes logins alike, and what one that the server judges leaves for others.

use std::sync::Arc;

use tokio::time::Instant;

use crate::backend::admissions::{JudgedLogin, KnownGreeting, LoginShape, Round};
use crate::frontend::shared::context::Context;
use crate::lock::codes::of_server;
use crate::net::certificates::LegTls;
use crate::protocol::auth::Method;
use crate::protocol::frame::HEADER;
use crate::protocol::handshake::Login;
use crate::protocol::recover::Scheme;
use crate::types::Flavour;

/// After the header and the 0xff of an error: its number, and a mark before its SQLSTATE.
const MARK: usize = HEADER + 3;

/// A login that the server is about to judge, by which others may be let in.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asking {
    at: Instant,
    round: Round,
}

impl Asking {
    /// `None`: no login counts for others.
    pub(super) fn if_allowed(context: &Context) -> Option<Self> {
        let shared = context.shared.as_ref()?;
        let counts = !context.config.pooling.login_check_ttl.is_zero();
        let round = shared.secrets.admissions().round();
        counts.then(|| Self { at: Instant::now(), round })
    }
}

/// What makes a login like another one, with a leg to the server that is encrypted so. `None`: only the server can tell
/// whose it is.
pub(super) fn shape(login: &Login<'_>, tls: LegTls, flavour: Flavour) -> Option<LoginShape> {
    let user = login.user_name(flavour);
    user.certain()?;
    Some(LoginShape {
        user,
        capabilities: login.capabilities,
        collation: login.collation,
        schema: login.database.into(),
        tls,
    })
}

/// A login that the server has accepted by a password that is known. `None`: no answer to a nonce proves it, or it is like
/// no other.
pub(super) fn judged(
    login: &Login<'_>,
    tls: LegTls,
    method: &Method,
    (ok, greeting): (&[u8], KnownGreeting),
    Asking { at: asked, round }: Asking,
) -> Option<Box<JudgedLogin>> {
    Scheme::of_plugin(&method.plugin)?;
    let (plugin, ok) = (method.plugin.clone(), ok.get(HEADER..)?.to_vec());
    let shape = shape(login, tls, greeting.greeting.flavour)?;
    let greeting = Arc::new(greeting);
    Some(Box::new(JudgedLogin { shape, plugin, ok, greeting, asked, round }))
}

/// The error of a server that has no greeting, for a client that has been greeted if `next` is not 0.
pub(super) fn renumbered(mut frame: Vec<u8>, next: u8) -> Vec<u8> {
    if next > 0 && frame.get(MARK) != Some(&b'#') && frame.len() >= MARK {
        let code = u16::from_le_bytes([frame[HEADER + 1], frame[HEADER + 2]]);
        let mut out = Vec::new();
        of_server(code, &String::from_utf8_lossy(&frame[MARK..])).encode(&mut out, next, false);
        return out;
    }
    if let Some(sequence) = frame.get_mut(HEADER - 1) {
        *sequence = next;
    }
    frame
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::frame::put_frame;

    #[test]
    fn an_error_in_place_of_a_greeting_suits_a_client_that_has_been_greeted() {
        let error = |payload: &[u8]| {
            let mut frame = Vec::new();
            put_frame(&mut frame, 0, payload);
            frame
        };
        let plain = error(b"\xff\x10\x04Too many connections");
        assert_eq!(renumbered(plain.clone(), 0), plain);
        let with_state = renumbered(plain, 2);
        assert_eq!(&with_state[HEADER - 1..], b"\x02\xff\x10\x04#08004Too many connections");
        let stated = renumbered(error(b"\xff\x10\x04#08004Too many connections"), 3);
        assert_eq!(&stated[HEADER - 1..], b"\x03\xff\x10\x04#08004Too many connections");
        assert_eq!(renumbered(Vec::new(), 1), Vec::<u8>::new());
    }
}
