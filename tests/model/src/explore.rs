//! Goes through all states, nearest first, or wanders through them.

use std::collections::{HashSet, VecDeque};
use std::fmt::Write as _;
use std::hash::{Hash, Hasher};

use super::locks::inspect;
use super::state::{Broken, LockRow, ProxyState, State};
use super::variants::{AT_THE_STORE, Model, STEPS, WRITES, subject};

/// How a state was reached: from which, by which step, with which argument.
type Way = (u32, u8, u8);

/// The result of exploring.
pub(crate) struct Found {
    pub(crate) states: usize,
    /// Steps that were taken somewhere, as a set of bits.
    pub(crate) taken: u64,
    /// The shortest way to something broken, and what broke.
    pub(crate) broken: Option<(Broken, Vec<(u8, u8)>)>,
}

/// Visits every state within the bounds, until one of `watched` breaks.
pub(crate) fn explore(model: &Model, watched: &[Broken]) -> Found {
    let start = model.start();
    let mut seen = HashSet::from([fingerprint(&start)]);
    let mut ways: Vec<Way> = vec![(0, 0, 0)];
    let mut queue = VecDeque::from([(0, start)]);
    let mut taken = 0;
    while let Some((from, state)) = queue.pop_front() {
        for (step, arg, next) in successors(model, &state, watched) {
            taken |= 1 << step;
            if !seen.insert(fingerprint(&next)) {
                continue;
            }
            ways.push((from, step, arg));
            let at = u32::try_from(ways.len() - 1).expect("few enough states");
            if let Some(broken) = next.broken {
                let broken = Some((broken, path(&ways, at)));
                return Found { states: seen.len(), taken, broken };
            }
            queue.push_back((at, next));
        }
    }
    Found { states: seen.len(), taken, broken: None }
}

/// All that may happen next. A rule that breaks but is not watched is forgotten.
fn successors(model: &Model, state: &State, watched: &[Broken]) -> Vec<(u8, u8, State)> {
    let mut all = Vec::with_capacity(16);
    for (step, (name, domain, rule)) in (0..).zip(STEPS) {
        let hung = state.store.hung && AT_THE_STORE.contains(name);
        let blocked = state.store.blocked && WRITES.contains(name);
        if hung || blocked {
            continue;
        }
        for arg in 0..*domain {
            if let Some(mut next) = rule(model, state, arg) {
                inspect(model, &mut next);
                next.broken = next.broken.filter(|broken| watched.contains(broken));
                all.push((step, u8::try_from(arg).expect("small"), next));
            }
        }
    }
    all
}

/// Wanders: `walks` times from the start until nothing can happen or `length` steps are done.
pub(crate) fn wander(model: &Model, watched: &[Broken], walks: u32, length: u32) -> Found {
    let mut random: u64 = 0x9e37_79b9_7f4a_7c15;
    let (mut states, mut taken) = (0, 0);
    for _ in 0..walks {
        let mut state = model.start();
        let mut way = Vec::new();
        for _ in 0..length {
            let all = successors(model, &state, watched);
            if all.is_empty() {
                break;
            }
            // xorshift
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let (step, arg, next) = all[usize::try_from(random >> 33).expect("small") % all.len()];
            way.push((step, arg));
            states += 1;
            taken |= 1 << step;
            if let Some(broken) = next.broken {
                return Found { states, taken, broken: Some((broken, way)) };
            }
            state = next;
        }
    }
    Found { states, taken, broken: None }
}

fn path(ways: &[Way], mut at: u32) -> Vec<(u8, u8)> {
    let mut path = Vec::new();
    while at != 0 {
        let (from, step, arg) = ways[at as usize];
        path.push((step, arg));
        at = from;
    }
    path.reverse();
    path
}

/// A way in words: the step, its subject, then the ticks left of both leases, the row's holder/token, and the rows of
/// `proxies`. Incarnations 1 and 2 are A's, 3 and 4 B's.
pub(crate) fn tell(model: &Model, path: &[(u8, u8)]) -> String {
    let mut state = model.start();
    let mut text = String::new();
    for (step, arg) in path {
        let (name, domain, rule) = &STEPS[usize::from(*step)];
        state = rule(model, &state, usize::from(*arg)).expect("the way was gone before");
        let who = subject(*domain, *arg);
        let LockRow { holder, tok, .. } = state.store.lock;
        let left = state.processes.map(|process| process.left);
        let _ = write!(text, "  {name:<20} {who:<11} left {left:?} row {holder}/{tok} proxies");
        for (id, row) in (1..).zip(state.store.proxies) {
            if row.state != ProxyState::Absent {
                let _ = write!(text, " {id} {:?} v{}", row.state, row.rvn);
            }
        }
        text.push('\n');
    }
    text
}

/// 64 bits stand for a state: with a million states, two are mistaken for one another once in
/// tens of millions of runs.
fn fingerprint(state: &State) -> u64 {
    let mut mixer = Mixer { hash: 0, word: 0, bytes: 0 };
    state.hash(&mut mixer);
    mixer.finish()
}

/// Bytes are gathered to words first: this must be quick without an optimizer.
struct Mixer {
    hash: u64,
    word: u64,
    bytes: u8,
}

impl Mixer {
    fn mix(hash: u64, word: u64) -> u64 {
        let hash = (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (hash ^ (hash >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93).rotate_left(23)
    }
}

impl Hasher for Mixer {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u8(*byte);
        }
    }

    fn write_u8(&mut self, byte: u8) {
        self.word = self.word << 8 | u64::from(byte);
        self.bytes += 1;
        if self.bytes == 8 {
            self.hash = Self::mix(self.hash, self.word);
            self.bytes = 0;
        }
    }

    /// Variants of enums.
    fn write_isize(&mut self, variant: isize) {
        self.write_u8(variant.to_le_bytes()[0]);
    }

    /// Lengths of arrays, which are always the same.
    fn write_usize(&mut self, _: usize) {}

    fn finish(&self) -> u64 {
        Self::mix(Self::mix(self.hash, self.word), u64::from(self.bytes))
    }
}
