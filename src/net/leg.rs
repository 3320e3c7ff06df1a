//! One leg of a session: a socket with what is wrapped around the bytes on it, and the bytes that
//! it did not take yet.

use std::io;
use std::task::{Context, Poll};

use super::compression::{Codec, Compression, Role};
use super::packing::beyond;
use super::room::Room;
use super::socket::{Detached, Socket};
use super::tls::Tls;
use crate::protocol::frame::{FrameHeader, HEADER};

/// Bytes of room that are made in a full buffer.
const ROOM: usize = 4096;

/// The client's side of a session, or the server's.
#[derive(Debug)]
pub struct Leg {
    socket: Socket,
    tls: Option<Box<Tls>>,
    codec: Option<Box<Codec>>,
    /// Bytes that were sent and not yet taken by the socket, compressed if that is done here.
    unsent: Vec<u8>,
    /// The last read filled its room: the layers may hold more, of which the socket does not know.
    more: bool,
}

/// A leg on no event loop, on its way to another thread.
#[derive(Debug)]
pub struct DetachedLeg {
    socket: Detached,
    tls: Option<Box<Tls>>,
}

impl DetachedLeg {
    /// Puts the leg on this thread's event loop.
    pub fn attach(self) -> io::Result<Leg> {
        let mut leg = Leg::new(self.socket.attach()?);
        leg.more = self.tls.is_some();
        leg.tls = self.tls;
        Ok(leg)
    }

    /// Whether the peer has said nothing, and not hung up.
    pub fn is_quiet(&self) -> bool {
        self.socket.is_quiet()
    }
}

impl Leg {
    /// Bytes as they are.
    pub fn new(socket: Socket) -> Self {
        Self { socket, tls: None, codec: None, unsent: Vec::new(), more: false }
    }

    /// Does the handshake. From here on, all bytes are encrypted.
    pub async fn encrypt(&mut self, mut tls: Tls) -> io::Result<()> {
        tls.shake_hands(&self.socket).await?;
        self.more = true;
        self.tls = Some(Box::new(tls));
        Ok(())
    }

    /// Compresses all packets from here on.
    pub fn compress(
        &mut self,
        compression: Compression,
        role: Role,
        room: &Room,
    ) -> io::Result<()> {
        self.codec = Some(Box::new(Codec::new(compression, role, room)?));
        Ok(())
    }

    /// Another result follows in the response that is being sent.
    pub fn result_follows(&mut self) {
        if let Some(codec) = &mut self.codec {
            codec.result_follows();
        }
    }

    /// TLS of the connection, if it has any.
    pub fn tls(&self) -> Option<&Tls> {
        self.tls.as_deref()
    }

    /// Whether packets are compressed.
    pub fn is_compressed(&self) -> bool {
        self.codec.is_some()
    }

    /// Whether the leg is safe for a password, by the rules of clients and servers.
    pub fn is_secure(&self) -> bool {
        self.tls.is_some() || matches!(self.socket, Socket::Unix(_))
    }

    /// Takes it off its thread's event loop. An error if it is compressed, or holds bytes.
    pub fn detach(self) -> io::Result<DetachedLeg> {
        if self.codec.is_some() || !self.is_flushed() {
            return Err(io::ErrorKind::Unsupported.into());
        }
        Ok(DetachedLeg { socket: self.socket.detach()?, tls: self.tls })
    }

    /// The socket.
    pub fn socket(&self) -> &Socket {
        &self.socket
    }

    /// The socket alone, of a leg on which nothing was wrapped.
    pub fn into_socket(self) -> Socket {
        self.socket
    }

    /// Reads into the buffer's free room, which is made where there is none. `Ok(None)` when
    /// nothing is there yet, `Ok(Some(0))` at the peer's end.
    pub fn read(&mut self, buffer: &mut Vec<u8>) -> io::Result<Option<usize>> {
        if buffer.len() == buffer.capacity() {
            buffer.reserve(ROOM);
        }
        let room = buffer.capacity() - buffer.len();
        self.read_up_to(buffer, room)
    }

    fn read_up_to(&mut self, buffer: &mut Vec<u8>, room: usize) -> io::Result<Option<usize>> {
        let Self { socket, tls, codec, .. } = self;
        let mut below = |out: &mut Vec<u8>, room: usize| match tls {
            Some(tls) => tls.read(socket, out, room),
            None => socket.read(out, room),
        };
        let read = match codec {
            Some(codec) => codec.read(buffer, room, below),
            None => below(buffer, room),
        };
        self.more = matches!(read, Ok(Some(n)) if n == room);
        read
    }

