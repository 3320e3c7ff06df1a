//! The authentication exchange: what the server asks, the client answers. The proxy steps in only
//! where one leg is secure and the other is not, and where it learns passwords.

mod packets;
mod password;
mod repeated;

use std::borrow::Cow;
use std::io;
use std::time::Duration;

use tokio::time::Instant;

use repeated::FirstAnswer;

pub use super::lesson::Learning;
use super::lesson::Lesson;
pub(crate) use super::side::MAX_LOGIN;
pub use super::side::Side;
use crate::backend::proven::Proven;
use crate::protocol::auth::{Method, OwnKey};
use crate::protocol::command::Command;
use crate::protocol::frame::{HEADER, put_frame};
use crate::protocol::handshake::Login;
use crate::protocol::host_block_guard;
use crate::protocol::reply::ErrorReply;

/// How long the server may take to refuse what a client has left unanswered.
const FAREWELL: Duration = Duration::from_secs(5);

/// A proof that no password has.
const WRONG: [u8; 20] = [1; 20];

const CACHING: &[u8] = b"caching_sha2_password";
const SHA256: &[u8] = b"sha256_password";
/// The password as it is.
const CLEAR: &[u8] = b"mysql_clear_password";
/// Questions and answers as they are; MariaDB's PAM asks for a password that way.
const DIALOG: &[u8] = b"dialog";

/// Packets that begin so belong to an exchange and are neither its end nor a new method.
const MORE: u8 = 1;
const FAST_IS_DONE: &[u8] = &[MORE, 3];
const IN_FULL: &[u8] = &[MORE, 4];

/// A login, or a change of user, that is under way.
pub struct Exchange<'a> {
    client: Side<'a>,
    server: Side<'a>,
    own_key: Option<&'a OwnKey>,
    deadline: Instant,
    method: Method,
    /// The server waits for an answer; if so, whether for the password itself.
    asked: bool,
    in_full: bool,
    /// Sent in clear by the client, for a server that wants it encrypted.
    password: Option<Vec<u8>>,
    /// The error with which the server has refused.
    refusal: Option<u16>,
    /// The server has let the client in.
    accepted: bool,
    /// Read from the server, and not looked at yet.
    held_back: Option<Vec<u8>>,
    lesson: Lesson<'a>,
    first: FirstAnswer<'a>,
}

/// How the server has decided.
#[derive(Debug)]
pub enum Verdict {
    /// The server's OK, as a frame for the client. The frame was not sent yet.
    Accepted(Vec<u8>),
    /// The server has refused, and the client was told.
    Denied,
}

/// Why an exchange did not come to an answer of the server's.
#[derive(Debug)]
pub enum Broken {
    /// One side left, took too long or spoke out of turn.
    Io(io::Error),
    /// The proxy refuses, and says so.
    Refused(ErrorReply),
}

impl From<io::Error> for Broken {
    fn from(e: io::Error) -> Self {
        Self::Io(e)
    }
}

impl<'a> Exchange<'a> {
    /// After the client's first packet; the method is that of the server's greeting.
    pub fn new(
        client: Side<'a>,
        server: Side<'a>,
        own_key: Option<&'a OwnKey>,
        deadline: Instant,
        method: Method,
    ) -> Self {
        Self {
            client,
            server,
            own_key,
            deadline,
            method,
            asked: false,
            in_full: false,
            password: None,
            refusal: None,
            accepted: false,
            held_back: None,
            lesson: Lesson::default(),
            first: FirstAnswer::default(),
        }
    }

    /// Lets the proxy learn passwords from this exchange.
    #[must_use]
    pub fn teaching(mut self, learning: Learning<'a>) -> Self {
        self.lesson = Lesson::of(learning);
        self.own_key = self.own_key.or(learning.secrets.own_key());
        self
    }

    /// Runs the exchange that `login` begins; `packet` makes the server's login from a proof, or from the
    /// client's own.
    pub async fn decide(
        &mut self,
        login: &Login<'_>,
        packet: impl Fn(Option<&[u8]>) -> Vec<u8>,
    ) -> Result<Verdict, Broken> {
        match self.first(login.plugin, login.proof).await {
            Ok(proof) => self.run(&packet(proof.as_deref())).await,
            Err(broken) => {
                self.fail(&packet(Some(&WRONG))).await;
                Err(broken)
            }
        }
    }

    /// Looks at the proof in the client's first packet. Returns the one for the server, if that is
    /// to be another.
    pub async fn first(&mut self, plugin: &[u8], proof: &[u8]) -> Result<Option<Vec<u8>>, Broken> {
        let greeted_with = std::mem::replace(&mut self.method.plugin, plugin.to_vec());
        self.note_answer(proof);
        self.first.answer = proof.to_vec();
        let translated = match proof {
            [] => Ok(None),
            _ if plugin == CLEAR => self.check_clear().map(|()| None),
            _ if plugin == SHA256 && greeted_with == SHA256 => {
                self.translate(proof.to_vec()).await.map(|p| (p != proof).then_some(p))
            }
            _ if plugin == SHA256 && proof.last() == Some(&0) && self.client.leg.is_secure() => {
                // For a server that will ask for another plugin anyway.
                Ok((!self.server.leg.is_secure()).then_some(Vec::new()))
            }
            _ => Ok(None),
        };
        if let Err(Broken::Refused(error)) = &translated {
            self.tell_client(&encoded(error)).await?;
        }
        let translated = translated?;
        let said = translated.as_deref().unwrap_or(proof);
        let tamed = match host_block_guard::proof(plugin, said.into()) {
            Cow::Owned(tamed) => Some(tamed),
            Cow::Borrowed(_) => None,
        };
        Ok(tamed.or(translated))
    }

