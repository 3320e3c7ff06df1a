//! A session that begins anew on its open connection: COM_RESET_CONNECTION and COM_CHANGE_USER.

use tokio::time::Instant;

use super::settings::Settings;
use super::{End, Session};
use crate::frontend::link::pending::Behind;
use crate::frontend::login::auth_exchange::{Broken, Exchange};
use crate::frontend::login::owner;
use crate::frontend::prepared::sql_prepare::NamedStatements;
use crate::protocol::command::{Command, Shape};
use crate::protocol::frame::HEADER;
use crate::protocol::handshake::ChangeUser;
use crate::protocol::status::Status;
use crate::types::Flavour;

impl Session {
    /// COM_RESET_CONNECTION: the server's OK comes behind its rollback; then the locks go, and
    /// then the client hears.
    pub(in crate::frontend) async fn reset(&mut self, packet: &[u8]) -> Result<(), End> {
        self.count(Command::RESET_CONNECTION);
        let reply = self.exchange(packet, Shape::Results).await?;
        if !reply.is_error() {
            self.forget_session_state();
            self.release_held().await?;
        }
        self.send_client(&reply.bytes)
    }

    fn forget_session_state(&mut self) {
        self.behind = Behind::default();
        self.settings = Settings::default();
        self.settings_prepared = false;
        self.statements.clear();
        self.named = NamedStatements::default();
        self.good_alias = None;
        self.deadlocks = 0;
    }

    /// COM_CHANGE_USER: a login on the open connection. MySQL closes it when it is denied,
    /// MariaDB goes on; both have freed the locks by then.
    pub(in crate::frontend) async fn change_user(&mut self, packet: &[u8]) -> Result<(), End> {
        self.count(Command::CHANGE_USER);
        let payload = &packet[HEADER..];
        let tag = self.context.engine.lease().proxy().map(|p| p.to_string()).unwrap_or_default();
        let change = ChangeUser::parse(payload, self.capabilities);
        let tag = Some(tag.as_bytes()).filter(|_| self.watch.is_none());
        self.drain_to_server().await?;
        self.drain_to_client().await?;
        self.check_lease()?;
        let deadline = Instant::now() + self.context.config.login_timeout;
        let mut exchange = Exchange::new(
            (&mut self.client, packet[HEADER - 1]),
            (&mut self.server, packet[HEADER - 1]),
            self.context.hops.own_key(),
            deadline,
            std::mem::take(&mut self.method),
        );
        let exchanged = async {
            let Some(change) = &change else {
                return exchange.run(payload).await;
            };
            let proof = exchange.first(change.plugin, change.proof).await?;
            exchange.run(&change.for_server(proof.as_deref(), tag)).await
        };
        let exchanged = exchanged.await;
        self.method = exchange.into_method();
        let ok = match exchanged {
            Ok(ok) => ok,
            Err(Broken::Refused(_)) => None,
            Err(Broken::Io(_)) => return Err(End::Broken("a change of user broke off")),
        };
        self.forget_session_state();
        self.watch_changed_user(change.as_ref().filter(|_| ok.is_some()));
        if ok.is_none() && self.flavour == Flavour::MySql {
            return Err(End::ServerGone);
        }
        self.release_held().await?;
        let Some(ok) = ok else { return Ok(()) };
        if let Some(change) = change {
            self.owner = owner(change.user, self.peer);
            self.show();
        }
        self.status = Status(Status::AUTOCOMMIT);
        self.learn_status(&ok);
        self.send_client(&ok)
    }
}
