//! The login of administrators: by their user id on this machine, or by a password.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rand::RngExt;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, sleep};
use tokio_rustls::TlsAcceptor;

use super::accounts::{Accounts, AdminRole, Administrator};
use super::connection_slots::ConnectionSlots;
use super::limits::{MAX_COMMAND, VERSION};
use super::sources::ClientSource;
use crate::lock::codes;
use crate::protocol::capabilities::Capabilities;
use crate::protocol::frame::{FrameHeader, HEADER, put_frame};
use crate::protocol::handshake::Login;
use crate::protocol::packet::packet;
use crate::protocol::reply::{ErrorReply, put_ok};
use crate::protocol::serve::{OFFERED, PLUGIN, greeting};
use crate::protocol::status::Status;
use crate::seldom::Turn;

/// How long a wrong password waits for its answer.
const PENALTY: Duration = Duration::from_secs(1);

/// Bytes of a client.
pub(super) trait ClientStream: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> ClientStream for T {}

/// How a connection reached the proxy.
pub(super) enum Door {
    /// A user of this machine, known to the operating system.
    Socket { uid: u32 },
    /// Over TCP.
    Port { peer: SocketAddr, accounts: Arc<Path>, tls: Option<Arc<rustls::ServerConfig>> },
}

/// A connection after its login.
pub(super) struct Entered {
    pub(super) stream: Box<dyn ClientStream>,
    pub(super) capabilities: Capabilities,
    pub(super) who: Administrator,
    /// Held to the end of the connection.
    _slot: OwnedSemaphorePermit,
}

/// The next packet, header included. One that is too long is read and dropped; the error is then
/// [`io::ErrorKind::InvalidData`], and the client still listens.
pub(super) async fn read(stream: &mut dyn ClientStream) -> io::Result<Vec<u8>> {
    let mut frame = vec![0; HEADER];
    stream.read_exact(&mut frame).await?;
    let header = FrameHeader::peek(&frame).ok_or(io::ErrorKind::InvalidData)?;
    if header.len > MAX_COMMAND {
        let mut rest = stream.take(header.len as u64);
        tokio::io::copy(&mut rest, &mut tokio::io::sink()).await?;
        return Err(io::Error::new(io::ErrorKind::InvalidData, "a packet that is too long"));
    }
    frame.resize(HEADER + header.len, 0);
    stream.read_exact(&mut frame[HEADER..]).await?;
    Ok(frame)
}

/// Greets the client and lets it log in. If that fails, the client has been told.
pub(super) async fn enter(
    mut stream: Box<dyn ClientStream>,
    source: ClientSource,
    door: Door,
    slots: &ConnectionSlots,
) -> io::Result<Entered> {
    if let Door::Port { peer, .. } = &door {
        let wait = slots.sources.lock().wait(source, Instant::now());
        if !wait.is_zero() {
            slots.block();
            turn_away(&mut *stream, &blocked(*peer, wait)).await?;
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, "refused"));
        }
    }
    let nonce: [u8; 20] = std::array::from_fn(|_| rand::rng().random_range(1..=127));
    let offers_tls = matches!(&door, Door::Port { tls: Some(_), .. });
    greet(&mut *stream, &nonce, offers_tls).await?;
    let mut frame = first(&mut *stream).await?;
    let mut encrypted = false;
    if let Door::Port { tls: Some(tls), .. } = &door
        && Login::asks_for_tls(&frame[HEADER..])
    {
        stream = Box::new(TlsAcceptor::from(Arc::clone(tls)).accept(stream).await?);
        encrypted = true;
        frame = first(&mut *stream).await?;
    }
    let seq = frame[HEADER - 1].wrapping_add(1);
    let Some(login) = Login::parse(&frame[HEADER..]) else {
        return refuse(&mut *stream, seq, &codes::bad_handshake()).await;
    };
    let capabilities = login.capabilities.both(OFFERED);
    let mut exchange = LoginExchange { stream: &mut *stream, seq, nonce, slots };
    let (who, slot) = match door {
        Door::Socket { uid } => exchange.local_user(uid, &login).await?,
        Door::Port { peer, accounts, .. } => {
            if !encrypted && !peer.ip().to_canonical().is_loopback() {
                return exchange.refuse(&codes::tls_required()).await;
            }
            exchange.account(source, peer, accounts, &login).await?
        }
    };
    Ok(Entered { stream, capabilities, who, _slot: slot })
}

async fn greet(
    stream: &mut dyn ClientStream,
    nonce: &[u8; 20],
    offers_tls: bool,
) -> io::Result<()> {
    let id = rand::rng().random_range(1..=u32::MAX >> 1);
    let offered = if offers_tls { OFFERED.with(Capabilities::SSL) } else { OFFERED };
    say(stream, &packet(0, &[&greeting(VERSION, id, nonce, offered)])).await
}

/// A login whose first packet has been read.
struct LoginExchange<'a> {
    stream: &'a mut dyn ClientStream,
    /// Sequence id of the next packet to the client.
    seq: u8,
    nonce: [u8; 20],
    slots: &'a ConnectionSlots,
}