    /// A login that the client has broken off before it began: the server is to refuse it.
    async fn fail(&mut self, packet: &[u8]) {
        self.deadline = Instant::now() + FAREWELL;
        if self.tell_server(packet).await.is_ok() {
            self.give_up().await;
        }
    }

    /// Sends the packet that begins the exchange, then passes on until the server has decided.
    pub async fn run(&mut self, packet: &[u8]) -> Result<Verdict, Broken> {
        self.tell_server(packet).await?;
        let decided = self.until_decided().await;
        if let Err(broken) = &decided {
            self.lesson.begin_anew();
            if let Broken::Refused(error) = broken {
                self.tell_client(&encoded(error)).await?;
            }
            self.give_up().await;
        }
        decided
    }

    /// Whether the server has refused, and not because of who the user is: it has no room for one
    /// more, or lets nobody in.
    pub fn lacks_room(&self) -> bool {
        /// Too many connections, its shutdown, a blocked or unknown host, no thread, too many of this
        /// user's, too much used by this user, offline mode.
        const CODES: [u16; 8] = [1040, 1053, 1129, 1130, 1135, 1203, 1226, 3032];
        self.refusal.is_some_and(|code| CODES.contains(&code))
    }

    /// The client's proof, if the server has let it in and the proxy learns.
    pub fn proven(&mut self) -> Option<Proven> {
        self.lesson.take().filter(|_| self.accepted)
    }

    /// What the server asked for last.
    pub fn into_method(self) -> Method {
        self.method
    }

    async fn until_decided(&mut self) -> Result<Verdict, Broken> {
        loop {
            let packet = match self.held_back.take() {
                Some(packet) => packet,
                None => self.hear_server().await?,
            };
            match packet.first() {
                Some(0) => {
                    self.accepted = true;
                    let mut ok = Vec::with_capacity(packet.len() + HEADER);
                    put_frame(&mut ok, self.client.next, &packet);
                    return Ok(Verdict::Accepted(ok));
                }
                Some(0xff) => {
                    self.refusal =
                        packet.get(1..3).map(|code| u16::from_le_bytes([code[0], code[1]]));
                    self.tell_client(&packet).await?;
                    return Ok(Verdict::Denied);
                }
                // Another method, or the next factor's.
                Some(0xfe | 2) => self.switch(&packet).await?,
                _ if packet == FAST_IS_DONE => {
                    self.asked = false;
                    self.end_fast().await?;
                }
                _ if packet == IN_FULL && self.method.plugin == CACHING => {
                    self.tell_client(&packet).await?;
                    self.pass_answer().await?;
                }
                Some(&MORE) if self.password.is_some() => self.encrypt_password(&packet).await?,
                _ => {
                    self.tell_client(&packet).await?;
                    let answer = self.hear_client().await?;
                    self.answer_server(answer).await?;
                }
            }
        }
    }

    async fn switch(&mut self, packet: &[u8]) -> Result<(), Broken> {
        self.learn_method(packet);
        self.password = None;
        self.lesson.begin_anew();
        if packet.first() == Some(&2) {
            self.lesson.note_factor();
        }
        if self.method.plugin == CLEAR || (self.method.plugin == DIALOG && self.legs_differ()) {
            self.check_clear()?;
        }
        self.tell_client(packet).await?;
        if self.method.plugin == SHA256 {
            return self.pass_answer().await;
        }
        let answer = self.hear_client().await?;
        let answer = self.by_the_server_s_nonce(answer).await;
        self.note_answer(&answer);
        Ok(self.answer_server(answer).await?)
    }

    fn note_answer(&mut self, answer: &[u8]) {
        self.lesson.note_answer(&self.method, answer);
        if self.method.plugin == CLEAR && self.client.leg.is_secure() {
            self.lesson.note_password(answer);
        }
    }

    fn learn_method(&mut self, packet: &[u8]) {
        if let Some((0xfe | 2, rest)) = packet.split_first() {
            let end = memchr::memchr(0, rest).unwrap_or(rest.len());
            let nonce = rest.get(end + 1..).unwrap_or_default().to_vec();
            self.method = Method { plugin: rest[..end].to_vec(), nonce };
        }
    }

    /// The server counts a login that breaks off against this host, and blocks it after some: it is
    /// better given wrong answers.
    async fn give_up(&mut self) {
        self.deadline = Instant::now() + FAREWELL;
        if self.accepted {
            self.server.next = 0;
            // The server waits for commands. If COM_QUIT does not reach it, it sees the connection end.
            let _ = self.tell_server(&[Command::QUIT.0]).await;
            return;
        }
        loop {
            if self.asked && self.answer_server(Vec::new()).await.is_err() {
                return;
            }
            match self.hear_server().await {
                Ok(packet) if packet == FAST_IS_DONE => self.asked = false,
                Ok(packet) if !matches!(packet.first(), Some(0 | 0xff)) => {
                    self.learn_method(&packet);
                }
                _ => return,
            }
        }
    }
}

/// An error's packet without its header.
fn encoded(error: &ErrorReply) -> Vec<u8> {
    let mut frame = Vec::new();
    error.encode(&mut frame, 0, false);
    frame.split_off(HEADER)
}

#[cfg(test)]
mod tests;
