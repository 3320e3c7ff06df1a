//! Opens another connection for an account.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::backend::connection::Backend;
use crate::backend::given::SecretSource;
use crate::backend::greeted::{GreetError, Greeted, Patience, connect_to_writer};
use crate::backend::learned::LearnedSecrets;
use crate::backend::login_as::{NotOpened, OpenAs, OpenedAs, login_as};
use crate::backend::pool::{Permit, PoolKey};
use crate::frontend::shared::context::Context;
use crate::net::certificates::LegTls;
use crate::protocol::account_login::AccountLogin;
use crate::protocol::capabilities::Capabilities;
use crate::protocol::handshake::tagged_attributes;
use crate::types::ProxyId;

/// Access denied: the password is not what it was.
const DENIED: u16 = 1045;
/// How soon an address that leads to no server is tried again.
const AGAIN: Duration = Duration::from_millis(100);

/// What a connection is opened with.
pub(crate) struct NewConnection<'a> {
    /// Who may have it, among them whose it is.
    pub key: &'a Arc<PoolKey>,
    /// The first collation.
    pub collation: u8,
    /// What is known of the account.
    pub secrets: &'a LearnedSecrets,
    /// How long a writer is waited for, if none is known, or the only address leads to no server.
    pub until: Instant,
}

/// Opens one, for a client that speaks `client`. An error says why there is none.
pub(crate) async fn open_as(
    context: &Context,
    opening: &NewConnection<'_>,
    client: Capabilities,
    permit: Permit,
) -> Result<Backend, String> {
    let nothing = || NotOpened::NothingKnown.to_string();
    let (user, secrets) = (opening.key.user.certain().ok_or_else(nothing)?, opening.secrets);
    // Where one secret is refused, another one may be known.
    let mut others = 1;
    let opened = loop {
        let source = secrets.source(user).ok_or_else(nothing)?;
        match log_in_with(context, opening, client, source).await {
            Ok(opened) => {
                secrets.accepted(user, source);
                break opened;
            }
            Err(e @ NotOpened::Refused { code: DENIED, .. }) => {
                secrets.refused(user, source);
                if others == 0 {
                    return Err(e.to_string());
                }
                others -= 1;
            }
            Err(e) => {
                secrets.untried(user, source);
                return Err(e.to_string());
            }
        }
    };
    let tag = context.engine.lease().proxy();
    let OpenedAs { leg, greeting, opened, to, capabilities, .. } = opened;
    let backend = Backend::new(leg, &greeting, opened, to, capabilities);
    Ok(backend.shared(Arc::clone(opening.key), client, true, tag, permit))
}

/// Connects to the writer. If there is but one address, it may lead to the next server in a moment: a session that has
/// begun waits for that.
async fn connect(context: &Context, until: Instant) -> Result<Greeted, GreetError> {
    let writer = context.reach.writer();
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let patience = context.patience();
        let patience = Patience { writer: patience.writer.min(left), ..patience };
        let greeted = connect_to_writer(writer, patience, None).await;
        context.reach.heard(&greeted);
        let is_away = matches!(greeted, Err(GreetError::Io(_) | GreetError::Silent(_)));
        if !is_away || writer.is_chosen() || left <= AGAIN {
            return greeted;
        }
        sleep(AGAIN).await;
    }
}

async fn log_in_with(
    context: &Context,
    opening: &NewConnection<'_>,
    client: Capabilities,
    source: SecretSource,
) -> Result<OpenedAs, NotOpened> {
    let config = &context.config;
    let greeted = connect(context, opening.until).await;
    if greeted.is_err() {
        // When it is back, its accounts may be others.
        opening.secrets.admissions().clear();
    }
    let greeted = greeted.map_err(NotOpened::Ungreeted)?;
    let tag = context.engine.lease().proxy();
    let attributes = tagged_attributes(&[], tag.unwrap_or(ProxyId(0)).to_string().as_bytes());
    let asked = client.without(Capabilities::HOPS).with(Capabilities::SESSION_TRACK);
    let connector = context.hops.connector().filter(|_| opening.key.tls != LegTls::Off);
    let wanted = OpenAs {
        login: AccountLogin {
            user: opening.key.user.bytes(),
            capabilities: asked,
            collation: opening.collation,
            // The schema is selected with the rest of the state: it may be gone.
            schema: None,
            attributes: &attributes,
        },
        secrets: opening.secrets,
        source,
        tls: connector.map(|connector| (&**connector, &opening.key.tls)),
        limit: config.login_timeout,
    };
    login_as(greeted, &wanted).await
}
