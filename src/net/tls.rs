//! TLS over a socket that takes what is there: rustls does the cryptography, this passes bytes.

use std::io::{self, BufRead, IoSlice, Read, Write};

use rustls::Connection;
use rustls::pki_types::CertificateDer;

use super::socket::Socket;
use crate::protocol::frame::at_most;

/// An encrypted connection.
#[derive(Debug)]
pub struct Tls {
    connection: Connection,
    /// The peer has ended its side.
    ended: bool,
}

impl Tls {
    /// Either side: the one that the client's TLS ends at, or the one that asks the server for TLS.
    pub fn new(connection: impl Into<Connection>) -> Self {
        Self { connection: connection.into(), ended: false }
    }

    /// Exchanges keys and certificates.
    pub async fn shake_hands(&mut self, socket: &Socket) -> io::Result<()> {
        while self.connection.is_handshaking() {
            self.flush(socket)?;
            if self.connection.wants_write() {
                socket.writable().await?;
                continue;
            }
            if !self.connection.is_handshaking() {
                break;
            }
            socket.readable().await?;
            self.decrypt_arrived(socket)?;
            if self.ended {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        while self.connection.wants_write() {
            self.flush(socket)?;
            if self.connection.wants_write() {
                socket.writable().await?;
            }
        }
        Ok(())
    }

    /// The peer's certificate, if it has shown one.
    pub fn peer_certificate(&self) -> Option<&CertificateDer<'static>> {
        self.peer_certificates().first()
    }

    /// The peer's certificate, followed by the certificates that vouch for it.
    pub fn peer_certificates(&self) -> &[CertificateDer<'static>] {
        self.connection.peer_certificates().unwrap_or_default()
    }

    /// The name by which a client has called this side.
    pub fn asked_for(&self) -> Option<&str> {
        match &self.connection {
            Connection::Server(connection) => connection.server_name(),
            Connection::Client(_) => None,
        }
    }

    /// Reads at most `room` bytes, as [`Socket::read`] does.
    pub fn read(
        &mut self,
        socket: &Socket,
        buffer: &mut Vec<u8>,
        room: usize,
    ) -> io::Result<Option<usize>> {
        let before = buffer.len();
        loop {
            self.take_out(buffer, room - (buffer.len() - before))?;
            if buffer.len() - before == room {
                break;
            }
            match self.decrypt_arrived(socket) {
                Ok(true) => {}
                Ok(false) => break,
                // The bytes before it are whole; the error comes again.
                Err(_) if buffer.len() > before => break,
                Err(e) => return Err(e),
            }
        }
        match buffer.len() - before {
            0 if self.ended => Ok(Some(0)),
            0 => Ok(None),
            n => Ok(Some(n)),
        }
    }

    /// Decrypted bytes that are there already.
    fn take_out(&mut self, buffer: &mut Vec<u8>, room: usize) -> io::Result<()> {
        let mut left = room;
        while left > 0 {
            let mut reader = self.connection.reader();
            let n = match reader.fill_buf() {
                Ok([]) => {
                    self.ended = true;
                    return Ok(());
                }
                Ok(chunk) => {
                    let taken = at_most(chunk, left);
                    buffer.extend_from_slice(taken);
                    taken.len()
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                // Most clients close the connection without a word. Packets have their own lengths.
                Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => {
                    self.ended = true;
                    return Ok(());
                }
                Err(e) => return Err(e),
            };
            reader.consume(n);
            left -= n;
        }
        Ok(())
    }

    /// Takes bytes from the socket and decrypts them. False when there were none.
    fn decrypt_arrived(&mut self, socket: &Socket) -> io::Result<bool> {
        if self.ended {
            return Ok(false);
        }
        match self.connection.read_tls(&mut Pipe(socket)) {
            Ok(0) => {
                self.ended = true;
                return Ok(false);
            }
            Ok(_) => {}
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(false),
            Err(e) => return Err(e),
        }
        let processed = self.connection.process_new_packets();
        // An alert that says why, a ticket, or a new key.
        let flushed = self.flush(socket);
        processed.map_err(unread)?;
        flushed.map(|()| true)
    }

    /// Encrypts what it takes now. Nothing while older bytes are still to be written.
    pub fn write(&mut self, socket: &Socket, bytes: &[u8]) -> io::Result<usize> {
        self.flush(socket)?;
        if self.connection.wants_write() {
            return Ok(0);
        }
        let n = self.connection.writer().write(bytes)?;
        self.flush(socket)?;
        Ok(n)
    }

    /// Writes what the socket takes now.
    pub fn flush(&mut self, socket: &Socket) -> io::Result<()> {
        while self.connection.wants_write() {
            match self.connection.write_tls(&mut Pipe(socket)) {
                Ok(_) => {}
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    /// Whether everything encrypted is with the socket.
    pub fn is_flushed(&self) -> bool {
        !self.connection.wants_write()
    }

    /// Tells the peer that nothing more comes.
    pub fn say_goodbye(&mut self, socket: &Socket) {
        self.connection.send_close_notify();
        // Best effort: the socket is closed next.
        let _ = self.flush(socket);
    }
}

/// An error of what the peer sent. An alert is no garbage: the peer ends the connection. OpenSSL sends one when its own peer
/// has closed the connection without a word.
fn unread(error: rustls::Error) -> io::Error {
    let kind = match error {
        rustls::Error::AlertReceived(_) => io::ErrorKind::ConnectionAborted,
        _ => io::ErrorKind::InvalidData,
    };
    io::Error::new(kind, error)
}

/// A socket as rustls wants it.
struct Pipe<'a>(&'a Socket);

impl Read for Pipe<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let room = out.len();
        let mut out = out;
        self.0.read(&mut out, room)?.ok_or_else(|| io::ErrorKind::WouldBlock.into())
    }
}

impl Write for Pipe<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_vectored(&[IoSlice::new(bytes)])
    }

    fn write_vectored(&mut self, buffers: &[IoSlice<'_>]) -> io::Result<usize> {
        self.0.write_vectored(buffers)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
