//! Accounts whose COMMITs the server does not let be fenced.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// After this time it is tried again: somebody may have granted the right.
const AGAIN: Duration = Duration::from_secs(30);
/// Accounts that are remembered; they have logged in.
const MOST: usize = 1_000;

/// Which accounts lack the right, by the owners of their sessions. `None` stands for all owners that may be several accounts:
/// these are asked for each time, and logged once.
#[derive(Debug, Default)]
pub struct Unfenced(Mutex<HashMap<Option<Arc<[u8]>>, Instant>>);

impl Unfenced {
    /// Whether the account lacked the right a short time ago.
    pub(crate) fn has(&self, owner: Option<&Arc<[u8]>>) -> bool {
        self.has_at(owner, Instant::now())
    }

    fn has_at(&self, owner: Option<&Arc<[u8]>>, now: Instant) -> bool {
        owner.is_some()
            && self.0.lock().get(&owner.cloned()).is_some_and(|since| now < *since + AGAIN)
    }

    /// Notes that the account lacks the right. Returns whether that is new.
    pub(crate) fn note(&self, owner: Option<&Arc<[u8]>>) -> bool {
        let mut known = self.0.lock();
        if known.len() >= MOST {
            known.clear();
        }
        known.insert(owner.cloned(), Instant::now()).is_none()
    }

    /// Notes that the account has the right.
    pub(crate) fn forget(&self, owner: Option<&Arc<[u8]>>) {
        self.0.lock().remove(&owner.cloned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_is_tried_again_after_a_time_and_is_new_once() {
        let unfenced = Unfenced::default();
        let owner: Arc<[u8]> = Arc::from(&b"app@%"[..]);
        let known = Some(&owner);
        assert!(!unfenced.has(known) && unfenced.note(known) && unfenced.has(known));
        assert!(!unfenced.has_at(known, Instant::now() + AGAIN), "it is tried again");
        assert!(!unfenced.note(known));
        unfenced.forget(known);
        assert!(!unfenced.has(known) && unfenced.note(known));
        assert!(unfenced.note(None) && !unfenced.has(None), "it may be another account next time");
        assert!(!unfenced.note(None), "one line for all of these");
    }
}
