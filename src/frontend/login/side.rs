//! One side of a login's exchange: a leg, and the number of its next packet.

use std::io;

use tokio::time::{Instant, timeout_at};

use crate::net::leg::Leg;
use crate::protocol::frame::{HEADER, put_frame};

/// Largest login packet taken: names, a proof, 64 KiB of attributes.
pub(crate) const MAX_LOGIN: usize = 80 * 1024;

/// One side of an exchange.
pub struct Side<'a> {
    /// The connection to this side.
    pub leg: &'a mut Leg,
    /// Sequence id of the next packet. The ids of the two sides differ: TLS on one leg takes one more.
    pub next: u8,
}

impl Side<'_> {
    pub(super) async fn send(&mut self, packet: &[u8], deadline: Instant) -> io::Result<()> {
        let mut frame = Vec::with_capacity(packet.len() + HEADER);
        put_frame(&mut frame, self.next, packet);
        self.next = self.next.wrapping_add(1);
        timeout_at(deadline, self.leg.send_all(&frame)).await.unwrap_or_else(|_| too_late())
    }

    /// A frame.
    pub(super) async fn read_frame(&mut self, deadline: Instant) -> io::Result<Vec<u8>> {
        timeout_at(deadline, self.leg.read_frame(MAX_LOGIN)).await.unwrap_or_else(|_| too_late())
    }
}

fn too_late<T>() -> io::Result<T> {
    Err(io::Error::new(io::ErrorKind::TimedOut, "login_timeout is over"))
}
