//! Whether the proxy can log in with the passwords that `[[users]]` gives.

use prometheus::IntCounter;

use super::findings::Findings;
use crate::backend::greeted::connect;
use crate::backend::learned::LearnedSecrets;
use crate::backend::login_as::{NotOpened, OpenAs, OpenedAs, login_as};
use crate::config::tls::BackendMode;
use crate::config::{Config, GivenUser};
use crate::net::certificates::{Connector, LegTls};
use crate::protocol::account_login::AccountLogin;
use crate::protocol::capabilities::Capabilities;
use crate::protocol::command::Command;
use crate::protocol::frame::put_frame;
use crate::servers::writer::Writer;
use crate::types::LearnPasswords;

const LABEL: &str = "users";
/// utf8mb4_general_ci.
const COLLATION: u8 = 45;
/// Access denied.
const DENIED: u16 = 1045;

/// Logs in as each of them, at the only server of `config`. `shares`: sessions share connections at a listener.
pub(super) async fn check(
    config: &Config,
    shares: bool,
    users: &[GivenUser],
    findings: &mut Findings,
) {
    if users.is_empty() {
        return;
    }
    for warning in users.iter().filter_map(|user| user.readable.as_deref()) {
        Findings::warn(format_args!("[[users]] {warning}"));
    }
    if !shares {
        Findings::warn("[[users]] has no effect: only pooling = \"transaction\" needs passwords");
        return;
    }
    let Some(secrets) = secrets(users) else {
        return findings.failed(LABEL, "there is no memory for their passwords");
    };
    for user in users {
        match log_in(config, &secrets, user).await {
            Ok(()) => Findings::fine(LABEL, format_args!("ok: {}", user.name)),
            Err(why) => findings.failed(LABEL, format_args!("{}: {why}", user.name)),
        }
    }
}

fn secrets(users: &[GivenUser]) -> Option<LearnedSecrets> {
    let counter = IntCounter::new("unlocked", "of a check").ok()?;
    let secrets = LearnedSecrets::new(LearnPasswords::Off, counter.clone(), counter).ok()?;
    secrets.give(users).ok()?;
    Some(secrets)
}

async fn log_in(config: &Config, secrets: &LearnedSecrets, user: &GivenUser) -> Result<(), String> {
    let to = Writer::among(config.servers.clone()).found().await;
    let greeted = connect(&to, config.connect_timeout, None).await.map_err(|e| e.to_string())?;
    // As for clients with TLS.
    let offered = greeted.greeting.capabilities.has(Capabilities::SSL);
    let encrypts = match config.backend_tls.mode {
        BackendMode::Off => false,
        BackendMode::Match => offered,
        BackendMode::Required | BackendMode::VerifyCa | BackendMode::VerifyIdentity => true,
    };
    let connector = encrypts.then(|| Connector::load(&config.backend_tls, config.hosts()));
    let connector = connector.transpose().map_err(|e| e.to_string())?;
    let wanted = OpenAs {
        login: AccountLogin {
            user: user.name.as_bytes(),
            capabilities: Capabilities::MYSQL,
            collation: COLLATION,
            schema: None,
            attributes: b"",
        },
        secrets,
        source: secrets.source(user.name.as_bytes()).ok_or("its password is not known")?,
        tls: connector.as_ref().map(|connector| (connector, &LegTls::Nameless)),
        limit: config.login_timeout,
    };
    let OpenedAs { mut leg, .. } = login_as(greeted, &wanted).await.map_err(|e| advice(&e))?;
    let mut quit = Vec::new();
    put_frame(&mut quit, 0, &[Command::QUIT.0]);
    // The server has answered already.
    let _ = leg.send_all(&quit).await;
    Ok(())
}

fn advice(error: &NotOpened) -> String {
    match error {
        NotOpened::Refused { code, packet } => {
            let text = packet.get(3..).unwrap_or_default();
            let text = if text.first() == Some(&b'#') { &text[6.min(text.len())..] } else { text };
            let text = String::from_utf8_lossy(text);
            let fix = if *code == DENIED { ". Give the password that the server has" } else { "" };
            format!("error {code}: {text}{fix}")
        }
        NotOpened::NothingKnown => {
            "the server asks for another proof than a password: sessions of this account keep \
                                    their connections. Remove the entry"
                .to_owned()
        }
        e => e.to_string(),
    }
}
