//! When to look at the locks that other proxies hold.

use std::time::Duration;

use tokio::time::Instant;

/// The shortest pause between two looks.
pub(super) const SHORTEST: Duration = Duration::from_millis(20);
/// The longest.
const LONGEST: Duration = Duration::from_millis(250);

/// The poll for them: its pauses grow while nothing changes.
pub(super) struct Poll {
    every: Duration,
    at: Option<Instant>,
}

impl Default for Poll {
    fn default() -> Self {
        Self { every: SHORTEST, at: None }
    }
}

impl Poll {
    /// When to look next.
    pub(super) fn due(&self) -> Option<Instant> {
        self.at
    }

    /// No look is planned any more: it has begun, or no session waits.
    pub(super) fn clear(&mut self) {
        self.at = None;
    }

    /// Looks soon, unless a look is planned.
    pub(super) fn start(&mut self) {
        self.at.get_or_insert(Instant::now() + SHORTEST);
    }

    /// Looks at once, unless a look is planned.
    pub(super) fn start_now(&mut self) {
        self.at.get_or_insert_with(Instant::now);
    }

    /// Looks at the latest after this pause.
    pub(super) fn within(&mut self, pause: Duration) {
        let at = Instant::now() + pause;
        self.at = Some(self.at.map_or(at, |planned| planned.min(at)));
    }

    /// Has a look that is planned done at once.
    pub(super) fn hurry(&mut self) {
        self.at = self.at.map(|_| Instant::now());
    }

    /// Something changes: the next pauses are short.
    pub(super) fn quicken(&mut self) {
        self.every = SHORTEST;
    }

    /// Plans the next look after a longer pause, unless one is planned.
    pub(super) fn plan_next(&mut self) {
        if self.at.is_none() {
            self.every = (self.every * 6 / 5).min(LONGEST);
            self.at = Some(Instant::now() + self.every);
        }
    }
}
