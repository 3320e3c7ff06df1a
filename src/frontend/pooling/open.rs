//! Opens another connection for a session's account.

use super::seat::Seat;
use crate::backend::connection::Backend;
use crate::backend::greeted::connect;
use crate::backend::login_as::{NotOpened, OpenAs, login_as};
use crate::backend::pool::Permit;
use crate::frontend::shared::context::Context;
use crate::protocol::account_login::AccountLogin;
use crate::protocol::capabilities::Capabilities;
use crate::protocol::handshake::tagged_attributes;
use crate::types::ProxyId;

/// Access denied: the password is not what it was.
const DENIED: u16 = 1045;

/// Opens one, for a client that speaks `client`. An error says why there is none.
pub(crate) async fn open_as(
    context: &Context,
    seat: &Seat,
    client: Capabilities,
    permit: Permit,
) -> Result<Backend, String> {
    let config = &context.config;
    let greeted = connect(&config.backend, config.connect_timeout, None).await;
    context.reach.heard(&greeted);
    let greeted = greeted.map_err(|e| e.to_string())?;
    let tag = context.engine.lease().proxy();
    let attributes = tagged_attributes(&[], tag.unwrap_or(ProxyId(0)).to_string().as_bytes());
    let asked = client.without(Capabilities::HOPS).with(Capabilities::SESSION_TRACK);
    let connector = context.hops.connector().filter(|_| seat.key.tls);
    let wanted = OpenAs {
        login: AccountLogin {
            user: &seat.key.user,
            capabilities: asked,
            collation: seat.collation,
            schema: seat.state.schema.as_deref(),
            attributes: &attributes,
        },
        secrets: &seat.secrets,
        tls: connector.map(AsRef::as_ref),
        limit: config.login_timeout,
    };
    let opened = login_as(greeted, &wanted).await.map_err(|e| {
        if matches!(e, NotOpened::Refused { code: DENIED, .. }) {
            seat.secrets.forget(&seat.key.user);
        }
        e.to_string()
    })?;
    let schemaless = seat.state.schema.is_none();
    let backend = Backend::new(opened.leg, &opened.greeting, opened.opened, opened.capabilities);
    Ok(backend.shared(seat.key.clone(), client, schemaless, tag, permit))
}
