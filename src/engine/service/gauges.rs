//! The age of the oldest hold, since the histogram counts none before its end; and how many sessions are suspended.

use std::collections::HashSet;
use std::time::Duration;

use tokio::time::Instant;

use super::Service;

impl Service {
    pub(super) fn survey(&self) {
        let held = || self.keys.iter().filter_map(|(_, state)| state.held.as_ref());
        self.metrics.longest_hold.set(age(held().map(|held| held.since).min()));
        let suspended = match self.lease.suspended_for() {
            Some(_) => held().map(|held| held.conn).collect::<HashSet<_>>().len(),
            None => 0,
        };
        self.metrics.suspended_sessions.set(i64::try_from(suspended).unwrap_or(i64::MAX));
    }
}

fn age(since: Option<Instant>) -> f64 {
    since.map_or(Duration::ZERO, |since| since.elapsed()).as_secs_f64()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::sync::mpsc;

    use super::super::staged::{on_engine_thread, service};
    use super::*;
    use crate::engine::messages::{Acquired, Claim};
    use crate::engine::service::keys::LocalHold;
    use crate::engine::shared::current_backend::CurrentBackend;
    use crate::engine::shared::lease::Lease;
    use crate::lock::name::plain;
    use crate::types::BackendId;
    use crate::types::{ConnectionId, Flavour};

    fn claim(conn: u64) -> Claim {
        Claim {
            name: plain(b"k", Flavour::MariaDb).expect("valid"),
            conn: ConnectionId(conn),
            backend: CurrentBackend::of(BackendId(conn)),
            owner: Arc::from(&b""[..]),
            once: false,
            holds: false,
            weight: 0,
            events: mpsc::unbounded_channel().0,
            native: false,
            began: None,
        }
    }

    #[test]
    fn the_oldest_hold_is_shown_until_it_ends() {
        on_engine_thread(async {
            let lease = Arc::new(Lease::default());
            let mut service = service(&lease);
            service.survey();
            assert!(service.metrics.longest_hold.get() < 1e-9);
            for (name, age) in [(&b"old"[..], 100), (b"new", 10)] {
                let key = plain(name, Flavour::MariaDb).expect("valid").key;
                let since = Instant::now().checked_sub(Duration::from_secs(age)).expect("uptime");
                let (conn, events) = (ConnectionId(1), mpsc::unbounded_channel().0);
                let held = LocalHold {
                    token: age,
                    conn,
                    name: Box::default(),
                    owner: Arc::from(&b""[..]),
                    backend: CurrentBackend::default(),
                    run: 0,
                    events,
                    since,
                    leaving: None,
                    native: false,
                };
                service.keys.enter(&key).held = Some(held);
            }
            service.survey();
            assert!(service.metrics.longest_hold.get() >= 100.0);
            assert_eq!(service.metrics.suspended_sessions.get(), 0);
            lease.set_suspended(Some(crate::clock::now()));
            service.survey();
            assert_eq!(service.metrics.suspended_sessions.get(), 1, "it holds both locks");
            service.keys.leave(1, &claim(2).name.key, Acquired::NotFree);
            service.keys.clear();
            service.survey();
            assert!(service.metrics.longest_hold.get() < 1e-9);
            assert_eq!(service.metrics.suspended_sessions.get(), 0);
        });
    }
}
