//! Which servers of its cluster a listener leads to.

use super::error::WrongValue;
use super::mode::Mode;
use super::parse::choice;
use super::pooling::Pooling;
use super::servers::ServerAddress;

/// The servers that the sessions of a listener get.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListenerRole {
    /// The server that takes writes.
    Writer,
    /// A server that takes no writes.
    Replica,
}

const NAMES: [(&str, ListenerRole); 2] =
    [("writer", ListenerRole::Writer), ("replica", ListenerRole::Replica)];

/// Reads the setting, and refuses others beside which it makes no sense.
pub(super) fn read(
    given: Option<&str>,
    servers: &[ServerAddress],
    mode: Mode,
    pooling: &Pooling,
) -> Result<ListenerRole, WrongValue> {
    let role = choice("role", given, &NAMES)?;
    if role == ListenerRole::Writer {
        return Ok(role);
    }
    let refusal = if servers.len() == 1 {
        "\"replica\" needs several servers in `backend`: one of them is the writer, and sessions go to the others"
    } else if mode == Mode::Observe {
        "\"replica\" cannot be used with mode = \"observe\": locks that a replica grants exclude nobody at the writer, \
         and the report would count both as one"
    } else if pooling.is_shared() {
        "\"replica\" cannot be used with pooling = \"transaction\": a session that goes on at another replica may \
         see older rows than before. Give \"session\""
    } else {
        return Ok(role);
    };
    Err(("role", refusal.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::super::addresses::HostPort;
    use super::super::raw::Raw;
    use super::*;

    #[test]
    fn a_listener_to_replicas_is_refused_where_it_makes_no_sense() {
        let server = |port| {
            let backend = HostPort { host: "db".to_owned(), port };
            ServerAddress { store: backend.clone(), backend }
        };
        let servers = [server(1), server(2)];
        let pooling = |raw: Raw| Pooling::read(&raw).expect("valid").0;
        let own = pooling(Raw::default());
        let shared = pooling(Raw {
            pooling: Some("transaction".into()),
            mode: Some("durable".into()),
            ..Raw::default()
        });
        assert_eq!(read(None, &servers[..1], Mode::Observe, &shared), Ok(ListenerRole::Writer));
        for mode in [Mode::Coexist, Mode::Durable] {
            assert_eq!(read(Some("replica"), &servers, mode, &own), Ok(ListenerRole::Replica));
        }
        for (given, servers, mode, pooling, says) in [
            ("reader", &servers[..], Mode::Durable, &own, "none of writer, replica"),
            ("replica", &servers[..1], Mode::Durable, &own, "several servers"),
            ("replica", &servers, Mode::Observe, &own, "observe"),
            ("replica", &servers, Mode::Durable, &shared, "pooling"),
        ] {
            let (key, problem) = read(Some(given), servers, mode, pooling).expect_err(says);
            assert!(key == "role" && problem.contains(says), "{says}: {problem}");
        }
    }
}
