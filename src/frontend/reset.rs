//! A session that begins anew on its open connection: COM_RESET_CONNECTION and COM_CHANGE_USER.

use super::login::{authenticate, owner};
use super::named::NamedStatements;
use super::owed::Behind;
use super::session::{End, Session};
use super::settings::Settings;
use crate::protocol::command::{Command, Shape};
use crate::protocol::frame::{HEADER, put_frame};
use crate::protocol::handshake::ChangeUser;
use crate::protocol::status::Status;
use crate::types::Flavour;

impl Session {
    /// COM_RESET_CONNECTION: the server's OK comes behind its rollback; then the locks go, and
    /// then the client hears.
    pub(super) async fn reset(&mut self, packet: &[u8]) -> Result<(), End> {
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
    pub(super) async fn change_user(&mut self, packet: &[u8]) -> Result<(), End> {
        self.count(Command::CHANGE_USER);
        let payload = &packet[HEADER..];
        let tag = self.context.engine.lease().proxy().map(|p| p.to_string()).unwrap_or_default();
        let change = ChangeUser::parse(payload, self.capabilities);
        let mut out = Vec::with_capacity(packet.len() + 64);
        let tags = change.as_ref().filter(|_| self.watch.is_none());
        match tags.and_then(|c| c.tagged(self.capabilities, tag.as_bytes())) {
            Some(tagged) => put_frame(&mut out, packet[HEADER - 1], &tagged),
            None => out.extend_from_slice(packet),
        }
        self.send_server(&out)?;
        self.drain_to_server().await?;
        self.drain_to_client().await?;
        let limit = self.context.config.login_timeout;
        let exchange = authenticate(&mut self.client, &mut self.server);
        let ok = tokio::time::timeout(limit, exchange).await;
        let ok = ok.map_err(|_| End::Broken("a change of user took too long"))?;
        let ok = ok.map_err(|_| End::ServerGone)?;
        self.forget_session_state();
        self.watch_changed_user(change.as_ref().filter(|_| ok.is_some()));
        if ok.is_none() && self.flavour == Flavour::MySql {
            return Err(End::ServerGone);
        }
        self.release_held().await?;
        let Some(ok) = ok else { return Ok(()) };
        if let (Some(change), Ok(peer)) = (change, self.client.peer_addr()) {
            self.owner = owner(change.user, peer);
        }
        self.status = Status(Status::AUTOCOMMIT);
        self.learn_status(&ok);
        self.send_client(&ok)
    }
}
