//! A login on a greeted connection as an account that clients have proved to be.

use std::io;
use std::time::Duration;

use tokio::time::timeout;
use zeroize::Zeroizing;

use super::encrypt::encrypt;
use super::given::SecretSource;
use super::greeted::{GreetError, Greeted};
use super::learned::LearnedSecrets;
use super::own::{self, Obstacle};
use crate::net::certificates::{Behalf, Connector, LegTls, NoTls};
use crate::net::leg::Leg;
use crate::protocol::account_login::AccountLogin;
use crate::protocol::auth::encrypted_password;
use crate::protocol::capabilities::Capabilities;
use crate::protocol::command::Command;
use crate::protocol::frame::{HEADER, put_frame};
use crate::protocol::handshake::Greeting;
use crate::protocol::host_block_guard;
use crate::protocol::recover::Scheme;
use crate::servers::writer::Destination;

/// What a server says at a login: an OK with what has changed in the session, a key.
const MAX_ANSWER: usize = 64 * 1024;
/// Answers to a server that cannot be given the right one, before the connection is dropped.
const EVASIONS: usize = 4;

const CACHING: &[u8] = b"caching_sha2_password";
const CLEAR: &[u8] = b"mysql_clear_password";

/// Packets that begin so belong to an exchange and are neither its end nor a new method.
const MORE: u8 = 1;
const FAST_IS_DONE: &[u8] = &[MORE, 3];

/// What a connection is opened with.
pub struct OpenAs<'a> {
    /// The account, and what the connection can do. Compression is asked for with the capabilities, and is the caller's
    /// to begin.
    pub login: AccountLogin<'a>,
    /// What is known of the account.
    pub secrets: &'a LearnedSecrets,
    /// The secret that is used.
    pub source: SecretSource,
    /// Encrypts the connection; `None`: it stays in clear. There a password goes to the server under
    /// the key that the peer shows, as a client's does: with a client that uses TLS, use it too.
    pub tls: Option<(&'a Connector, &'a LegTls)>,
    /// How long it may take.
    pub limit: Duration,
}

impl OpenAs<'_> {
    fn proof(&self, plugin: &[u8], nonce: &[u8]) -> Option<Vec<u8>> {
        self.secrets.proof_from(self.source, self.login.user, plugin, nonce)
    }
}

/// A connection that is logged in.
#[derive(Debug)]
pub struct OpenedAs {
    /// The connection, not compressed yet.
    pub leg: Leg,
    /// The server's greeting.
    pub greeting: Greeting,
    /// When it was asked for, on the boot clock.
    pub opened: Duration,
    /// Where it leads.
    pub to: Destination,
    /// What is spoken on it.
    pub capabilities: Capabilities,
    /// The payload of the server's OK.
    pub ok: Vec<u8>,
}

/// Why a connection was not opened.
#[derive(Debug, thiserror::Error)]
pub enum NotOpened {
    /// The server refused: not necessarily the password.
    #[error("the server refused the login with error {code}")]
    Refused {
        /// The error.
        code: u16,
        /// The payload of its packet.
        packet: Vec<u8>,
    },
    /// The server has forgotten the account, and asks for the password itself: not before a client has
    /// logged in can another login succeed.
    #[error("the server asks for the password, but only its hash is known")]
    NeedsClear,
    /// Nothing is known of the account, or nothing that suits the plugin by which the server asks.
    #[error("no password or hash is known that answers the server's plugin")]
    NothingKnown,
    /// There was no server to log in at.
    #[error("{0}")]
    Ungreeted(GreetError),
    /// The connection.
    #[error("{0}")]
    Obstacle(#[from] Obstacle),
    /// The login took too long.
    #[error("the login did not end within {0:?}")]
    TooSlow(Duration),
}

impl From<io::Error> for NotOpened {
    fn from(e: io::Error) -> Self {
        Self::Obstacle(Obstacle::Broken(e))
    }
}

/// Logs in. A connection that cannot be used is ended so that the server does not count it as a broken handshake. A
/// login that the server refuses may count as one against the account.
pub async fn login_as(greeted: Greeted, wanted: &OpenAs<'_>) -> Result<OpenedAs, NotOpened> {
    timeout(wanted.limit, open(greeted, wanted))
        .await
        .unwrap_or(Err(NotOpened::TooSlow(wanted.limit)))
}

async fn open(greeted: Greeted, wanted: &OpenAs<'_>) -> Result<OpenedAs, NotOpened> {
    let offered = greeted.greeting.capabilities;
    let Some((plugin, proof)) = first_proof(&greeted.greeting, wanted) else {
        own::leave(greeted).await;
        return Err(NotOpened::NothingKnown);
    };
    if wanted.tls.is_some() && !offered.has(Capabilities::SSL) {
        own::leave(greeted).await;
        return Err(Obstacle::NotOffered.into());
    }
    let Greeted { stream, greeting, opened, to, .. } = greeted;
    let asked = wanted.login.asked(offered, wanted.tls.is_some());
    let packet = wanted.login.packet(asked, &plugin, &proof);
    let mut leg = Leg::new(stream);
    let mut next = 1;
    if let Some((connector, tls)) = wanted.tls {
        let (behalf, here) = (Behalf::Session(tls), (&greeting, &to.backend().host[..]));
        let encrypted = encrypt(connector, &mut leg, behalf, here, &packet).await;
        encrypted.map_err(|e| match e {
            NoTls::Untrusted(e) => Obstacle::Untrusted(e),
            NoTls::Broken(e) => Obstacle::Handshake(e),
        })?;
        next = 2;
    }
    let mut answering = Answering { leg, next, plugin, nonce: greeting.nonce.clone(), wanted };
    let ok = answering.run(packet).await?;
    Ok(OpenedAs {
        leg: answering.leg,
        greeting,
        opened,
        to,
        capabilities: asked.without(Capabilities::HOPS).both(offered),
        ok,
    })
}

/// By the plugin that the server greets with if that is possible. By another one, it asks again.
fn first_proof(greeting: &Greeting, wanted: &OpenAs<'_>) -> Option<(Vec<u8>, Vec<u8>)> {
    let known = Scheme::ALL.map(Scheme::plugin);
    let mut plugins = std::iter::once(&greeting.plugin[..]).chain(known);
    plugins.find_map(|plugin| {
        wanted.proof(plugin, &greeting.nonce).map(|proof| (plugin.to_vec(), proof))
    })
}

/// The server's questions, and the answers.
struct Answering<'a> {
    leg: Leg,
    /// Sequence id of the next packet.
    next: u8,
    plugin: Vec<u8>,
    nonce: Vec<u8>,
    wanted: &'a OpenAs<'a>,
}

