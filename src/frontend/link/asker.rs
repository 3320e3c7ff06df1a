//! Questions of the proxy to the session's own server, in the session's own state.

use std::borrow::Cow;
use std::pin::pin;
use std::time::Duration;

use tokio::time::sleep;

use super::Link;
use super::bad_response::{bad_answer, unread};
use super::close_reason::CloseReason;
use super::from_server::ServerReader;
use super::question::Whose;
use super::reply::{Keep, MAX_REPLY, Reply};
use super::wait::{Interest, LinkEvent};
use crate::frontend::pooling::pins::Pin;
use crate::protocol::command::Shape;
use crate::protocol::cut::Reported;
use crate::protocol::frame::answering_seq;
use crate::protocol::packet;
use crate::protocol::response::{Ending, Progress};
use crate::protocol::session_track::SessionChange;
use crate::protocol::statement_ids::Naming;

/// From here on, the client's end is looked for while the server runs what the proxy asks. Servers look
/// for it about once a second, too.
const LONG: Duration = Duration::from_secs(1);
/// Bytes kept of a response of which only the end matters.
const KEPT: usize = 64 * 1024;

/// Asks the session's server by its link.
pub(crate) struct Asker<'a> {
    link: &'a mut Link,
}

/// Packets to be sent at once, and how their responses are read.
pub(super) struct Questions<'a> {
    pub(super) packets: &'a [Cow<'a, [u8]>],
    pub(super) naming: Naming,
    pub(super) keep: Keep,
    /// What they change, and what the server reports with them, is the session's.
    pub(super) seen: bool,
}

/// A response as it comes in.
struct Incoming {
    bytes: Vec<u8>,
    /// As many were followed.
    followed: usize,
    /// The bytes begin with a packet.
    whole: bool,
    keep: Keep,
}

impl Incoming {
    /// What has not been followed, if there is any.
    fn rest(&mut self) -> Option<&mut [u8]> {
        self.bytes.get_mut(self.followed..).filter(|rest| !rest.is_empty())
    }

    /// The bytes of a response that has ended. What follows it begins the next one.
    fn take(&mut self) -> Vec<u8> {
        let rest = self.bytes.split_off(std::mem::take(&mut self.followed));
        let mut bytes = std::mem::replace(&mut self.bytes, rest);
        if !std::mem::replace(&mut self.whole, true) {
            bytes.clear();
        }
        bytes
    }
}

/// The session's own changes among those that came with the answers to questions of the proxy's. A variable that a question
/// sets has its value again at the question's end, but for the one that holds a transaction open.
fn late_of(reported: Reported) -> Reported {
    let is_its = |change: &SessionChange| match change {
        SessionChange::Variable { name, .. } => **name != *b"autocommit",
        _ => false,
    };
    let changes = reported.changes.into_iter().filter(is_its).collect();
    Reported { changes, ..Reported::default() }
}

impl<'a> Asker<'a> {
    /// Of the session with this link.
    pub(crate) fn of(link: &'a mut Link) -> Self {
        Self { link }
    }

    /// Sends one packet and reads its whole response. Nothing may be owed before it.
    pub(super) async fn exchange(
        &mut self,
        packet: &[u8],
        keep: Keep,
    ) -> Result<Reply, CloseReason> {
        // The proxy prepares its own statements only.
        self.exchange_told(packet, Naming::Hidden, keep, Whose::Client).await
    }

    /// Sends a packet in which nothing is the client's, and reads its whole response: the server answers it at once, or
    /// not at all.
    pub(super) async fn question(&mut self, packet: &[u8]) -> Result<Reply, CloseReason> {
        self.exchange_told(packet, Naming::Hidden, Keep::All, Whose::Proxy).await
    }

    /// Sends a COM_STMT_PREPARE of the client's, and reads its whole response.
    pub(super) async fn exchange_prepare(&mut self, packet: &[u8]) -> Result<Reply, CloseReason> {
        self.link.pooled.note_preparing(packet, self.link.capabilities);
        self.exchange_told(packet, Naming::Session, Keep::All, Whose::Client).await
    }