    /// Reads one whole frame of at most `limit` bytes of payload, header included, and nothing
    /// after it.
    pub async fn read_frame(&mut self, limit: usize) -> io::Result<Vec<u8>> {
        let mut frame = Vec::with_capacity(HEADER);
        self.read_exactly(&mut frame, HEADER).await?;
        let header = FrameHeader::peek(&frame).ok_or(io::ErrorKind::InvalidData)?;
        if header.len > limit {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "packet too large for a login"));
        }
        self.read_exactly(&mut frame, header.len).await?;
        Ok(frame)
    }

    async fn read_exactly(&mut self, buffer: &mut Vec<u8>, count: usize) -> io::Result<()> {
        let end = buffer.len() + count;
        buffer.reserve_exact(count);
        while buffer.len() < end {
            let room = end - buffer.len();
            match self.read_up_to(buffer, room)? {
                Some(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Some(_) => {}
                None => self.readable().await?,
            }
        }
        Ok(())
    }

    /// Sends bytes: as many as the socket takes at once, the rest is kept. A caller that sends more
    /// should look first whether [`is_flushed`](Self::is_flushed).
    pub fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Some(codec) = &mut self.codec {
            codec.write(bytes, &mut self.unsent)?;
            return self.flush();
        }
        let left = if self.unsent.is_empty() { self.write(bytes)? } else { bytes };
        self.unsent.extend_from_slice(left);
        Ok(())
    }

    /// Keeps bytes until the next [`flush`](Self::flush).
    pub fn keep(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Some(codec) = &mut self.codec {
            return codec.write(bytes, &mut self.unsent);
        }
        self.unsent.extend_from_slice(bytes);
        Ok(())
    }

    /// Sends bytes and waits until the socket has them.
    pub async fn send_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.send(bytes)?;
        while !self.is_flushed() {
            self.writable().await?;
            self.flush()?;
        }
        Ok(())
    }

    /// Writes what the socket takes now. Returns the rest.
    fn write<'a>(&mut self, mut bytes: &'a [u8]) -> io::Result<&'a [u8]> {
        while !bytes.is_empty() {
            let n = match &mut self.tls {
                Some(tls) => tls.write(&self.socket, bytes)?,
                None => self.socket.write(bytes)?,
            };
            if n == 0 {
                break;
            }
            bytes = bytes.get(n..).ok_or_else(beyond)?;
        }
        Ok(bytes)
    }

    /// Whether the socket has taken all that was sent.
    pub fn is_flushed(&self) -> bool {
        self.unsent.is_empty() && self.tls.as_ref().is_none_or(|tls| tls.is_flushed())
    }

    /// Writes what the socket takes now.
    pub fn flush(&mut self) -> io::Result<()> {
        if let Some(tls) = &mut self.tls {
            tls.flush(&self.socket)?;
        }
        if !self.unsent.is_empty() {
            let unsent = std::mem::take(&mut self.unsent);
            let left = self.write(&unsent)?.len();
            self.unsent = unsent;
            self.unsent.drain(..self.unsent.len() - left);
            if self.unsent.is_empty() {
                // An idle session owns no buffer.
                self.unsent = Vec::new();
            }
        }
        Ok(())
    }

    /// Drops the bytes that the socket has not taken; nobody reads them any more.
    pub fn discard(&mut self) {
        self.unsent = Vec::new();
    }

    /// Whether a read may find something that the socket does not know of. Nothing else has a session
    /// give way that unpacks what others sent.
    pub fn has_more(&self) -> bool {
        self.more
    }

    /// Whether nothing has come, neither bytes nor the peer's end.
    pub fn is_quiet(&self) -> bool {
        !self.more && self.socket.is_quiet()
    }

    /// Waits until a read may find something.
    pub async fn readable(&self) -> io::Result<()> {
        if self.more { Ok(()) } else { self.socket.readable().await }
    }

    /// Waits until a write may be taken.
    pub async fn writable(&self) -> io::Result<()> {
        self.socket.writable().await
    }

    /// Whether a read may find something.
    pub fn poll_readable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.more { Poll::Ready(Ok(())) } else { self.socket.poll_readable(cx) }
    }

    /// Whether a write may be taken.
    pub fn poll_writable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.socket.poll_writable(cx)
    }

    /// Ends this side; the other may still speak.
    pub fn end(&mut self) {
        if let Some(tls) = &mut self.tls {
            tls.say_goodbye(&self.socket);
        }
        self.socket.shut_write();
    }

    /// Ends this side as the end of a process does: without TLS's word for it. While MySQL runs a statement,
    /// it takes any unread byte for a sign of a client that is there.
    pub fn end_abruptly(&mut self) {
        self.socket.shut_write();
    }
}
