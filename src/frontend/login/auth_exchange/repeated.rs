//! Works around clients that ignore the nonce in an auth switch, and repeat their first answer.
//!
//! MariaDB keeps a connection's nonce as long as the connection. So in a change of user some clients, such as MariaDB's
//! C library, do not read the nonce that they are asked by: they use that of their login. A session with shared
//! connections may be on another connection by then.

use super::{Exchange, Learning};
use crate::backend::proven::Proven;
use crate::protocol::recover::Scheme;

/// What such a client has said, and knows.
#[derive(Default)]
pub(super) struct FirstAnswer<'a> {
    /// The nonce of its login, if that may be another than the connection's.
    pub(super) nonce: Option<&'a [u8]>,
    pub(super) answer: Vec<u8>,
}

impl<'a> Exchange<'a> {
    /// Tells the exchange by which nonce the client has logged in, on a connection that may be another one.
    #[must_use]
    pub fn knowing(mut self, nonce: &'a [u8]) -> Self {
        self.first = FirstAnswer { nonce: Some(nonce), ..FirstAnswer::default() };
        self
    }

    /// The client's answer to the server's question, by the nonce of that. An answer that no known password has made is
    /// left as it is: the server refuses it.
    pub(super) async fn by_the_server_s_nonce(&self, answer: Vec<u8>) -> Vec<u8> {
        let repeats = !answer.is_empty() && answer == self.first.answer;
        let Some(nonce) = self.first.nonce.filter(|_| repeats) else { return answer };
        let Some(Learning { secrets, user }) = self.lesson.learning() else { return answer };
        let known = || {
            let to = &self.method.nonce;
            let proven = secrets.recognise(user, &self.method.plugin, nonce, &answer);
            if let Some(Proven::Hashed(Scheme::Native, hash)) = proven {
                return Scheme::Native.answer(&hash, to);
            }
            let scheme = Scheme::of_plugin(&self.method.plugin)?;
            let native = scheme == Scheme::Native;
            native.then(|| secrets.answer_again(user, scheme, (nonce, &answer), to)).flatten()
        };
        if let Some(known) = known() {
            return known;
        }
        // The account, or its password, may be a new one.
        secrets.verifier_reads().again().await;
        known().unwrap_or(answer)
    }
}