    /// Sends packets that leave nothing in the session, and reads all responses: the server reports nothing of the session's with
    /// them, unless it is late. The first of them. Nothing may be owed. `undone`: if the connection ends, nothing of the command that is
    /// answered is left.
    pub(super) async fn exchange_unseen(
        &mut self,
        packets: Vec<Vec<u8>>,
        undone: bool,
        whose: Whose,
    ) -> Result<Reply, CloseReason> {
        self.link.server.note_used();
        // A transaction is rolled back if the connection ends.
        let before = self.link.pooled.replace_undone(undone);
        let replies = self.exchange_all_for(&packets, whose).await?;
        let reported = self.link.server.take_reported();
        if self.link.pooled.may_report_late(self.link.capabilities) {
            self.link.take_in_reported(&late_of(reported));
        }
        self.link.pooled.replace_undone(before);
        if let Some(pooled) = self.link.pooled.session_mut() {
            pooled.note_unseen(undone);
        }
        replies.into_iter().next().ok_or(CloseReason::ServerGone)
    }

    async fn exchange_told(
        &mut self,
        packet: &[u8],
        naming: Naming,
        keep: Keep,
        whose: Whose,
    ) -> Result<Reply, CloseReason> {
        self.link.server.note_used();
        let (packet, _) = self.link.pooled.addressed(packet, self.link.capabilities);
        let questions = Questions { packets: &[packet], naming, keep, seen: true };
        let replies = self.exchange_in_order(&questions, whose).await?;
        // The reply may have come late, and report locks: it is still true.
        self.link.server.until_certain(&self.link.buffers).await?;
        replies.into_iter().next().ok_or(CloseReason::ServerGone)
    }

    /// Lets come in what the server owes, also for a client that is gone.
    pub(crate) async fn let_come_in(&mut self) -> Result<(), CloseReason> {
        while !self.link.owed.is_nothing() || !self.link.server.is_flushed() {
            if self.link.next(Interest::Server).await? != LinkEvent::Server {
                continue;
            }
            match ServerReader::of(self.link).read_and_pass_on() {
                Err(CloseReason::ClientGone) if self.link.client.is_lost() => {}
                heard => heard?,
            }
        }
        Ok(())
    }

    /// Waits for something that neither leg says. Meanwhile the client is read ahead.
    pub(crate) async fn read_ahead_until<T>(
        &mut self,
        what: impl Future<Output = T>,
    ) -> Result<T, CloseReason> {
        let mut what = pin!(what);
        // Ends with that, or with a leg.
        loop {
            tokio::select! {
                biased;
                done = &mut what => return Ok(done),
                event = self.link.next(Interest::Ahead) => match event? {
                    LinkEvent::Client => self.link.read_ahead()?,
                    LinkEvent::Server => return Err(CloseReason::ServerGone),
                    LinkEvent::Settled | LinkEvent::Stalled => {}
                },
            }
        }
    }

    /// As [`Self::exchange_all`], of what the session does not know of: it finds no warnings and errors of these packets.
    pub(crate) async fn exchange_cleanly(
        &mut self,
        packets: &[Vec<u8>],
    ) -> Result<Vec<Reply>, CloseReason> {
        self.exchange_cleanly_for(packets, Whose::Proxy).await
    }

    /// Does [`Self::exchange_cleanly`] for packets of the client's or the proxy's.
    pub(crate) async fn exchange_cleanly_for(
        &mut self,
        packets: &[Vec<u8>],
        whose: Whose,
    ) -> Result<Vec<Reply>, CloseReason> {
        let replies = self.exchange_all_for(packets, whose).await?;
        // Diagnostics of the session's own are left alone.
        let own =
            self.link.pooled.session().is_some_and(|pooled| pooled.pins.has(Pin::Diagnostics));
        if !own && replies.iter().any(Reply::leaves_diagnostics) {
            self.exchange_all(&[packet::clear_diagnostics(self.link.capabilities)]).await?;
        }
        Ok(replies)
    }

    /// Sends packets at once and reads the whole responses to all of them.
    pub(crate) async fn exchange_all(
        &mut self,
        packets: &[Vec<u8>],
    ) -> Result<Vec<Reply>, CloseReason> {
        self.exchange_all_for(packets, Whose::Proxy).await
    }

    /// Does [`Self::exchange_all`] for packets of the client's or the proxy's.
    pub(crate) async fn exchange_all_for(
        &mut self,
        packets: &[Vec<u8>],
        whose: Whose,
    ) -> Result<Vec<Reply>, CloseReason> {
        let packets: Vec<_> = packets.iter().map(|packet| Cow::Borrowed(&**packet)).collect();
        let (naming, keep) = (Naming::Hidden, Keep::All);
        let questions = Questions { packets: &packets, naming, keep, seen: false };
        self.exchange_in_order(&questions, whose).await
    }

