//! What a client can cause at the server's cost, one after the other and with a pause.

use std::fmt;
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::{Instant, sleep_until};

/// Turns that are at least a pause apart.
pub struct Paced {
    pause: Duration,
    next: Mutex<Instant>,
}

impl Paced {
    /// The first turn is now.
    pub fn new(pause: Duration) -> Self {
        Self { pause, next: Mutex::new(Instant::now()) }
    }

    /// Waits for a turn. Those who came first have theirs first.
    pub async fn turn(&self) {
        let mut next = self.next.lock().await;
        sleep_until(*next).await;
        *next = Instant::now() + self.pause;
    }
}

impl fmt::Debug for Paced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Paced").field("pause", &self.pause).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn turns_are_a_pause_apart() {
        let paced = Paced::new(Duration::from_millis(20));
        let begun = Instant::now();
        for turns in 0..3 {
            paced.turn().await;
            assert!(begun.elapsed() >= Duration::from_millis(20) * turns);
        }
    }
}
