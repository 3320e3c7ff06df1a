//! The locks of a session, by its calls and their outcomes, and since when.
//!
//! Where they leave a doubt, nothing is measured until the session certainly holds nothing.

use std::sync::Arc;
use std::time::Instant;

/// Locks of one session that are followed.
const MOST: usize = 256;

/// A lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lock {
    /// As the server compares it; `None` if its name is not known.
    pub key: Option<Arc<str>>,
    /// As people are to see it.
    pub name: Arc<str>,
}

#[derive(Debug)]
struct ObservedHold<G> {
    lock: Lock,
    since: Instant,
    count: u64,
    shown: G,
}

/// A lock that is held no longer, since when it was, and what has shown it.
pub type Ended<G> = (Arc<str>, Instant, G);

/// The locks of a session. Each is shown to others by a `G`, as long as it is followed.
#[derive(Debug)]
pub struct Holds<G> {
    held: Vec<ObservedHold<G>>,
    /// The session may hold other locks than these.
    doubtful: bool,
}

impl<G> Default for Holds<G> {
    fn default() -> Self {
        Self { held: Vec::new(), doubtful: false }
    }
}

impl<G> Holds<G> {
    /// GET_LOCK gave 1. Returns the holds that cannot be measured because of it. A new hold is shown by `show`.
    pub fn taken(&mut self, lock: Lock, now: Instant, show: impl FnOnce(&Lock) -> G) -> u64 {
        if self.doubtful {
            return 1;
        }
        let known = self.held.iter_mut().find(|h| h.lock.key.is_some() && h.lock.key == lock.key);
        if let Some(holding) = known {
            holding.count += 1;
            return 0;
        }
        // A name that is not known may be that of a lock which is held.
        let unknown = lock.key.is_none() || self.held.iter().any(|h| h.lock.key.is_none());
        if (unknown && !self.held.is_empty()) || self.held.len() >= MOST {
            return self.doubt() + 1;
        }
        let shown = show(&lock);
        self.held.push(ObservedHold { lock, since: now, count: 1, shown });
        0
    }

    /// Whether the session certainly holds this lock.
    pub fn has(&self, key: &str) -> bool {
        !self.doubtful && self.held.iter().any(|h| h.lock.key.as_deref() == Some(key))
    }

    /// RELEASE_LOCK gave 1: the hold that ended, or how many cannot be measured.
    pub fn released(&mut self, key: Option<&str>) -> Result<Option<Ended<G>>, u64> {
        if self.doubtful {
            return Ok(None);
        }
        // All that is held was released, however it was named.
        let only = self.held.len() == 1 && self.held[0].count == 1;
        let at = self.held.iter().position(|h| {
            let (held, asked) = (h.lock.key.as_deref(), key);
            if only { held.is_none() || asked.is_none() || held == asked } else { held == asked }
        });
        let Some(at) = at.filter(|_| only || key.is_some()) else {
            return Err(self.doubt());
        };
        self.held[at].count -= 1;
        if self.held[at].count > 0 {
            return Ok(None);
        }
        let ObservedHold { lock, since, shown, .. } = self.held.swap_remove(at);
        Ok(Some((lock.name, since, shown)))
    }

    /// The held locks are no longer known. Returns how many holds cannot be measured because of it.
    pub fn doubt(&mut self) -> u64 {
        self.doubtful = true;
        self.held.drain(..).count() as u64
    }

    /// Everything was released: the holds that ended.
    pub fn clear(&mut self) -> impl Iterator<Item = Ended<G>> {
        self.doubtful = false;
        self.held.drain(..).map(|h| (h.lock.name, h.since, h.shown))
    }

    /// Whether it certainly holds nothing.
    pub fn is_empty(&self) -> bool {
        !self.doubtful && self.held.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(holds: &mut Holds<()>, lock: Lock) -> u64 {
        holds.taken(lock, Instant::now(), |_| ())
    }

    fn lock(name: &str) -> Lock {
        Lock { key: Some(name.into()), name: name.into() }
    }

    fn unknown() -> Lock {
        Lock { key: None, name: "<computed>".into() }
    }

    fn name(ended: Result<Option<Ended<()>>, u64>) -> Option<String> {
        ended.expect("no doubt").map(|(name, ..)| name.to_string())
    }

    #[test]
    fn a_lock_is_held_until_its_last_release() {
        let mut holds = Holds::default();
        for name in ["a", "b", "a"] {
            assert_eq!(take(&mut holds, lock(name)), 0);
        }
        assert!(holds.has("a") && !holds.has("c"));
        assert_eq!(name(holds.released(Some("a"))), None);
        assert_eq!(name(holds.released(Some("a"))), Some("a".to_owned()));
        assert_eq!(holds.clear().map(|(name, ..)| name.to_string()).collect::<Vec<_>>(), ["b"]);
        assert!(holds.is_empty());
    }

    #[test]
    fn the_only_lock_is_the_one_that_is_released() {
        for (taken, released) in [(unknown(), None), (unknown(), Some("a")), (lock("a"), None)] {
            let mut holds = Holds::default();
            take(&mut holds, taken.clone());
            assert_eq!(name(holds.released(released)).as_deref(), Some(&*taken.name));
            assert!(holds.is_empty());
        }
    }

    #[test]
    fn a_doubt_lasts_until_all_is_released() {
        let mut holds = Holds::default();
        take(&mut holds, lock("a"));
        assert_eq!(take(&mut holds, unknown()), 2, "it may be `a` again");
        assert_eq!(take(&mut holds, lock("b")), 1);
        assert_eq!(name(holds.released(Some("b"))), None);
        assert!(!holds.has("b") && !holds.is_empty());
        assert_eq!(holds.clear().count(), 0);
        take(&mut holds, lock("a"));
        assert!(holds.has("a"));
        assert_eq!(holds.released(Some("c")), Err(1), "it was not known to be held");
    }

    #[test]
    fn no_more_than_so_many_are_followed() {
        let mut holds = Holds::default();
        let missed = (0..=MOST).map(|n| take(&mut holds, lock(&n.to_string()))).sum::<u64>();
        assert_eq!(missed, MOST as u64 + 1);
        assert!(holds.held.is_empty());
    }
}
