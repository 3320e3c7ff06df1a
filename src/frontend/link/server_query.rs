//! Questions of the proxy to the session's own server, in the session's own state.

use std::pin::pin;
use std::time::Duration;

use tokio::time::sleep;

use crate::clock;
use crate::frontend::session::{End, Session};
use crate::protocol::column;
use crate::protocol::command::{Command, Shape};
use crate::protocol::frame::{FrameHeader, HEADER, put_frame};
use crate::protocol::reader::Reader;
use crate::protocol::reply::query;
use crate::protocol::response::{Ending, PrepareOk, Progress, Tracker};
use crate::protocol::status::Status;
use crate::store::identity::ident_expression;

/// A reply to a question is small; more means that something is wrong.
pub(in crate::frontend) const MAX_REPLY: usize = 1 << 20;

/// From here on, the client's end is looked for while the server runs what the proxy asks. Servers look
/// for it about once a second, too.
const LONG: Duration = Duration::from_secs(1);

/// Bytes kept of a response of which only the end matters.
const KEPT: usize = 64 * 1024;

/// A complete response.
pub(in crate::frontend) struct Reply {
    /// All frames as the server sent them.
    pub(in crate::frontend) bytes: Vec<u8>,
    pub(in crate::frontend) ending: Ending,
}

impl Reply {
    /// Whether the server refused.
    pub(in crate::frontend) fn is_error(&self) -> bool {
        self.ending.is_error()
    }

    /// The frames, header and payload.
    pub(in crate::frontend) fn frames(&self) -> impl Iterator<Item = &[u8]> {
        frames(&self.bytes)
    }

    /// The status flags behind the column definitions, where an EOF stands there.
    pub(in crate::frontend) fn first_eof(&self) -> Option<Status> {
        match self.frames().skip(1).find(|f| is_end(f))?[HEADER..] {
            [0xfe, _, _, low, high] => Some(Status(u16::from_le_bytes([low, high]))),
            _ => None,
        }
    }

    /// The names of catalog and column in the column definitions, parameters among them.
    pub(in crate::frontend) fn column_names(&self) -> impl Iterator<Item = (Vec<u8>, Vec<u8>)> {
        let definitions = self.frames().map(|f| &f[HEADER..]).filter(|p| column::is_definition(p));
        definitions.filter_map(|p| column::names(p).map(|(c, n)| (c.to_vec(), n.to_vec())))
    }

    /// The values of the only row, which must be ASCII: ucs2, utf16 and utf32 as character set of
    /// results put zeros beside each letter.
    pub(in crate::frontend) fn values(&self) -> Option<Vec<Option<Vec<u8>>>> {
        let mut row = self.row();
        row.iter_mut().flatten().flatten().for_each(|value| value.retain(|b| *b != 0));
        row
    }

    /// The values of the only row of a text result.
    pub(in crate::frontend) fn row(&self) -> Option<Vec<Option<Vec<u8>>>> {
        let mut frames = self.frames();
        let columns = Reader::new(&frames.next()?[HEADER..]).lenenc()?;
        // Definitions, unless the client turned them off; then perhaps an EOF.
        let mut row = frames.find(|f| !column::is_definition(&f[HEADER..]) && !is_end(f))?;
        row = &row[HEADER..];
        let mut r = Reader::new(row);
        let mut values = Vec::new();
        for _ in 0..columns {
            if r.rest().first() == Some(&0xfb) {
                r.u8();
                values.push(None);
            } else {
                values.push(Some(r.lenenc_bytes()?.to_vec()));
            }
        }
        Some(values)
    }
}

/// Whole frames, header and payload.
pub(in crate::frontend) fn frames(mut rest: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let frame = FrameHeader::peek(rest)?;
        let (head, tail) = rest.split_at_checked(HEADER + frame.len)?;
        rest = tail;
        Some(head)
    })
}

/// Whether a frame behind the first ends definitions or rows.
pub(in crate::frontend) fn is_end(frame: &[u8]) -> bool {
    matches!(frame.get(HEADER), Some(0xfe | 0xff))
}

impl Session {
    /// Runs a text and reads its whole response.
    pub(in crate::frontend) async fn ask(&mut self, text: &[u8]) -> Result<Reply, End> {
        let packet = query(text, self.capabilities);
        self.exchange(&packet, Shape::Results).await
    }

    /// Sends the client a whole response that may have several results.
    pub(in crate::frontend) fn send_results(&mut self, bytes: &[u8]) -> Result<(), End> {
        let mut tracker = Tracker::new(self.capabilities);
        tracker.begin(Shape::Results);
        let mut at = 0;
        while let (n, Progress::NextResult) = tracker.feed(&bytes[at..]) {
            self.send_client(&bytes[at..at + n])?;
            self.client.result_follows();
            at += n;
        }
        self.send_client(&bytes[at..])
    }

    /// Runs a text of which only the end of the response matters: of a long one, the first packets
    /// are not kept.
    pub(in crate::frontend) async fn ask_for_the_end(&mut self, text: &[u8]) -> Result<Reply, End> {
        let packet = query(text, self.capabilities);
        self.exchange_keeping(&packet, Shape::Results, false).await
    }

    /// Sends one packet and reads its whole response, behind those that are owed.
    pub(in crate::frontend) async fn exchange(
        &mut self,
        packet: &[u8],
        shape: Shape,
    ) -> Result<Reply, End> {
        self.exchange_keeping(packet, shape, true).await
    }

