//! COM_CHANGE_USER: a session that starts over on its open connection, perhaps as another user.

use tokio::time::Instant;

use std::sync::Arc;

use super::Session;
use crate::frontend::dispatch::watched::watch_changed_user;
use crate::frontend::link::Legs;
use crate::frontend::link::close_reason::CloseReason;
use crate::frontend::link::errand::{Errand, ErrandKind};
use crate::frontend::link::errands::drained;
use crate::frontend::locks::attend::attend;
use crate::frontend::locks::operations::release_held;
use crate::frontend::login::auth_exchange::{Broken, Exchange, Learning, Side, Verdict};
use crate::frontend::login::{owner, without_reports};
use crate::frontend::shared::context::Shared;
use crate::protocol::command::Command;
use crate::protocol::frame::HEADER;
use crate::protocol::handshake::{ChangeUser, tag};
use crate::protocol::user_name::UserName;
use crate::types::{ConnectionId, Flavour, ProxyId};

impl Session {
    /// A login on the open connection. MySQL closes it when it is denied, MariaDB goes on; both have
    /// freed the locks by then.
    pub(super) async fn change_user(&mut self, packet: &[u8]) -> Result<(), CloseReason> {
        self.cx().count(Command::CHANGE_USER);
        let payload = &packet[HEADER..];
        let alone = |id: &ConnectionId| id.is_made() && !self.link.pooled().is_shared();
        let proxy = self.context.engine.lease().proxy();
        let tag = tag(proxy, Some(self.identity.connection()).filter(alone));
        let change = ChangeUser::parse(payload, self.link.capabilities());
        let tags = self.watch.is_none() || self.keeps_rows();
        let tag = Some(tag.as_bytes()).filter(|_| tags);
        attend(&mut self.locks, &self.context, drained(&mut self.link)).await?;
        let deadline = Instant::now() + self.context.config.login_timeout;
        let Some(Legs { client, server }) = self.link.legs() else {
            return Err(CloseReason::Broken("a change of user without a connection to the server"));
        };
        let seq = packet[HEADER - 1];
        let method = self.identity.take_method();
        let mut exchange = Exchange::new(
            Side { leg: client, next: seq.wrapping_add(1) },
            Side { leg: server, next: seq },
            self.context.hops.own_key(),
            deadline,
            method,
        );
        let shared = self.context.shared.as_ref();
        let user = change.as_ref().map(|change| change.user_name(self.view.flavour()));
        let user = user.as_ref().and_then(UserName::certain);
        if let Some((Shared { secrets, .. }, user)) = shared.zip(user) {
            let learning = Learning { secrets, user };
            exchange = exchange.teaching(learning).knowing(self.identity.nonce());
        }
        let exchanged = async {
            let Some(change) = &change else {
                return exchange.run(payload).await;
            };
            let proof = exchange.first(change.plugin, change.proof).await?;
            exchange.run(&change.for_server(proof.as_deref(), tag)).await
        };
        let login = Errand::new(ErrandKind::ChangeUser, async { Ok(exchanged.await) });
        let exchanged = attend(&mut self.locks, &self.context, login).await?;
        let proven = exchange.proven();
        self.identity.set_method(exchange.into_method());
        let ok = match exchanged {
            Ok(Verdict::Accepted(ok)) => Some(ok),
            Ok(Verdict::Denied) | Err(Broken::Refused(_)) => None,
            Err(Broken::Io(_)) => return Err(CloseReason::Broken("a change of user broke off")),
        };
        if let (Some(Shared { secrets, .. }), Some(proven), Some(user)) = (shared, proven, user) {
            secrets.learn(user, &proven);
        }
        self.begin_anew();
        let tagged = change.as_ref().is_some_and(|change| tags && change.takes_tag());
        self.note_tag(proxy.filter(|_| tagged && ok.is_some()));
        let changed = change.as_ref().filter(|_| ok.is_some());
        if changed.is_some_and(|change| self.link.pooled_mut().change_user(change)) {
            self.link.server_mut().note_schema();
        }
        if let Some(watch) = &mut self.watch {
            watch_changed_user(watch, changed, self.identity.peer());
        }
        if ok.is_none() {
            if self.view.flavour() == Flavour::MySql {
                return Err(CloseReason::ServerGone);
            }
            self.link.pooled_mut().note_denied_change();
        }
        self.link.report_again()?;
        release_held(&mut self.cx()).await?;
        let Some(ok) = ok else { return Ok(()) };
        let ok = if self.link.pooled().is_shared() {
            without_reports(&ok, self.link.capabilities(), self.view.flavour())
        } else {
            ok
        };
        if let Some(change) = change {
            self.become_user(&change);
        }
        self.link.reset_status();
        self.link.learn_status(&ok);
        self.link.send_client(&ok)
    }

    /// The server has replaced the attributes of the login before.
    fn note_tag(&self, tag: Option<ProxyId>) {
        if !self.link.pooled().is_shared() {
            self.locks.note_mark(tag);
        }
    }

    fn become_user(&mut self, change: &ChangeUser<'_>) {
        let owner = owner(change.user, self.identity.peer());
        self.locks.set_owner(Arc::clone(&owner));
        self.identity.set_owner(owner, change.user_name(self.view.flavour()));
        self.identity.show(self.link.client().is_encrypted());
    }
}
