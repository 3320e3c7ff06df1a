//! The packets of an exchange, on both legs.

use super::{Exchange, IN_FULL};
use crate::protocol::frame::HEADER;
use crate::protocol::host_block_guard;
use std::io;

impl Exchange<'_> {
    pub(super) async fn answer_server(&mut self, answer: Vec<u8>) -> io::Result<()> {
        let answer = host_block_guard::answer(&self.method.plugin, self.in_full, answer);
        self.tell_server(&answer).await
    }

    pub(super) async fn tell_client(&mut self, packet: &[u8]) -> io::Result<()> {
        self.client.send(packet, self.deadline).await
    }

    pub(super) async fn tell_server(&mut self, packet: &[u8]) -> io::Result<()> {
        self.asked = false;
        self.server.send(packet, self.deadline).await
    }

    pub(super) async fn hear_server(&mut self) -> io::Result<Vec<u8>> {
        let frame = self.server.read_frame(self.deadline).await?;
        self.server.next = frame[HEADER - 1].wrapping_add(1);
        self.asked = true;
        self.in_full = frame[HEADER..] == *IN_FULL;
        Ok(frame[HEADER..].to_vec())
    }

    pub(super) async fn hear_client(&mut self) -> io::Result<Vec<u8>> {
        let frame = self.client.read_frame(self.deadline).await?;
        // Compressed packets are counted elsewhere.
        if frame[HEADER - 1] != self.client.next && !self.client.leg.is_compressed() {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a packet out of order"));
        }
        self.client.next = self.client.next.wrapping_add(1);
        Ok(frame[HEADER..].to_vec())
    }
}