impl Answering<'_> {
    /// Returns the OK.
    async fn run(&mut self, login: Vec<u8>) -> Result<Vec<u8>, NotOpened> {
        self.say(&login).await?;
        loop {
            let packet = self.read_frame().await?;
            match &packet[..] {
                [0, ..] => return Ok(packet),
                [0xff, low, high, ..] => {
                    let code = u16::from_le_bytes([*low, *high]);
                    return Err(NotOpened::Refused { code, packet });
                }
                [0xfe, rest @ ..] => {
                    self.note_method(rest);
                    match self.answer() {
                        Some(answer) => self.say(&answer).await?,
                        None => return Err(self.evade(false).await),
                    }
                }
                [MORE, 4] if self.plugin == CACHING => self.say_password().await?,
                [MORE | 2, ..] => return Err(self.evade(false).await),
                _ => return Err(unreadable().into()),
            }
        }
    }

    fn note_method(&mut self, packet: &[u8]) {
        let mut parts = packet.splitn(2, |byte| *byte == 0);
        self.plugin = parts.next().unwrap_or_default().to_vec();
        self.nonce = parts.next().unwrap_or_default().to_vec();
    }

    fn answer(&self) -> Option<Zeroizing<Vec<u8>>> {
        if self.plugin == CLEAR {
            return self.password().filter(|_| self.leg.is_secure());
        }
        self.wanted.proof(&self.plugin, &self.nonce).map(Zeroizing::new)
    }

    /// With the NUL that ends it.
    fn password(&self) -> Option<Zeroizing<Vec<u8>>> {
        let OpenAs { login, secrets, source, .. } = self.wanted;
        let password = secrets.clear_from(*source, login.user)?;
        Some(Zeroizing::new([&password[..], &[0]].concat()))
    }

    /// The server wants the password itself.
    async fn say_password(&mut self) -> Result<(), NotOpened> {
        let Some(password) = self.password() else {
            return Err(self.evade(true).await);
        };
        if self.leg.is_secure() {
            return Ok(self.say(&password).await?);
        }
        self.say(&[2]).await?;
        let packet = self.read_frame().await?;
        let Some(key) = packet.strip_prefix(&[MORE]) else {
            return Err(unreadable().into());
        };
        let encrypted = encrypted_password(key, &self.nonce, &password).ok_or_else(unreadable)?;
        Ok(self.say(&encrypted).await?)
    }

    /// What the server asks for is not known: it is given wrong answers until it refuses. Hung up, the
    /// login would count as a broken handshake.
    async fn evade(&mut self, mut in_full: bool) -> NotOpened {
        let lacking = if in_full || self.plugin == CACHING {
            NotOpened::NeedsClear
        } else {
            NotOpened::NothingKnown
        };
        for _ in 0..EVASIONS {
            let answer = host_block_guard::answer(&self.plugin, in_full, Vec::new());
            if self.say(&answer).await.is_err() {
                break;
            }
            let Ok(packet) = self.read_frame().await else { break };
            match &packet[..] {
                [0xff, ..] => break,
                [0, ..] => {
                    // The server takes any answer, but nobody has asked for a connection of this account.
                    self.next = 0;
                    let _ = self.say(&[Command::QUIT.0]).await;
                    break;
                }
                [0xfe | 2, rest @ ..] => self.note_method(rest),
                _ => {}
            }
            in_full = packet == [MORE, 4];
        }
        lacking
    }

    async fn say(&mut self, packet: &[u8]) -> io::Result<()> {
        let mut frame = Zeroizing::new(Vec::with_capacity(packet.len() + HEADER));
        put_frame(&mut frame, self.next, packet);
        self.leg.send_all(&frame).await
    }

    async fn read_frame(&mut self) -> io::Result<Vec<u8>> {
        loop {
            let mut frame = self.leg.read_frame(MAX_ANSWER).await?;
            let packet = frame.split_off(HEADER);
            self.next = frame[HEADER - 1].wrapping_add(1);
            // The OK follows.
            if packet != FAST_IS_DONE {
                return Ok(packet);
            }
        }
    }
}

fn unreadable() -> io::Error {
    io::Error::other("the server's answer to a login cannot be read")
}
