//! The beginning of a session: on the connection on which the server has let it in, or without one.

use std::sync::Arc;

use crate::backend::admissions::JudgedLogin;
use crate::backend::connection::Backend;
use crate::engine::handle::EventSender;
use crate::engine::shared::current_backend::CurrentBackend;
use crate::frontend::link::Link;
use crate::frontend::link::guard::LeaseGuard;
use crate::frontend::login::{Authenticated, LoginStanding};
use crate::frontend::moves::begin::{begin_known, share};
use crate::frontend::pooling::pooled_login::{LoginAt, logged_in, without_connection};
use crate::frontend::shared::context::Context;

/// A session's legs, and what it is to ask the server first.
pub(super) struct Begun {
    pub(super) link: Link,
    /// The login that the server has judged, by which others may be let in.
    pub(super) judged: Option<Box<JudgedLogin>>,
}

/// Joins the legs of a login. `current` becomes the server's connection, if there is one.
pub(super) fn join_legs(
    login: Authenticated,
    current: &CurrentBackend,
    guard: Arc<LeaseGuard>,
    events: &EventSender,
    context: &Context,
) -> Begun {
    let Authenticated { client, greeting, opened, capabilities, connection, account, .. } = login;
    let id = if greeting.has_id() { greeting.connection } else { connection.of_one_backend() };
    match login.standing {
        LoginStanding::Asked { server, to, judged } => {
            current.set(id, None, Some(to.clone()));
            current.note_mark(account.tag);
            let server = Backend::new(server, &greeting, opened, to, capabilities);
            let (server, pooled) = logged_in(server, account, current, events, context);
            let mut link = Link::new(client, Some(server), capabilities, guard, context);
            link.learn_status(&login.ok);
            if let Some(pooled) = pooled {
                // A server that has gone meanwhile is noticed at the next command.
                let _ = share(&mut link, pooled);
            }
            Begun { link, judged }
        }
        LoginStanding::Known { values } => {
            let (flavour, version) = (greeting.flavour, greeting.version_number());
            let at = LoginAt { capabilities, flavour, version, current, events, context };
            let pooled = without_connection(account, at);
            let mut link = Link::new(client, None, capabilities, guard, context);
            link.learn_status(&login.ok);
            if let Some(pooled) = pooled {
                begin_known(&mut link, pooled, &values);
            }
            Begun { link, judged: None }
        }
    }
}
