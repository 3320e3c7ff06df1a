//! A proxy between Lockstead and the server that lends the server's connections to sessions in turn, as MySQL Router
//! does with `connection_sharing`: which modes can do with that.

use crate::backend::greeted::Greeted;
use crate::config::Mode;
use crate::frontend::shared::context::Context;
use crate::frontend::shared::turned_away::TurnedAway;
use crate::lock::codes;
use crate::seldom::Turn;

/// Why sessions cannot be served over lent connections; `None` if they can. `finds_tagged`: the store account may see
/// attributes of connections. In mode durable a connection's tag then tells which session it works for.
pub fn unfit(mode: Mode, shares: bool, finds_tagged: bool) -> Option<&'static str> {
    match mode {
        Mode::Observe => None,
        Mode::Coexist => Some(
            "mode = \"coexist\" proves each lock by the id of the connection that holds it, so it needs the server's own \
             connections",
        ),
        Mode::Durable if shares => {
            Some("pooling = \"transaction\" needs the server's own connections")
        }
        Mode::Durable => (!finds_tagged).then_some(
            "Lockstead must find the connection that works for a session by its attributes: switch performance_schema \
             on at the server, and GRANT SELECT ON performance_schema.session_connect_attrs to the store account",
        ),
    }
}

/// The refusal of a session at such a proxy.
pub(super) fn refusal(greeted: &Greeted, context: &Context) -> Option<TurnedAway> {
    if greeted.greeting.has_id() {
        return None;
    }
    let why = unfit(context.config.mode, context.shared.is_some(), context.finds_tagged)?;
    let backend = greeted.to.backend().to_string();
    if let Some(Turn { left_out }) = context.lines.lent.turn() {
        tracing::warn!(
            backend,
            why,
            left_out,
            "no session: the server's connections are lent in turn"
        );
    }
    Some(TurnedAway::of("no_connection_id", codes::lent(&backend, why)))
}
