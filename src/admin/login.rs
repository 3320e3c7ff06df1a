//! How administrators get in: by the operating system's word, or by a password.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rand::RngExt;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::sleep;
use tokio_rustls::TlsAcceptor;

use super::accounts::{Accounts, Role};
use super::{MAX_COMMAND, VERSION};
use crate::lock::codes;
use crate::protocol::capabilities::Capabilities;
use crate::protocol::frame::{FrameHeader, HEADER, put_frame};
use crate::protocol::handshake::Login;
use crate::protocol::reply::{ErrorReply, put_ok};
use crate::protocol::serve::{OFFERED, PLUGIN, greeting};
use crate::protocol::status::Status;

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
    pub(super) role: Role,
}

/// A connection behind its login.
pub(super) struct Entered {
    pub(super) stream: Box<dyn Stream>,
    pub(super) capabilities: Capabilities,
    pub(super) who: Who,
}

/// The next packet, header included.
pub(super) async fn read(stream: &mut dyn Stream) -> io::Result<Vec<u8>> {
    let mut frame = vec![0; HEADER];
    stream.read_exact(&mut frame).await?;
    let header = FrameHeader::peek(&frame).ok_or(io::ErrorKind::InvalidData)?;
    if header.len > MAX_COMMAND {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "a command that is too long"));
    }
    frame.resize(HEADER + header.len, 0);
    stream.read_exact(&mut frame[HEADER..]).await?;
    Ok(frame)
}

/// Greets and hears who it is; an error ends the connection, which has been told.
pub(super) async fn enter(mut stream: Box<dyn Stream>, door: Door) -> io::Result<Entered> {
    let nonce: [u8; 20] = std::array::from_fn(|_| rand::rng().random_range(1..=127));
    let id = rand::rng().random_range(1..=u32::MAX >> 1);
    let offers_tls = matches!(&door, Door::Port { tls: Some(_), .. });
    let offered = if offers_tls { OFFERED.with(Capabilities::SSL) } else { OFFERED };
    let mut out = Vec::new();
    put_frame(&mut out, 0, &greeting(VERSION, id, &nonce, offered));
    stream.write_all(&out).await?;
    let mut frame = read(&mut *stream).await?;
    let mut encrypted = false;
    if let Door::Port { tls: Some(tls), .. } = &door
        && Login::asks_for_tls(&frame[HEADER..])
    {
        stream = Box::new(TlsAcceptor::from(Arc::clone(tls)).accept(stream).await?);
        encrypted = true;
        frame = read(&mut *stream).await?;
    }
    let login = Login::parse(&frame[HEADER..]).ok_or(io::ErrorKind::InvalidData)?;
    let capabilities = login.capabilities.both(OFFERED);
    let seq = frame[HEADER - 1].wrapping_add(1);
    let who = match door {
        // A password that comes from an option file is not looked at.
        Door::Socket { uid } => {
            let proves = login.plugin == PLUGIN.as_bytes() && !matches!(login.proof, [] | [0]);
            let who = Who { name: format!("uid {uid}"), role: Role::Operator };
            welcome(&mut *stream, seq, proves).await?;
            who
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
            let role = check(accounts, user.clone(), nonce, proof.clone()).await?;
            let shown = format!("{}@{}", String::from_utf8_lossy(&user), peer.ip().to_canonical());
            let Some(role) = role else {
                tracing::warn!(target: "lockstead::audit", who = shown, "refused as an administrator");
                sleep(PENALTY).await;
                return refuse(&mut *stream, seq, &denied(&user, peer, &proof)).await;
            };
            welcome(&mut *stream, seq, true).await?;
            Who { name: shown, role }
        }
    };
    Ok(Entered { stream, capabilities, who })
}

/// Who proves a password waits for the word that the proof is good.
async fn welcome(stream: &mut dyn Stream, mut seq: u8, proves: bool) -> io::Result<()> {
    let mut out = Vec::new();
    if proves {
        put_frame(&mut out, seq, &[1, 3]);
        seq = seq.wrapping_add(1);
    }
    put_ok(&mut out, seq, Status(Status::AUTOCOMMIT));
    stream.write_all(&out).await
}

/// Asks for the proof of another plugin than the client began with.
async fn switch(stream: &mut dyn Stream, seq: u8, nonce: &[u8; 20]) -> io::Result<(u8, Vec<u8>)> {
    let ask = [&[0xfe], PLUGIN.as_bytes(), &[0], &nonce[..], &[0]].concat();
    let mut out = Vec::new();
    put_frame(&mut out, seq, &ask);
    stream.write_all(&out).await?;
    let frame = read(stream).await?;
    Ok((frame[HEADER - 1].wrapping_add(1), frame[HEADER..].to_vec()))
}

/// By the file as it is now. A file that is no good lets nobody in.
async fn check(
    accounts: Arc<Path>,
    user: Vec<u8>,
    nonce: [u8; 20],
    proof: Vec<u8>,
) -> io::Result<Option<Role>> {
    let path = PathBuf::from(&*accounts);
    let checked = tokio::task::spawn_blocking(move || {
        Accounts::load(&path).map(|accounts| accounts.check(&user, &nonce, &proof))
    });
    match checked.await.map_err(io::Error::other)? {
        Ok(role) => Ok(role),
        Err(e) => {
            tracing::error!(error = e, "no administrator gets in over TCP");
            Ok(None)
        }
    }
}

async fn refuse<T>(stream: &mut dyn Stream, seq: u8, error: &ErrorReply) -> io::Result<T> {
    let mut out = Vec::new();
    error.encode(&mut out, seq, false);
    stream.write_all(&out).await?;
    Err(io::Error::new(io::ErrorKind::PermissionDenied, "refused"))
}

/// ER_ACCESS_DENIED_ERROR, as servers say it.
fn denied(user: &[u8], peer: SocketAddr, proof: &[u8]) -> ErrorReply {
    let using = if matches!(proof, [] | [0]) { "NO" } else { "YES" };
    let (user, host) = (String::from_utf8_lossy(user), peer.ip().to_canonical());
    let user: String = user.chars().take(64).collect();
    ErrorReply {
        code: 1045,
        state: "28000",
        message: format!("Access denied for user '{user}'@'{host}' (using password: {using})"),
    }
}
