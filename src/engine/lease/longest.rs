//! The longest lease known, for which a start may have to wait: it is forgotten when no proxy can
//! have one so long any more.

use std::time::Duration;

use crate::lock::lease::Terms;
use crate::store::rows::{ProxyRow, ProxyState};

/// Since when no row has had the longest lease known.
#[derive(Debug, Default)]
pub(in crate::engine) struct Longest {
    unused: Option<(u32, Duration)>,
}

impl Longest {
    /// The longest lease in use, if the longer one that is known (`known_ms`) was in no row for as long
    /// as it is. A proxy whose row was lost has not renewed its lease meanwhile.
    pub(in crate::engine) fn shorter(
        &mut self,
        known_ms: u32,
        proxies: &[ProxyRow],
        at: Duration,
    ) -> Option<u32> {
        let used = proxies.iter().filter(|p| p.state != ProxyState::Clean).map(|p| p.ttl_ms).max();
        let used = used.filter(|used| *used < known_ms);
        let Some(used) = used else {
            self.unused = None;
            return None;
        };
        let (known, since) = *self.unused.get_or_insert((known_ms, at));
        if known != known_ms {
            self.unused = Some((known_ms, at));
            return None;
        }
        let terms = Terms { ttl: Duration::from_millis(u64::from(known)) };
        (at >= terms.revocable(since)).then_some(used)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::ProxyId;

    fn row(ttl_ms: u32, state: ProxyState) -> ProxyRow {
        let (id, addr, conns) = (ProxyId(1), String::new(), Vec::new());
        ProxyRow {
            id,
            state,
            rvn: 1,
            epoch: 1,
            ttl_ms,
            addr,
            server_start: 0,
            conns,
            native: false,
            tables: 3,
            keeps: 0,
        }
    }

    #[test]
    fn a_longer_lease_is_forgotten_when_it_was_unused_for_as_long_as_it_is() {
        let at = Duration::from_secs;
        let short = [row(30_000, ProxyState::Live), row(90_000, ProxyState::Clean)];
        let dying = [row(30_000, ProxyState::Live), row(60_000, ProxyState::Dead)];
        let mut longest = Longest::default();
        assert_eq!(longest.shorter(60_000, &short, at(0)), None);
        assert_eq!(longest.shorter(60_000, &short, at(59)), None);
        assert_eq!(longest.shorter(60_000, &short, at(62)), Some(30_000));
        // A proxy has it, dead or alive; or it has grown meanwhile.
        assert_eq!(longest.shorter(60_000, &dying, at(63)), None);
        assert_eq!(longest.shorter(60_000, &short, at(64)), None);
        assert_eq!(longest.shorter(70_000, &short, at(126)), None);
        assert_eq!(longest.shorter(70_000, &short, at(196)), None);
        assert_eq!(longest.shorter(70_000, &short, at(197)), Some(30_000));
        assert_eq!(longest.shorter(30_000, &short, at(900)), None);
    }
}
