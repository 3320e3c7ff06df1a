//! The password itself, where an exchange asks for it.
//!
//! A password never crosses in clear a leg that is not secure, and the server gets it in the form that it expects.
//! Where the proxy learns passwords, it asks for them as the server may ask too. A client with TLS is asked for the
//! password. A client without TLS is asked for the password under the key that it has requested.

use std::io;

use zeroize::Zeroizing;

use super::{Broken, CACHING, Exchange, FAST_IS_DONE, IN_FULL, MORE};
use crate::lock::codes;
use crate::protocol::auth::{OwnKey, encrypted_password};

/// The question of a client without TLS for the key to encrypt its password with.
const WHICH_KEY: &[u8] = &[2];

impl Exchange<'_> {
    pub(super) fn legs_differ(&self) -> bool {
        self.client.leg.is_secure() != self.server.leg.is_secure()
    }

    pub(super) fn check_clear(&self) -> Result<(), Broken> {
        let leg = if !self.client.leg.is_secure() {
            "to Lockstead"
        } else if !self.server.leg.is_secure() {
            "from Lockstead to the server"
        } else {
            return Ok(());
        };
        Err(Broken::Refused(codes::clear_password(&self.method.plugin, leg)))
    }

    /// Passes on the client's answer to a question for its password.
    pub(super) async fn pass_answer(&mut self) -> Result<(), Broken> {
        let answer = self.hear_client().await?;
        let caching = self.method.plugin == CACHING;
        let secure = self.client.leg.is_secure();
        if caching && !secure && !self.legs_differ() && answer == WHICH_KEY {
            return self.pass_key().await;
        }
        if caching && secure {
            self.lesson.note_password(&answer);
        }
        let answer = self.translate(answer).await?;
        if caching && !secure && self.server.leg.is_secure() {
            self.lesson.note_password(&answer);
        }
        Ok(self.answer_server(answer).await?)
    }

    /// Answers the client's question for the server's key. What the client encrypts with that key, only the server can
    /// read. If the proxy is to learn the password, the client gets the proxy's key instead, if it fits. The server
    /// judges what the proxy cannot decrypt.
    async fn pass_key(&mut self) -> Result<(), Broken> {
        self.answer_server(WHICH_KEY.to_vec()).await?;
        let own = self.own_key.filter(|_| self.lesson.learning().is_some());
        let Some(own) = own else {
            return Ok(());
        };
        let packet = self.hear_server().await?;
        let key = packet.strip_prefix(&[MORE]).filter(|key| own.can_stand_in_for(key));
        let Some(key) = key else {
            self.held_back = Some(packet);
            return Ok(());
        };
        let encrypted = self.hear_under(own).await?;
        let password = own.decrypt(&encrypted, &self.method.nonce).map(Zeroizing::new);
        let again = password.as_ref().and_then(|p| encrypted_password(key, &self.method.nonce, p));
        if let (Some(password), Some(_)) = (&password, &again) {
            self.lesson.note_password(password);
        }
        Ok(self.answer_server(again.unwrap_or(encrypted)).await?)
    }

    /// Turns a client's answer for its password into the server's form.
    ///
    /// On a secure leg that is the password; on another a question for the public key, and then
    /// the password under it. A single NUL is no password, on either.
    pub(super) async fn translate(&mut self, answer: Vec<u8>) -> Result<Vec<u8>, Broken> {
        if !self.legs_differ() || answer == [0] {
            return Ok(answer);
        }
        let question = if self.method.plugin == CACHING { [2] } else { [1] };
        if self.client.leg.is_secure() {
            self.password = Some(answer);
            return Ok(question.to_vec());
        }
        let Some(key) = self.own_key else {
            return Err(io::Error::other("no key to have a password encrypted with").into());
        };
        let encrypted = if answer == question { self.hear_under(key).await? } else { answer };
        let password = key.decrypt(&encrypted, &self.method.nonce);
        password.ok_or_else(|| Broken::Refused(codes::wrong_key(&self.method.plugin)))
    }

    /// The server's public key has come.
    pub(super) async fn encrypt_password(&mut self, packet: &[u8]) -> Result<(), Broken> {
        let password = self.password.take().unwrap_or_default();
        let encrypted = encrypted_password(&packet[1..], &self.method.nonce, &password)
            .ok_or_else(|| io::Error::other("the server sent no public key"))?;
        Ok(self.tell_server(&encrypted).await?)
    }

    /// The server is content with the client's proof, and asks for no more. A client with TLS may be
    /// asked for its password in place of that, for the proxy to learn it: the server has let it in
    /// then, whatever it says.
    pub(super) async fn end_fast(&mut self) -> Result<(), Broken> {
        let asks = self.client.leg.tls().is_some()
            && self.method.plugin == CACHING
            && self.lesson.needs_password();
        if !asks {
            return Ok(self.tell_client(FAST_IS_DONE).await?);
        }
        let decided = self.hear_server().await?;
        if decided.first() == Some(&0) {
            self.accepted = true;
            let heard = self.ask_in_passing().await;
            if let (Err(_), Some(from)) = (&heard, self.lesson.learning()) {
                from.secrets.note_reluctant(from.user);
            }
            self.lesson.check_password(&heard?);
        } else {
            self.tell_client(FAST_IS_DONE).await?;
        }
        self.held_back = Some(decided);
        Ok(())
    }

    async fn ask_in_passing(&mut self) -> io::Result<Zeroizing<Vec<u8>>> {
        self.tell_client(IN_FULL).await?;
        let answer = Zeroizing::new(self.hear_client().await?);
        match self.own_key.filter(|_| *answer == WHICH_KEY) {
            Some(key) => {
                let encrypted = self.hear_under(key).await?;
                let password = key.decrypt(&encrypted, &self.method.nonce);
                Ok(Zeroizing::new(password.unwrap_or_default()))
            }
            None => Ok(answer),
        }
    }

    /// The answer of a client that was given this key.
    async fn hear_under(&mut self, key: &OwnKey) -> io::Result<Vec<u8>> {
        self.tell_client(&[&[MORE], key.pem()].concat()).await?;
        self.hear_client().await
    }
}
