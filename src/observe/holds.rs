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
struct ObservedHold {
    lock: Lock,
    since: Instant,
    count: u64,
}

/// A lock that is held no longer, and since when it was.
pub type Ended = (Arc<str>, Instant);

/// The locks of a session.
#[derive(Debug, Default)]
pub struct Holds {
    held: Vec<ObservedHold>,
    /// It may hold others than these.
    doubtful: bool,
}

impl Holds {
    /// GET_LOCK gave 1. Returns the holds that cannot be measured because of it.
    pub fn taken(&mut self, lock: Lock, now: Instant) -> u64 {
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
        self.held.push(ObservedHold { lock, since: now, count: 1 });
        0
    }

    /// Whether the session certainly holds this lock.
    pub fn has(&self, key: &str) -> bool {
        !self.doubtful && self.held.iter().any(|h| h.lock.key.as_deref() == Some(key))
    }

    /// RELEASE_LOCK gave 1: the hold that ended, or how many cannot be measured.
    pub fn released(&mut self, key: Option<&str>) -> Result<Option<Ended>, u64> {
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
        let ObservedHold { lock, since, .. } = self.held.swap_remove(at);
        Ok(Some((lock.name, since)))
    }

    /// The held locks are no longer known. Returns how many holds cannot be measured because of it.
    pub fn doubt(&mut self) -> u64 {
        self.doubtful = true;
        self.held.drain(..).count() as u64
    }

    /// Everything was released: the holds that ended.
    pub fn clear(&mut self) -> impl Iterator<Item = Ended> {
        self.doubtful = false;
        self.held.drain(..).map(|h| (h.lock.name, h.since))
    }

    /// Whether it certainly holds nothing.
    pub fn is_empty(&self) -> bool {
        !self.doubtful && self.held.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lock(name: &str) -> Lock {
        Lock { key: Some(name.into()), name: name.into() }
    }

    fn unknown() -> Lock {
        Lock { key: None, name: "<computed>".into() }
    }

    fn name(ended: Result<Option<Ended>, u64>) -> Option<String> {
        ended.expect("no doubt").map(|(name, _)| name.to_string())
    }

    #[test]
    fn a_lock_is_held_until_its_last_release() {
        let now = Instant::now();
        let mut holds = Holds::default();
        for name in ["a", "b", "a"] {
            assert_eq!(holds.taken(lock(name), now), 0);
        }
        assert!(holds.has("a") && !holds.has("c"));
        assert_eq!(name(holds.released(Some("a"))), None);
        assert_eq!(name(holds.released(Some("a"))), Some("a".to_owned()));
        assert_eq!(holds.clear().map(|(name, _)| name.to_string()).collect::<Vec<_>>(), ["b"]);
        assert!(holds.is_empty());
    }

    #[test]
    fn the_only_lock_is_the_one_that_is_released() {
        let now = Instant::now();
        for (taken, released) in [(unknown(), None), (unknown(), Some("a")), (lock("a"), None)] {
            let mut holds = Holds::default();
            holds.taken(taken.clone(), now);
            assert_eq!(name(holds.released(released)).as_deref(), Some(&*taken.name));
            assert!(holds.is_empty());
        }
    }

    #[test]
    fn a_doubt_lasts_until_all_is_released() {
        let now = Instant::now();
        let mut holds = Holds::default();
        holds.taken(lock("a"), now);
        assert_eq!(holds.taken(unknown(), now), 2, "it may be `a` again");
        assert_eq!(holds.taken(lock("b"), now), 1);
        assert_eq!(name(holds.released(Some("b"))), None);
        assert!(!holds.has("b") && !holds.is_empty());
        assert_eq!(holds.clear().count(), 0);
        holds.taken(lock("a"), now);
        assert!(holds.has("a"));
        assert_eq!(holds.released(Some("c")), Err(1), "it was not known to be held");
    }

    #[test]
    fn no_more_than_so_many_are_followed() {
        let now = Instant::now();
        let mut holds = Holds::default();
        let missed = (0..=MOST).map(|n| holds.taken(lock(&n.to_string()), now)).sum::<u64>();
        assert_eq!(missed, MOST as u64 + 1);
        assert!(holds.held.is_empty());
    }
}
