//! TLS on a connection that has greeted.

use std::io;

use super::own;
use crate::net::certificates::{Behalf, Connector, NoTls};
use crate::net::leg::Leg;
use crate::protocol::frame::put_frame;
use crate::protocol::handshake::{Greeting, LOGIN_HEAD};

/// Asks the server for TLS, and encrypts the leg. `login` is what
/// follows, and begins as the question does: the server takes the capabilities of the question. A peer
/// that is not proved to be the server does not learn the rest of it.
pub async fn encrypt(
    connector: &Connector,
    server: &mut Leg,
    behalf: Behalf<'_>,
    (greeting, host): (&Greeting, &str),
    login: &[u8],
) -> Result<(), NoTls> {
    let head = login.get(..LOGIN_HEAD).ok_or(io::Error::from(io::ErrorKind::InvalidInput))?;
    let mut question = Vec::with_capacity(LOGIN_HEAD + 4);
    put_frame(&mut question, 1, head);
    server.send_all(&question).await?;
    let encrypted = connector.encrypt(server, behalf, host).await;
    if matches!(encrypted, Err(NoTls::Untrusted(_))) {
        own::leave_as_nobody(server, greeting, head).await;
    }
    encrypted
}