    /// Sends packets at once, and reads the whole responses to all of them. Nothing may be owed.
    pub(super) async fn exchange_in_order(
        &mut self,
        questions: &Questions<'_>,
        whose: Whose,
    ) -> Result<Vec<Reply>, CloseReason> {
        self.link.unanswered.note_asked(whose);
        let replies = self.read_in_order(questions).await;
        self.link.unanswered.end();
        replies
    }

    async fn read_in_order(
        &mut self,
        questions: &Questions<'_>,
    ) -> Result<Vec<Reply>, CloseReason> {
        let mut asked = questions.packets.iter();
        let Some(mut packet) = asked.next() else { return Ok(Vec::new()) };
        for packet in questions.packets {
            self.link.server.expect(Shape::of(packet), questions.naming);
        }
        match questions.packets {
            [one] => self.link.send_server(one)?,
            several => self.link.send_server(&several.concat())?,
        }
        let mut soon = pin!(sleep(LONG));
        let mut interest = Interest::Server;
        let keep = questions.keep;
        let mut incoming =
            Incoming { bytes: Vec::with_capacity(256), followed: 0, whole: true, keep };
        let mut replies = Vec::with_capacity(questions.packets.len());
        self.link.server.begin_response(Shape::of(packet), answering_seq(packet));
        loop {
            tokio::select! {
                biased;
                event = self.link.next(interest) => match event? {
                    LinkEvent::Server => {}
                    LinkEvent::Client => {
                        self.hear_end()?;
                        continue;
                    }
                    LinkEvent::Settled | LinkEvent::Stalled => continue,
                },
                () = &mut soon, if interest == Interest::Server => {
                    interest = Interest::End;
                    continue;
                }
            }
            match self.link.server.read(&mut incoming.bytes, &self.link.buffers) {
                Ok(None) => continue,
                Ok(Some(0)) => return Err(CloseReason::ServerGone),
                Err(e) => return Err(unread(self.link, &e, CloseReason::ServerGone)),
                Ok(Some(_)) => {}
            }
            while let Some(ending) = self.follow_replies(packet, &mut incoming)? {
                self.note_answered(questions.seen, ending);
                replies.push(Reply { bytes: incoming.take(), ending });
                // After the last one there may be a last word: the server closes the connection then, which follows.
                let Some(next) = asked.next() else { return Ok(replies) };
                packet = next;
                self.link.server.begin_response(Shape::of(packet), answering_seq(packet));
            }
        }
    }

    /// A question of the proxy's was answered.
    fn note_answered(&mut self, seen: bool, ending: Ending) {
        if !seen {
            return self.link.note_status(ending);
        }
        if ending.is_error() {
            self.link.pooled.note_perhaps_committed();
        }
        self.link.note_ending(ending);
    }

    /// Follows what has come in. The ending, if that was it.
    fn follow_replies(
        &mut self,
        packet: &[u8],
        incoming: &mut Incoming,
    ) -> Result<Option<Ending>, CloseReason> {
        while let Some(rest) = incoming.rest() {
            let (n, progress) = self.link.server.follow(rest, false);
            incoming.followed += n;
            match progress {
                Progress::Continue | Progress::NextResult => {}
                Progress::Ended(ending) => return Ok(Some(ending)),
                Progress::Broken(why) => return Err(bad_answer(self.link, packet, why)),
                Progress::WantsFile => {
                    return Err(CloseReason::Broken("the server asked for a file"));
                }
            }
        }
        let cut = incoming.keep == Keep::End;
        if cut && (!incoming.whole || incoming.bytes.len() > KEPT) {
            incoming.whole = self.link.server.at_packet_boundary();
            incoming.bytes.clear();
            incoming.followed = 0;
        }
        if incoming.bytes.len() > MAX_REPLY {
            return Err(CloseReason::Broken("an endless reply to a question of the proxy"));
        }
        incoming.bytes.reserve(4096);
        Ok(None)
    }

    /// Notices the client's end, of which the server is told: what it runs may take long.
    fn hear_end(&mut self) -> Result<(), CloseReason> {
        match self.link.client.read_ahead() {
            Ok(Some(0)) => {
                self.link.client.note_end();
                self.link.server.end_abruptly();
                Ok(())
            }
            Ok(_) => Ok(()),
            Err(_) => Err(CloseReason::ClientGone),
        }
    }
}
