//! Sessions that are to be at another server than the writer: which server each gets, and how many are at each.

use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;
use prometheus::IntGauge;
use tokio::sync::watch;

use super::heard::ServerState;
use super::writer::{Destination, ShownServer, Writer};
use crate::config::HostPort;
use crate::metrics::GaugeGuard;

/// The servers of a cluster beside its writer. Copies speak of the same cluster.
#[derive(Debug, Clone)]
pub struct Replicas(Arc<ReplicasInner>);

#[derive(Debug)]
struct ReplicasInner {
    writer: Writer,
    /// How many sessions each server has of those that are led to replicas.
    sessions: Vec<IntGauge>,
    /// The server that was given last.
    last: Mutex<usize>,
}

impl Replicas {
    /// Of a cluster; `gauge` is where the sessions at a server are counted.
    pub fn of(writer: &Writer, gauge: impl Fn(&HostPort) -> IntGauge) -> Self {
        let sessions = writer.servers().iter().map(|server| gauge(&server.backend)).collect();
        Self(Arc::new(ReplicasInner { writer: writer.clone(), sessions, last: Mutex::new(0) }))
    }

    /// A replica for one more session, if there is one beside those that `passed` names.
    pub fn next(&self, passed: &[HostPort]) -> Option<Destination> {
        // If two sessions come at once, the second counts the first.
        let mut last = self.0.last.lock();
        let shown = self.0.writer.shown();
        let is_fit = |s: &ShownServer| s.replica && !passed.contains(&s.address.backend);
        let fit: Vec<bool> = shown.iter().map(is_fit).collect();
        let sessions: Vec<i64> = self.0.sessions.iter().map(IntGauge::get).collect();
        let server = fewest(&fit, &sessions, *last)?;
        *last = server;
        Some(self.0.writer.replica(server, GaugeGuard::of(&self.0.sessions[server])))
    }

    /// Reports each change of what is known of the servers.
    pub fn news(&self) -> watch::Receiver<u64> {
        self.0.writer.news()
    }

    /// Why there is no replica, if there is none.
    pub fn problem(&self) -> Option<String> {
        let none = !self.0.writer.shown().iter().any(|server| server.replica);
        none.then(|| self.situation())
    }

    /// Why there is no replica, if there is none and each server was asked.
    pub fn known_problem(&self) -> Option<String> {
        let unasked = |s: &ShownServer| s.state == Some(ServerState::Unasked);
        self.problem().filter(|_| !self.0.writer.shown().iter().any(unasked))
    }

    /// Why there is no replica.
    pub fn situation(&self) -> String {
        format!("no server can be a replica: {}", self.0.writer.states())
    }

    /// How many sessions are at each server.
    pub fn sessions(&self) -> Vec<i64> {
        self.0.sessions.iter().map(IntGauge::get).collect()
    }
}

impl fmt::Display for Replicas {
    /// All addresses: each of them may be a replica.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.writer.all())
    }
}

/// The place with the fewest sessions; of several, the next one after the last in turn.
fn fewest(fit: &[bool], sessions: &[i64], last: usize) -> Option<usize> {
    let count = fit.len();
    let places = (1..=count).map(|step| (last + step) % count).filter(|place| fit[*place]);
    places.min_by_key(|place| sessions[*place])
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::heard::ProbeAnswer;
    use super::*;
    use crate::config::ServerAddress;

    #[test]
    fn the_server_with_the_fewest_sessions_is_next_and_of_equals_each_in_turn() {
        for (fit, sessions, last, next) in [
            ([true, true, true], [0, 0, 0], 0, Some(1)),
            ([true, true, true], [0, 0, 0], 2, Some(0)),
            ([false, true, true], [0, 0, 0], 2, Some(1)),
            ([false, true, false], [0, 9, 0], 1, Some(1)),
            ([true, true, true], [2, 1, 1], 1, Some(2)),
            ([true, true, true], [2, 1, 1], 2, Some(1)),
            ([false, false, false], [0, 0, 0], 0, None),
        ] {
            assert_eq!(fewest(&fit, &sessions, last), next, "{fit:?} {sessions:?} {last}");
        }
        assert_eq!(fewest(&[], &[], 0), None);
    }

    fn closed(follows: bool) -> ProbeAnswer {
        let why = "is read-only".to_owned();
        ProbeAnswer::Said(ServerState::Closed { why, member: None, follows })
    }

    fn writable() -> ProbeAnswer {
        ProbeAnswer::Said(ServerState::Writable { ident: "A".to_owned(), seat: None, copies: 0 })
    }

    fn three() -> (Writer, Replicas) {
        let at = |port| HostPort { host: "db".to_owned(), port };
        let address = |port| ServerAddress { backend: at(port), store: at(port) };
        let writer = Writer::among([1, 2, 3].map(address).to_vec());
        let gauge = |_: &HostPort| IntGauge::new("sessions", "of a test").expect("a gauge");
        let replicas = Replicas::of(&writer, gauge);
        (writer, replicas)
    }

    #[test]
    fn sessions_are_counted_where_they_are_and_never_at_the_writer() {
        let (writer, replicas) = three();
        let hear = |server, answer| writer.note_answer(server, answer, Duration::ZERO);
        assert!(replicas.problem().is_some() && replicas.known_problem().is_none());
        hear(0, writable());
        hear(1, closed(true));
        hear(2, closed(false));
        let port = |to: &Destination| to.backend().port;
        let [first, second] = [(); 2].map(|()| replicas.next(&[]).expect("a replica"));
        assert_eq!((port(&first), port(&second), replicas.sessions()), (2, 2, vec![0, 2, 0]));
        assert!(replicas.next(&[first.backend().clone()]).is_none());
        hear(2, closed(true));
        assert_eq!(replicas.next(&[]).as_ref().map(port), Some(3));
        drop((first, second));
        assert_eq!(replicas.sessions(), [0, 0, 0]);
        hear(1, closed(false));
        hear(2, ProbeAnswer::Gone("connection refused".to_owned()));
        let why = replicas.known_problem().expect("none");
        assert!(why.contains("no server can be a replica: db:1 takes writes, db:2"), "{why}");
    }

    #[test]
    fn a_replica_is_left_when_it_takes_writes_and_not_when_it_stops_replicating() {
        let (writer, replicas) = three();
        let hear = |server, answer| writer.note_answer(server, answer, Duration::ZERO);
        hear(0, writable());
        hear(1, closed(true));
        let at = replicas.next(&[]).expect("a replica");
        assert!(at.is_replica() && !at.is_left());
        hear(1, closed(false));
        hear(0, closed(true));
        assert!(!at.is_left(), "no writer is known");
        hear(0, writable());
        hear(1, writable());
        assert!(at.is_left(), "a rival of the writer");
        hear(0, ProbeAnswer::Gone("connection refused".to_owned()));
        assert!(at.is_left() && writer.now().is_some_and(|to| to.backend() == at.backend()));
    }
}
