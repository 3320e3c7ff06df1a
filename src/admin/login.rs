//! How administrators get in: by the operating system's word, or by a password.

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

use super::accounts::{Accounts, Role};
use super::connection_slots::Desk;
use super::sources::Source;
use super::{MAX_COMMAND, VERSION};
use crate::lock::codes;
use crate::protocol::capabilities::Capabilities;
use crate::protocol::frame::{FrameHeader, HEADER, put_frame};
use crate::protocol::handshake::Login;
use crate::protocol::reply::{ErrorReply, put_ok};
use crate::protocol::serve::{OFFERED, PLUGIN, greeting};
use crate::protocol::status::Status;
use crate::seldom::Turn;

/// How long a wrong password waits for its answer.
const PENALTY: Duration = Duration::from_secs(1);

/// Bytes of a client.
pub(super) trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Stream for T {}

/// Who comes to which door.
pub(super) enum Door {
    /// A user of this machine, whom the operating system knows.
    Socket { uid: u32 },
    /// Anybody who reaches the port.
    Port { peer: SocketAddr, accounts: Arc<Path>, tls: Option<Arc<rustls::ServerConfig>> },
}

/// Who has got in.
#[derive(Debug, Clone)]
pub(super) struct Who {
    /// For the audit log.
    pub(super) name: String,
    /// As CURRENT_USER() tells it.
    pub(super) account: String,
    pub(super) role: Role,
}

/// A connection behind its login.
pub(super) struct Entered {
    pub(super) stream: Box<dyn Stream>,
    pub(super) capabilities: Capabilities,
    pub(super) who: Who,
    /// Held to the end of the connection.
    _place: OwnedSemaphorePermit,
}

/// The next packet, header included. Of one that is too long nothing is kept, and the error is
/// [`io::ErrorKind::InvalidData`]: the client listens when it has said all.
pub(super) async fn read(stream: &mut dyn Stream) -> io::Result<Vec<u8>> {
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

/// Greets and hears who it is; an error ends the connection, which has been told.
pub(super) async fn enter(
    mut stream: Box<dyn Stream>,
    (source, door): (Source, Door),
    desk: &Desk,
) -> io::Result<Entered> {
    if let Door::Port { peer, .. } = &door {
        let wait = desk.sources.lock().wait(source, Instant::now());
        if !wait.is_zero() {
            desk.block();
            turn_away(&mut *stream, &blocked(*peer, wait)).await?;
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, "refused"));
        }
    }
    let nonce: [u8; 20] = std::array::from_fn(|_| rand::rng().random_range(1..=127));
    let id = rand::rng().random_range(1..=u32::MAX >> 1);
    let offers_tls = matches!(&door, Door::Port { tls: Some(_), .. });
    let offered = if offers_tls { OFFERED.with(Capabilities::SSL) } else { OFFERED };
    let mut out = Vec::new();
    put_frame(&mut out, 0, &greeting(VERSION, id, &nonce, offered));
    say(&mut *stream, &out).await?;
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
    let (who, place) = match door {
        // A password that comes from an option file is not looked at.
        Door::Socket { uid } => {
            let proves = login.plugin == PLUGIN.as_bytes() && !matches!(login.proof, [] | [0]);
            let account = "admin@localhost".to_owned();
            let who = Who { name: format!("uid {uid}"), account, role: Role::Operator };
            let place = match desk.place() {
                Ok(place) => place,
                Err(full) => return refuse(&mut *stream, seq, &full).await,
            };
            welcome(&mut *stream, seq, proves).await?;
            (who, place)
        }
        Door::Port { peer, accounts, .. } => {
            if !encrypted && !peer.ip().to_canonical().is_loopback() {
                return refuse(&mut *stream, seq, &codes::tls_required()).await;
            }
            let user = login.user.to_vec();
            let (seq, proof) = if login.plugin == PLUGIN.as_bytes() {
                (seq, login.proof.to_vec())
            } else {
                switch(&mut *stream, seq, &nonce).await?
            };
            let budget = desk.sources.lock().spend(source, Instant::now());
            if let Err(wait) = budget {
                desk.block();
                return refuse(&mut *stream, seq, &blocked(peer, wait)).await;
            }
            let role = check(accounts, user.clone(), nonce, proof.clone(), desk).await?;
            let shown = format!("{}@{}", shown(&user), peer.ip().to_canonical());
            let Some(role) = role else {
                if let Some(Turn { left_out }) = desk.refusals.turn() {
                    tracing::warn!(target: "lockstead::audit", who = shown, left_out, "refused as an administrator");
                }
                sleep(PENALTY).await;
                return refuse(&mut *stream, seq, &denied(&user, peer, &proof)).await;
            };
            desk.sources.lock().proved(source, Instant::now());
            let place = match desk.place() {
                Ok(place) => place,
                Err(full) => return refuse(&mut *stream, seq, &full).await,
            };
            welcome(&mut *stream, seq, true).await?;
            (Who { name: shown.clone(), account: shown, role }, place)
        }
    };
    Ok(Entered { stream, capabilities, who, _place: place })
}