impl LoginExchange<'_> {
    /// A user of this machine, known to the operating system. A password is not checked: it may come
    /// from an option file.
    async fn local_user(
        &mut self,
        uid: u32,
        login: &Login<'_>,
    ) -> io::Result<(Administrator, OwnedSemaphorePermit)> {
        let slot = self.take_slot().await?;
        let proves = login.plugin == PLUGIN.as_bytes() && !matches!(login.proof, [] | [0]);
        self.welcome(proves).await?;
        let account = "admin@localhost".to_owned();
        Ok((Administrator { name: format!("uid {uid}"), account, role: AdminRole::Operator }, slot))
    }

    /// The holder of an account, who proves its password.
    async fn account(
        &mut self,
        source: ClientSource,
        peer: SocketAddr,
        accounts: Arc<Path>,
        login: &Login<'_>,
    ) -> io::Result<(Administrator, OwnedSemaphorePermit)> {
        let user = login.user.to_vec();
        let proof = if login.plugin == PLUGIN.as_bytes() {
            login.proof.to_vec()
        } else {
            self.switch_plugin().await?
        };
        let budget = self.slots.sources.lock().spend(source, Instant::now());
        if let Err(wait) = budget {
            self.slots.block();
            return self.refuse(&blocked(peer, wait)).await;
        }
        let role = self.check(accounts, user.clone(), proof.clone()).await?;
        let shown = format!("{}@{}", shown(&user), peer.ip().to_canonical());
        let Some(role) = role else {
            if let Some(Turn { left_out }) = self.slots.refusals.turn() {
                tracing::warn!(target: "lockstead::audit", who = shown, left_out, "refused as an administrator");
            }
            sleep(PENALTY).await;
            return self.refuse(&denied(&user, peer, &proof)).await;
        };
        self.slots.sources.lock().proved(source, Instant::now());
        let slot = self.take_slot().await?;
        self.welcome(true).await?;
        Ok((Administrator { name: shown.clone(), account: shown, role }, slot))
    }

    async fn take_slot(&mut self) -> io::Result<OwnedSemaphorePermit> {
        match self.slots.take() {
            Ok(slot) => Ok(slot),
            Err(full) => self.refuse(&full).await,
        }
    }

    async fn refuse<T>(&mut self, error: &ErrorReply) -> io::Result<T> {
        refuse(self.stream, self.seq, error).await
    }

    /// Sends OK; a client that proves a password first waits for the word that the proof is good.
    async fn welcome(&mut self, proves: bool) -> io::Result<()> {
        let mut out = Vec::new();
        if proves {
            put_frame(&mut out, self.seq, &[1, 3]);
            self.seq = self.seq.wrapping_add(1);
        }
        put_ok(&mut out, self.seq, Status(Status::AUTOCOMMIT));
        say(self.stream, &out).await
    }

    /// Asks a client that began with another plugin for the proof of this one.
    async fn switch_plugin(&mut self) -> io::Result<Vec<u8>> {
        let ask = [&[0xfe], PLUGIN.as_bytes(), &[0], &self.nonce[..], &[0]];
        say(self.stream, &packet(self.seq, &ask)).await?;
        let frame = read(self.stream).await?;
        self.seq = frame[HEADER - 1].wrapping_add(1);
        Ok(frame[HEADER..].to_vec())
    }

    /// Reads the file each time. A broken file lets nobody in.
    async fn check(
        &mut self,
        accounts: Arc<Path>,
        user: Vec<u8>,
        proof: Vec<u8>,
    ) -> io::Result<Option<AdminRole>> {
        let nonce = self.nonce;
        let path = PathBuf::from(&*accounts);
        let checked = tokio::task::spawn_blocking(move || {
            Accounts::load(&path).map(|accounts| accounts.check(&user, &nonce, &proof))
        });
        match checked.await.map_err(io::Error::other)? {
            Ok(role) => Ok(role),
            Err(e) => {
                if let Some(Turn { left_out }) = self.slots.failures.turn() {
                    tracing::error!(error = e, left_out, "administrators cannot log in over TCP");
                }
                Ok(None)
            }
        }
    }
}

/// The client's answer to the greeting.
async fn first(stream: &mut dyn ClientStream) -> io::Result<Vec<u8>> {
    match read(stream).await {
        Err(e) if e.kind() == io::ErrorKind::InvalidData => {
            refuse(stream, 2, &codes::bad_handshake()).await
        }
        read => read,
    }
}

/// Sends an error in place of the greeting.
pub(super) async fn turn_away(
    stream: &mut dyn ClientStream,
    refusal: &ErrorReply,
) -> io::Result<()> {
    let mut out = Vec::new();
    refusal.encode(&mut out, 0, true);
    say(stream, &out).await
}

/// Sends all of it: without the flush TLS may keep some back.
pub(super) async fn say(stream: &mut dyn ClientStream, bytes: &[u8]) -> io::Result<()> {
    stream.write_all(bytes).await?;
    stream.flush().await
}

async fn refuse<T>(stream: &mut dyn ClientStream, seq: u8, error: &ErrorReply) -> io::Result<T> {
    let mut out = Vec::new();
    error.encode(&mut out, seq, false);
    say(stream, &out).await?;
    Err(io::Error::new(io::ErrorKind::PermissionDenied, "refused"))
}

/// A name before its password is proved, cut to a bounded length.
fn shown(user: &[u8]) -> String {
    String::from_utf8_lossy(user).chars().take(64).collect()
}

/// ER_HOST_IS_BLOCKED.
fn blocked(peer: SocketAddr, wait: Duration) -> ErrorReply {
    let message = format!(
        "Host '{}' is blocked because of many wrong passwords; try again in {} s, or use the unix \
         socket, which needs no password",
        peer.ip().to_canonical(),
        wait.as_secs() + 1
    );
    ErrorReply { code: 1129, state: "HY000", message }
}

/// ER_ACCESS_DENIED_ERROR, as servers say it.
fn denied(user: &[u8], peer: SocketAddr, proof: &[u8]) -> ErrorReply {
    let using = if matches!(proof, [] | [0]) { "NO" } else { "YES" };
    let (user, host) = (shown(user), peer.ip().to_canonical());
    ErrorReply {
        code: 1045,
        state: "28000",
        message: format!("Access denied for user '{user}'@'{host}' (using password: {using})"),
    }
}
