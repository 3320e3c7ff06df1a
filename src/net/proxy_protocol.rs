//! PROXY protocol headers: a client's address, received from a load balancer and sent to the server.
//!
//! <https://www.haproxy.org/download/3.0/doc/proxy-protocol.txt>

use std::io;
use std::net::SocketAddr;

use proxy_header::{Error, ParseConfig, ProxiedAddress, ProxyHeader};

use super::leg::Leg;
use super::peer::Peer;

/// A header with more beside the addresses than this is refused.
const MAX: usize = 4096;

/// Reads a header of version 1 or 2. `None`: the connection is the announcer's own, or of a kind
/// that has no address.
pub async fn read(leg: &mut Leg) -> io::Result<Option<SocketAddr>> {
    let broken = |what: String| io::Error::new(io::ErrorKind::InvalidData, what);
    let mut bytes = Vec::with_capacity(MAX);
    loop {
        match leg.read(&mut bytes)? {
            Some(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Some(_) => {}
            None => {
                leg.readable().await?;
                continue;
            }
        }
        match ProxyHeader::parse(&bytes, ParseConfig::default()) {
            // The client itself is silent until it is greeted.
            Ok((_, read)) if read < bytes.len() => {
                return Err(broken("bytes after a PROXY header".to_owned()));
            }
            Ok((header, _)) => return Ok(header.proxied_address().map(|address| address.source)),
            Err(Error::BufferTooShort) if bytes.len() < MAX => {}
            Err(e) => return Err(broken(format!("no PROXY header: {e:?}"))),
        }
    }
}

/// The header (version 2) with the client's address for `server`.
pub fn header(client: Peer, server: SocketAddr) -> Vec<u8> {
    let header = match client.0 {
        Some(address) => ProxyHeader::with_address(ProxiedAddress::stream(address, server)),
        None => ProxyHeader::with_local(),
    };
    let mut out = Vec::new();
    if header.encode_v2(&mut out).is_err() {
        // Addresses of two families have no common form.
        out.clear();
        let _ = ProxyHeader::with_local().encode_v2(&mut out);
    }
    out
}