    async fn exchange_keeping(
        &mut self,
        packet: &[u8],
        shape: Shape,
        all: bool,
    ) -> Result<Reply, End> {
        self.settle_owed().await?;
        self.server_used = tokio::time::Instant::now();
        self.send_server(packet)?;
        self.drain_to_server().await?;
        let mut bytes = Vec::with_capacity(256);
        let mut fed = 0;
        // The bytes begin with a packet.
        let mut whole = true;
        let mut soon = pin!(sleep(LONG));
        let mut long = false;
        self.begin_response(shape, 1);
        loop {
            tokio::select! {
                biased;
                ready = self.server.readable() => ready.map_err(|_| End::ServerGone)?,
                () = &mut soon, if !long => {
                    long = true;
                    continue;
                }
                _ = self.client.readable(), if long && self.hears_ahead() => {
                    self.hear_ahead()?;
                    continue;
                }
            }
            match self.server.read(&mut bytes) {
                Ok(None) => continue,
                Ok(Some(0)) => return Err(End::ServerGone),
                Err(e) => return Err(self.unread(&e, End::ServerGone)),
                Ok(Some(_)) => {}
            }
            while fed < bytes.len() {
                let (n, progress) = self.follow(&mut bytes[fed..]);
                fed += n;
                match progress {
                    Progress::Continue | Progress::NextResult => {}
                    Progress::Ended(ending) => {
                        self.ended(ending);
                        // More is a last word before the server hangs up, which follows.
                        bytes.truncate(fed);
                        if !whole {
                            bytes.clear();
                        }
                        // The reply may have come late, and tells of locks: it is still true.
                        self.check_lease()?;
                        return Ok(Reply { bytes, ending });
                    }
                    Progress::WantsFile => return Err(End::Broken("the server asked for a file")),
                }
            }
            if !all && (!whole || bytes.len() > KEPT) {
                whole = self.tracker.at_packet_boundary();
                bytes.clear();
                fed = 0;
            }
            if bytes.len() > MAX_REPLY {
                return Err(End::Broken("an endless reply to a question of the proxy"));
            }
            bytes.reserve(4096);
        }
    }

    /// Whether the client's end can be seen while the server runs what the proxy asks. After a further
    /// command no server looks for it either.
    fn hears_ahead(&self) -> bool {
        self.inbox.is_empty() && !self.client_ended && !self.client_lost
    }

    /// Notices the client's end, of which the server is told: what it runs may take long.
    fn hear_ahead(&mut self) -> Result<(), End> {
        match self.client.read(&mut self.inbox) {
            Ok(Some(0)) => {
                self.client_ended = true;
                self.server.end();
                Ok(())
            }
            Ok(_) => Ok(()),
            Err(_) => Err(End::ClientGone),
        }
    }

    /// What the server says to a text that it is to prepare; it does not run it.
    pub(in crate::frontend) async fn prepare_and_close(
        &mut self,
        text: &[u8],
    ) -> Result<Reply, End> {
        let mut packet = Vec::with_capacity(text.len() + HEADER + 1);
        put_frame(&mut packet, 0, &[&[Command::STMT_PREPARE.0], text].concat());
        let reply = self.exchange(&packet, Shape::Prepare).await?;
        let prepared = reply.frames().next().and_then(|f| PrepareOk::parse(&f[HEADER..]));
        if let Some(PrepareOk { id, .. }) = prepared {
            self.close_statement(id)?;
        }
        Ok(reply)
    }

    /// Runs a text of one row and returns its values, which must be ASCII; `None` when the server
    /// refuses it.
    pub(in crate::frontend) async fn ask_row(
        &mut self,
        text: &[u8],
    ) -> Result<Option<Vec<Option<Vec<u8>>>>, End> {
        // Whatever sql_select_limit says.
        let reply = self.ask(&[text, b" LIMIT 1"].concat()).await?;
        if reply.is_error() {
            return Ok(None);
        }
        Ok(reply.values())
    }

    /// A session at another server than the locks cannot have any: its connection id is nobody's
    /// there, or a stranger's, and nobody would wait for its end.
    pub(in crate::frontend) async fn check_server(&mut self) -> Result<(), End> {
        if self.context.engine.lease().trusts(self.opened) {
            return Ok(());
        }
        let now = clock::now();
        let sql = format!("SELECT {}", ident_expression(self.flavour));
        let row = self.ask_row(sql.as_bytes()).await?;
        let home = self.context.engine.lease().home();
        if !matches!(row.as_deref(), Some([Some(ident)]) if *ident == home.as_bytes()) {
            return Err(End::Moved);
        }
        // What changes from here on is asked about another time.
        self.opened = now;
        Ok(())
    }

    /// Writes everything queued for the client.
    pub(in crate::frontend) async fn drain_to_client(&mut self) -> Result<(), End> {
        while !self.client.is_flushed() {
            self.client.writable().await.map_err(|_| End::ClientGone)?;
            std::future::poll_fn(|cx| std::task::Poll::Ready(self.flush_client(cx))).await?;
        }
        Ok(())
    }

    /// Sends what is queued for the server.
    pub(in crate::frontend) async fn drain_to_server(&mut self) -> Result<(), End> {
        while !self.server.is_flushed() {
            self.server.writable().await.map_err(|_| End::ServerGone)?;
            std::future::poll_fn(|cx| std::task::Poll::Ready(self.flush_server(cx))).await?;
        }
        Ok(())
    }
}
