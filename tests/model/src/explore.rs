//! Goes through all states of a protocol, nearest first, or wanders through them.

use std::collections::{HashSet, VecDeque};
use std::fmt::Debug;
use std::hash::{Hash, Hasher};

/// A protocol within bounds.
pub(crate) trait Protocol {
    /// All that it remembers.
    type State: Copy + Eq + Hash;
    /// The rules that may break.
    type Broken: Copy + Debug;

    fn start(&self) -> Self::State;
    /// All that may happen next: the step's number, its argument, the state after it.
    fn successors(&self, state: &Self::State) -> Vec<(u8, u8, Self::State)>;
    /// The rule that broke on the way to this state.
    fn broken(&self, state: &Self::State) -> Option<Self::Broken>;
    /// A step, and the state after it, in a line.
    fn line(&self, step: u8, arg: u8, after: &Self::State) -> String;
}

/// How a state was reached: from which, by which step, with which argument.
type Way = (u32, u8, u8);

/// The result of exploring.
pub(crate) struct Found<Broken> {
    pub(crate) states: usize,
    /// Steps that were taken somewhere, as a set of bits.
    pub(crate) taken: u64,
    /// The shortest way to something broken, and what broke.
    pub(crate) broken: Option<(Broken, Vec<(u8, u8)>)>,
}

/// Visits every state within the bounds, until a rule breaks.
pub(crate) fn explore<P: Protocol>(protocol: &P) -> Found<P::Broken> {
    let start = protocol.start();
    let mut seen = HashSet::from([fingerprint(&start)]);
    let mut ways: Vec<Way> = vec![(0, 0, 0)];
    let mut queue = VecDeque::from([(0, start)]);
    let mut taken = 0;
    while let Some((from, state)) = queue.pop_front() {
        for (step, arg, next) in protocol.successors(&state) {
            taken |= 1 << step;
            if !seen.insert(fingerprint(&next)) {
                continue;
            }
            ways.push((from, step, arg));
            let at = u32::try_from(ways.len() - 1).expect("few enough states");
            if let Some(broken) = protocol.broken(&next) {
                let broken = Some((broken, path(&ways, at)));
                return Found { states: seen.len(), taken, broken };
            }
            queue.push_back((at, next));
        }
    }
    Found { states: seen.len(), taken, broken: None }
}

/// Wanders: `walks` times from the start until nothing can happen or `length` steps are done.
pub(crate) fn wander<P: Protocol>(protocol: &P, walks: u32, length: u32) -> Found<P::Broken> {
    let mut random: u64 = 0x9e37_79b9_7f4a_7c15;
    let (mut states, mut taken) = (0, 0);
    for _ in 0..walks {
        let mut state = protocol.start();
        let mut way = Vec::new();
        for _ in 0..length {
            let all = protocol.successors(&state);
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
            if let Some(broken) = protocol.broken(&next) {
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

/// A way in words, a step a line.
pub(crate) fn tell<P: Protocol>(protocol: &P, path: &[(u8, u8)]) -> String {
    let mut state = protocol.start();
    let mut text = String::new();
    for (step, arg) in path {
        let mut all = protocol.successors(&state).into_iter();
        let (.., next) =
            all.find(|(s, a, _)| (s, a) == (step, arg)).expect("the way was gone before");
        state = next;
        text.push_str(&protocol.line(*step, *arg, &state));
        text.push('\n');
    }
    text
}

/// What each step of a list leads to, for each argument below its domain's size.
pub(crate) fn every<State>(
    domains: impl Iterator<Item = usize>,
    mut take: impl FnMut(usize, usize) -> Option<State>,
) -> Vec<(u8, u8, State)> {
    let mut all = Vec::with_capacity(16);
    let small = |n| u8::try_from(n).expect("small");
    for (step, domain) in domains.enumerate() {
        for arg in 0..domain {
            all.extend(take(step, arg).map(|next| (small(step), small(arg), next)));
        }
    }
    all
}

/// Of a list of steps, those that were never taken: they prove nothing.
pub(crate) fn idle<'a>(steps: impl Iterator<Item = &'a str>, taken: u64) -> Vec<&'a str> {
    (0..).zip(steps).filter(|(n, _)| taken >> n & 1 == 0).map(|(_, name)| name).collect()
}

/// 64 bits stand for a state: with a million states, two are mistaken for one another once in
/// tens of millions of runs.
fn fingerprint(state: &impl Hash) -> u64 {
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
