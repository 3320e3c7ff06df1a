//! Whether both addresses of a server are known to lead to one server, as they must: a session's lock is kept at one,
//! and its connection is looked for there.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::config::ServerAddress;

/// What is known of each server with two addresses. Copies speak of the same cluster.
#[derive(Debug, Clone, Default)]
pub struct Pairs {
    known: Arc<Mutex<HashMap<ServerAddress, PairState>>>,
    /// Nothing is granted at a server that is in doubt.
    demanded: bool,
}

#[derive(Debug, Clone)]
enum PairState {
    Proven,
    Doubted(String),
}

impl Pairs {
    /// None is known yet. `demanded`: nothing is granted where it is not known.
    pub fn new(demanded: bool) -> Self {
        Self { known: Arc::default(), demanded }
    }

    /// `backend` and `store` of this server lead to one server.
    pub fn prove(&self, server: &ServerAddress) {
        self.known.lock().insert(server.clone(), PairState::Proven);
    }

    /// `backend` and `store` of this server may lead to two servers.
    pub fn doubt(&self, server: &ServerAddress, why: String) {
        self.known.lock().insert(server.clone(), PairState::Doubted(why));
    }

    /// Whether it must be found out if both lead to one server.
    pub fn is_open(&self, server: &ServerAddress) -> bool {
        let one = server.backend == server.store;
        !one && !matches!(self.known.lock().get(server), Some(PairState::Proven))
    }

    /// Why nothing may be granted there.
    pub fn problem(&self, server: &ServerAddress) -> Option<String> {
        if !self.demanded || !self.is_open(server) {
            return None;
        }
        Some(match self.known.lock().get(server) {
            Some(PairState::Doubted(why)) => why.clone(),
            Some(PairState::Proven) | None => format!(
                "whether `backend` ({}) and `store` ({}) are the same server was not checked yet",
                server.backend, server.store
            ),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::HostPort;

    #[test]
    fn two_addresses_are_in_doubt_until_they_are_proven_to_lead_to_one_server() {
        let at = |port| HostPort { host: "db".to_owned(), port };
        let one = ServerAddress { backend: at(1), store: at(1) };
        let two = ServerAddress { backend: at(1), store: at(2) };
        let pairs = Pairs::new(true);
        assert!(pairs.problem(&one).is_none() && pairs.problem(&two).is_some());
        pairs.doubt(&two, "refused".to_owned());
        assert_eq!(pairs.problem(&two).as_deref(), Some("refused"));
        assert!(pairs.is_open(&two));
        pairs.prove(&two);
        assert!(pairs.problem(&two).is_none() && !pairs.is_open(&two));
        let asked = Pairs::new(false);
        assert!(asked.problem(&two).is_none() && asked.is_open(&two));
    }
}
