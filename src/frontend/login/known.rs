//! Logins like one that the server has judged a short time ago.
//!
//! While there is such a login, clients are greeted with a nonce of the proxy's own, before the server is asked
//! anything. A client that proves the account's known password, in the same way, is let in. All others are passed to
//! the server. If the proxy can make the answer to the server's nonce, it sends that. Otherwise it sends none, so that
//! the server asks the client for one by the account's plugin.

use std::sync::Arc;

use super::layers::answer_client;
use super::like::shape;
use super::relayed::{
    Authenticated, LoginClient, LoginStanding, greeting_for, hear_login, judged_by_server, owner,
    turn_away, turned_away,
};
use crate::backend::admissions::{Admission, KnownGreeting};
use crate::backend::learned::LearnedSecrets;
use crate::backend::proven::Proven;
use crate::clock;
use crate::frontend::pooling::pooled_login::LoginAccount;
use crate::frontend::shared::context::{Context, Shared};
use crate::frontend::shared::leg_options::Hops;
use crate::net::certificates::LegTls;
use crate::protocol::auth::Method;
use crate::protocol::capabilities::Capabilities;
use crate::protocol::frame::{HEADER, put_frame};
use crate::protocol::handshake::Login;
use crate::protocol::host_block_guard;
use crate::protocol::own_greeting::{nonce, renew_nonce, with_proof, without_answer};
use crate::protocol::recover::{Scheme, is_none};

/// The proof by each of them depends on no nonce.
const WITHOUT_NONCE: [&[u8]; 2] = [b"mysql_clear_password", b"dialog"];

/// A greeting of the server's with a nonce of the proxy's own.
pub(super) struct OwnGreeting {
    known: Arc<KnownGreeting>,
    frame: Vec<u8>,
    nonce: Vec<u8>,
}

impl OwnGreeting {
    /// A greeting of the proxy's own, if some client may be let in by it.
    pub(super) fn of(context: &Context) -> Option<Self> {
        let Shared { secrets, .. } = context.shared.as_ref()?;
        let known = secrets.admissions().greeting(context.config.pooling.login_check_ttl)?;
        let config = &context.config;
        if Hops::refusal(config, config.backend(), known.greeting.capabilities).is_some() {
            return None;
        }
        let mut frame = known.frame.clone();
        let nonce = nonce(rand::random());
        renew_nonce(frame.get_mut(HEADER..)?, &nonce).then(|| Self {
            known,
            frame,
            nonce: nonce.to_vec(),
        })
    }

    /// Logs a client in. `None`: it was refused or left, and has been told.
    pub(super) async fn log_in(
        self,
        mut client: LoginClient,
        context: &Context,
    ) -> Option<Authenticated> {
        let limit = context.config.login_timeout.min(context.spares.limit());
        let greeting = (&self.frame[..], &self.known.greeting);
        let answer = match hear_login(&mut client, greeting, limit, context).await {
            Ok(answer) => answer,
            Err(refusal) => {
                turn_away(&mut client, refusal, context).await;
                return None;
            }
        };
        let login = Login::parse(&answer);
        if let Some((login, tls, admission)) =
            login.as_ref().and_then(|login| self.admits(login, &client, context))
        {
            return self.let_in(client, login, (tls, admission), context);
        }
        let greeted = greeting_for(&mut client, context).await?;
        let secure = client.leg.is_secure();
        let passed = match &login {
            Some(login) => {
                let nonce = &greeted.greeting.nonce;
                self.for_server(&answer, (login, secure), nonce, context).await
            }
            None => None,
        };
        let passed = passed.as_deref().unwrap_or(&answer);
        let mut session = judged_by_server(client, passed, greeted, context).await?;
        if is_unasked(&answer, passed, &session.method) {
            session.method.nonce = self.nonce;
        }
        context.metrics.logins.with_label_values(&["server_again"]).inc();
        Some(session)
    }

