//! A primary that nobody fences: it takes writes, and one proxy stays with it, while another server is promoted.

use std::time::Duration;

use rand::RngExt;
use rand::rngs::StdRng;

use super::storm::Storm;
use crate::history::now;

/// How long connections to the former primary only hang, before they break: clients wait for what is under way there.
const SILENCE: Duration = Duration::from_secs(2);

/// How it is left alone.
#[derive(Debug, Clone, Copy)]
pub(super) struct Alone {
    /// How long before the promotion the others get nothing more, in milliseconds.
    lost: u64,
    /// The proxy that reaches the former primary; the others do not.
    stays: usize,
    /// Whether that one reaches the replica of the next primary as well.
    sees_replica: bool,
    /// Whether the former primary stays on the list of candidates. Then nothing is granted before it follows the next one.
    listed: bool,
    /// For so many milliseconds.
    apart: u64,
}

impl Alone {
    /// One of each kind, for two proxies.
    pub(super) fn each() -> impl Iterator<Item = Self> {
        (0..8).map(|bits| {
            let (stays, sees_replica, listed) = (bits & 1, bits & 2 > 0, bits & 4 > 0);
            Self { lost: 0, stays, sees_replica, listed, apart: 0 }
        })
    }

    /// The fault with its times. A holder that stayed has been closed by then, and others have its lock.
    pub(super) fn drawn(self, random: &mut StdRng) -> Self {
        let (lost, apart) = (random.random_range(0..=800), random.random_range(20_000..30_000));
        Self { lost, apart: if self.listed { apart / 2 } else { apart }, ..self }
    }

    /// A few words for the report.
    pub(super) fn tell(self) -> String {
        let Self { stays, apart, .. } = self;
        let replica = if self.sees_replica { ", which sees a replica," } else { "" };
        let listed = if self.listed { "a candidate still" } else { "no candidate" };
        format!("left alone with proxy {stays}{replica} for {apart} ms, {listed}")
    }
}

impl Storm {
    pub(super) fn leave_alone(&mut self, alone: Alone) -> (Duration, Duration) {
        let former = self.topology.writer();
        let all: Vec<usize> = (0..self.topology.servers().len()).collect();
        let others: Vec<usize> = all.iter().copied().filter(|n| *n != former).collect();
        let contest = self.contest(alone.stays);
        let tail = self.begin_tail();
        let stopped = now();
        std::thread::park_timeout(Duration::from_millis(alone.lost));
        let cut = now();
        for node in self.clients.nodes.iter() {
            let stays = node.number == alone.stays;
            node.part_from(if stays { &others[..] } else { std::slice::from_ref(&former) });
        }
        let promoted = self.kill(&["abandon"], tail);
        if alone.sees_replica {
            self.node(alone.stays).part_from(&[self.topology.writer()]);
        }
        if !alone.listed {
            self.clients.nodes.iter().for_each(|node| node.list_candidates(&others));
        }
        std::thread::park_timeout(SILENCE);
        for node in self.clients.nodes.iter().filter(|node| node.number != alone.stays) {
            node.break_off(former);
        }
        std::thread::park_timeout(Duration::from_millis(alone.apart));
        self.topology.rejoin(former);
        for node in self.clients.nodes.iter() {
            node.heal();
            node.list_candidates(&all);
        }
        let healed = now();
        for node in self.clients.nodes.iter() {
            let stays = node.number == alone.stays;
            let until = if stays { healed } else { promoted };
            self.note("left alone", Some(node.number), stopped, until);
            // A proxy that has moved keeps its locks if it can renew its lease there.
            let until = if stays || alone.listed { healed } else { promoted };
            self.note("cut", Some(node.number), cut, until);
        }
        // All that clients write at the former primary is lost with it.
        self.note("lost tail", None, tail, healed);
        if let Some(contest) = contest {
            contest.end();
        }
        (tail, promoted)
    }
}
