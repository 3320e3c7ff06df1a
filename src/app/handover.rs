//! Listening sockets go from a process to the one that takes its place.
//!
//! The new process is started with one end of a pair of sockets as its standard input. On it comes a message for each
//! listening socket, with its purpose. The new process says that it is ready, accepts when it is told to, and says so.
//! Until then the old one accepts, too: a socket that both have open loses no client that waits in its queue
//! (docs/adr/0017-upgrade.md).

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream as StdStream;
use std::time::Duration;

use rustix::cmsg_space;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;

/// In the environment of a process that takes another's place.
pub(super) const TAKES_OVER: &str = "LOCKSTEAD_UPGRADE";
/// Message after the last socket.
const END: &[u8] = b"end";
/// The new process has all it needs to serve.
const READY: &[u8] = b"ready";
/// The sockets are its own as well.
const YOURS: &[u8] = b"yours";
/// The sockets are its own as well, but load balancers should send no clients: an administrator has said DRAIN.
const ASIDE: &[u8] = b"yours, aside";
/// The new process accepts.
const SERVES: &[u8] = b"serving";
/// Longest message: a path of a socket is shorter.
const LONGEST: usize = 512;
/// How long a process that runs may take for a message.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

/// A listening socket and its purpose.
pub(super) type NamedSocket = (String, OwnedFd);

/// Both ends. Messages do not run together, and an end that is gone is seen.
pub(super) fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let kind = SocketType::SEQPACKET;
    let (one, other) = socketpair(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None)?;
    for end in [&one, &other] {
        set_socket_timeout(end, Timeout::Send, Some(PATIENCE))?;
        set_socket_timeout(end, Timeout::Recv, Some(PATIENCE))?;
    }
    Ok((one, other))
}

/// Hands sockets over.
pub(super) fn send(line: &OwnedFd, sockets: &[NamedSocket]) -> io::Result<()> {
    for (name, socket) in sockets {
        let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(1))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        let descriptors = [socket.as_fd()];
        control.push(SendAncillaryMessage::ScmRights(&descriptors));
        sendmsg(line, &[IoSlice::new(name.as_bytes())], &mut control, SendFlags::NOSIGNAL)?;
    }
    let mut none = SendAncillaryBuffer::default();
    sendmsg(line, &[IoSlice::new(END)], &mut none, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Takes what was handed over.
fn receive(line: &OwnedFd) -> io::Result<Vec<NamedSocket>> {
    let mut sockets = Vec::new();
    loop {
        let mut text = [0; LONGEST];
        let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(1))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let mut buffers = [IoSliceMut::new(&mut text)];
        let length = recvmsg(line, &mut buffers, &mut control, RecvFlags::CMSG_CLOEXEC)?.bytes;
        let descriptor = control.drain().find_map(|message| match message {
            RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
            _ => None,
        });
        match (&text[..length], descriptor) {
            (END, None) => return Ok(sockets),
            (name, Some(socket)) if !name.is_empty() => {
                sockets.push((String::from_utf8_lossy(name).into_owned(), socket));
            }
            _ => return Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

/// The other process.
pub(super) struct UpgradeChannel(UnixStream);

impl UpgradeChannel {
    /// Over this end, from now on within a runtime.
    pub(super) fn new(end: OwnedFd) -> io::Result<Self> {
        let stream = StdStream::from(end);
        stream.set_nonblocking(true)?;
        UnixStream::from_std(stream).map(Self)
    }

    /// Waits until the new process is ready; false if it is gone.
    pub(super) async fn is_ready(&mut self) -> bool {
        self.receive().await.is_ok_and(|said| said == READY)
    }

    /// Lets it accept, and waits until it does; false if it is gone.
    pub(super) async fn gives(&mut self, aside: bool) -> bool {
        let word = if aside { ASIDE } else { YOURS };
        self.0.write_all(word).await.is_ok()
            && self.receive().await.is_ok_and(|said| said == SERVES)
    }

    /// The new process's side of it: it is ready, and waits for its word. An old process that is
    /// gone meanwhile has no use for the sockets. True if load balancers should send no clients.
    pub(super) async fn take(&mut self) -> bool {
        self.0.write_all(READY).await.is_ok()
            && self.receive().await.is_ok_and(|said| said == ASIDE)
    }

    /// Tells the old process that this one accepts.
    pub(super) async fn serves(mut self) {
        // The other process may be gone.
        let _ = self.0.write_all(SERVES).await;
    }

    async fn receive(&mut self) -> io::Result<Vec<u8>> {
        let mut text = vec![0; LONGEST];
        let length = self.0.read(&mut text).await?;
        text.truncate(length);
        Ok(text)
    }
}

/// What the process before this one has handed over, and the line to it; nothing where this one was
/// started by itself.
pub(super) fn inherit() -> io::Result<(Vec<NamedSocket>, Option<OwnedFd>)> {
    if std::env::var_os(TAKES_OVER).is_none() {
        return Ok((Vec::new(), None));
    }
    let line = io::stdin().as_fd().try_clone_to_owned()?;
    let sockets = receive(&line)?;
    Ok((sockets, Some(line)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn a_client_in_the_queue_of_a_socket_is_taken_by_the_next_process() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
        let address = listener.local_addr().expect("an address");
        let _client = TcpStream::connect(address).expect("queued");
        let (old, new) = pair().expect("a pair");
        send(&old, &[("clients x".to_owned(), listener.into())]).expect("sent");
        let mut sockets = receive(&new).expect("received");
        let (name, socket) = sockets.pop().expect("one");
        assert!(sockets.is_empty() && name == "clients x");
        TcpListener::from(socket).accept().expect("the client is there");
    }

    #[test]
    fn a_process_that_is_gone_does_not_hand_over() {
        let (old, new) = pair().expect("a pair");
        drop(old);
        assert!(receive(&new).is_err());
    }
}