    fn admits<'a>(
        &self,
        login: &'a Login<'a>,
        client: &LoginClient,
        context: &Context,
    ) -> Option<(&'a Login<'a>, LegTls, Admission)> {
        let Shared { secrets, .. } = context.shared.as_ref()?;
        let offered = self.known.greeting.capabilities;
        let hops = Hops::asked(&context.config, &client.leg, client.peer, offered);
        let tls = context.hops.leg_tls(hops, &client.leg);
        let shape = shape(login, tls.clone(), self.known.greeting.flavour)?;
        let answer = (&self.nonce[..], login.proof);
        let ttl = context.config.pooling.login_check_ttl;
        let admission = secrets.admit(&shape, login.plugin, answer, ttl)?;
        Some((login, tls, admission))
    }

    fn let_in(
        self,
        mut client: LoginClient,
        login: &Login<'_>,
        (tls, admission): (LegTls, Admission),
        context: &Context,
    ) -> Option<Authenticated> {
        let Admission { ok, values } = admission;
        let mut said = Vec::new();
        if Scheme::of_plugin(login.plugin) == Some(Scheme::CachingSha2) && !is_none(login.proof) {
            // As the server says that it knows the password, if there is one.
            put_frame(&mut said, client.next, &[1, 3]);
            client.next = client.next.wrapping_add(1);
        }
        let mut frame = Vec::with_capacity(ok.len() + HEADER);
        put_frame(&mut frame, client.next, &ok);
        said.extend_from_slice(&frame);
        // A client that has its OK is counted.
        context.metrics.logins.with_label_values(&["proxy"]).inc();
        if let Err(e) = answer_client(&mut client.leg, &said, login, context) {
            tracing::debug!(peer = %client.peer, error = %e, "a client left during its login");
            turned_away(client.peer, "left_before_login", context);
            return None;
        }
        let greeting = self.known.greeting.clone();
        Some(Authenticated {
            connection: client.connection?,
            client: client.leg,
            peer: client.peer,
            capabilities: login
                .capabilities
                .without(Capabilities::HOPS)
                .both(greeting.capabilities),
            standing: LoginStanding::Known { values },
            opened: clock::now(),
            owner: owner(login.user, client.peer),
            account: LoginAccount::of(login, greeting.flavour, tls, context.engine.lease().proxy()),
            greeting,
            who: None,
            method: Method { plugin: login.plugin.to_vec(), nonce: self.nonce },
            ok: frame,
        })
    }

    /// The login as the server is to see it, which has greeted with another nonce; `secure`: the client's leg is. `None`:
    /// as it is.
    async fn for_server(
        &self,
        answer: &[u8],
        (login, secure): (&Login<'_>, bool),
        nonce: &[u8],
        context: &Context,
    ) -> Option<Vec<u8>> {
        let refused = host_block_guard::refusal(login, &self.known.greeting).is_some();
        if refused || is_none(login.proof) || WITHOUT_NONCE.contains(&login.plugin) {
            return None;
        }
        let Shared { secrets, .. } = context.shared.as_ref()?;
        let known = || {
            let proof = self.known_answer(login, nonce, secrets)?;
            with_proof(answer, &proof, None)
        };
        if login.names_plugin() {
            // The server may ask for more, which a client without TLS encrypts by the nonce that it knows.
            let ends = secure || Scheme::of_plugin(login.plugin) == Some(Scheme::Native);
            return known().filter(|_| ends).or_else(|| without_answer(answer));
        }
        // A client without CLIENT_PLUGIN_AUTH cannot be asked again.
        let mut passed = known();
        if passed.is_none() {
            secrets.verifier_reads().again().await;
            passed = known();
        }
        if passed.is_none() {
            secrets.admissions().note_unanswered();
        }
        passed
    }

    /// The answer to the server's nonce, of a client that has proved the password that is known of its account.
    fn known_answer(
        &self,
        login: &Login<'_>,
        nonce: &[u8],
        secrets: &LearnedSecrets,
    ) -> Option<Vec<u8>> {
        let scheme = Scheme::of_plugin(login.plugin)?;
        let user = login.user_name(self.known.greeting.flavour);
        let user = user.certain()?;
        match secrets.recognise(user, login.plugin, &self.nonce, login.proof) {
            Some(Proven::Hashed(scheme, hash)) => scheme.answer(&hash, nonce),
            _ => secrets.answer_again(user, scheme, (&self.nonce, login.proof), nonce),
        }
    }
}

/// Whether a client knows no nonce but the proxy's: the server, which has seen the login as it was `passed`, has asked it by
/// no other method.
fn is_unasked(answer: &[u8], passed: &[u8], method: &Method) -> bool {
    let plugin = |payload| Login::parse(payload).map(|login| login.plugin);
    plugin(answer) == plugin(passed) && plugin(passed) == Some(&method.plugin[..])
}