/// What the client says to the greeting.
async fn first(stream: &mut dyn Stream) -> io::Result<Vec<u8>> {
    match read(stream).await {
        Err(e) if e.kind() == io::ErrorKind::InvalidData => {
            refuse(stream, 2, &codes::bad_handshake()).await
        }
        read => read,
    }
}

/// Only tells why there is no greeting.
pub(super) async fn turn_away(stream: &mut dyn Stream, refusal: &ErrorReply) -> io::Result<()> {
    let mut out = Vec::new();
    refusal.encode(&mut out, 0, true);
    say(stream, &out).await
}

/// Sends all of it; TLS may keep some back.
pub(super) async fn say(stream: &mut dyn Stream, bytes: &[u8]) -> io::Result<()> {
    stream.write_all(bytes).await?;
    stream.flush().await
}

/// Who proves a password waits for the word that the proof is good.
async fn welcome(stream: &mut dyn Stream, mut seq: u8, proves: bool) -> io::Result<()> {
    let mut out = Vec::new();
    if proves {
        put_frame(&mut out, seq, &[1, 3]);
        seq = seq.wrapping_add(1);
    }
    put_ok(&mut out, seq, Status(Status::AUTOCOMMIT));
    say(stream, &out).await
}

/// Asks for the proof of another plugin than the client began with.
async fn switch(stream: &mut dyn Stream, seq: u8, nonce: &[u8; 20]) -> io::Result<(u8, Vec<u8>)> {
    let ask = [&[0xfe], PLUGIN.as_bytes(), &[0], &nonce[..], &[0]].concat();
    let mut out = Vec::new();
    put_frame(&mut out, seq, &ask);
    say(stream, &out).await?;
    let frame = read(stream).await?;
    Ok((frame[HEADER - 1].wrapping_add(1), frame[HEADER..].to_vec()))
}

/// By the file as it is now. A file that is no good lets nobody in.
async fn check(
    accounts: Arc<Path>,
    user: Vec<u8>,
    nonce: [u8; 20],
    proof: Vec<u8>,
    desk: &Desk,
) -> io::Result<Option<Role>> {
    let path = PathBuf::from(&*accounts);
    let checked = tokio::task::spawn_blocking(move || {
        Accounts::load(&path).map(|accounts| accounts.check(&user, &nonce, &proof))
    });
    match checked.await.map_err(io::Error::other)? {
        Ok(role) => Ok(role),
        Err(e) => {
            if let Some(Turn { left_out }) = desk.failures.turn() {
                tracing::error!(error = e, left_out, "no administrator gets in over TCP");
            }
            Ok(None)
        }
    }
}

async fn refuse<T>(stream: &mut dyn Stream, seq: u8, error: &ErrorReply) -> io::Result<T> {
    let mut out = Vec::new();
    error.encode(&mut out, seq, false);
    say(stream, &out).await?;
    Err(io::Error::new(io::ErrorKind::PermissionDenied, "refused"))
}

/// A name before it has proved anything: not at the length that it came in.
fn shown(user: &[u8]) -> String {
    String::from_utf8_lossy(user).chars().take(64).collect()
}

/// ER_HOST_IS_BLOCKED.
fn blocked(peer: SocketAddr, wait: Duration) -> ErrorReply {
    let message = format!(
        "Host '{}' is blocked because of many wrong passwords; try again in {} s, or at the unix socket, which asks for none",
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
