//! A backup holds the global read lock of the primary, so that nobody can renew a lease, and the primary dies after it or in it.

use std::time::Duration;

use rand::RngExt;
use rand::rngs::StdRng;

use super::storm::Storm;
use crate::history::now;

/// A backup.
#[derive(Debug, Clone, Copy)]
pub(super) struct Backup {
    /// So many milliseconds.
    ms: u64,
    /// The primary dies in it.
    dies: bool,
}

impl Backup {
    /// One of each kind.
    pub(super) fn each() -> [Self; 2] {
        [false, true].map(|dies| Self { ms: 0, dies })
    }

    /// The backup with its time: up to three leases. In a short one no lease ends, so that the failover costs no lock.
    pub(super) fn drawn(self, random: &mut StdRng) -> Self {
        let short = self.dies && random.random_range(0..2) == 0;
        let ms = random.random_range(if short { 100..2000 } else { 10_000..24_000 });
        Self { ms, ..self }
    }

    /// A few words for the report.
    pub(super) fn tell(self) -> String {
        let when = if self.dies { "in" } else { "after" };
        format!("crash {when} a backup of {} ms", self.ms)
    }
}

impl Storm {
    pub(super) fn back_up(&mut self, backup: Backup) -> (Duration, Duration) {
        let from = now();
        let mut root = self.topology.primary().root();
        root.run("FLUSH TABLES WITH READ LOCK");
        std::thread::park_timeout(Duration::from_millis(backup.ms));
        if !backup.dies {
            root.run("UNLOCK TABLES");
            self.note("backup", None, from, now());
            // The leases are renewed again.
            std::thread::park_timeout(self.lease / 2);
        }
        let tail = self.begin_tail();
        let promoted = self.crash(tail);
        if backup.dies {
            self.note("backup", None, from, self.topology.lost_at());
        }
        (tail, promoted)
    }
}
