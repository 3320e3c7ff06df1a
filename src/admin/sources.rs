//! Limits for each source of connections before login: how many passwords are checked, and how many
//! logins are under way. One source takes nothing from the others.

use std::collections::{HashMap, VecDeque};
use std::net::{IpAddr, Ipv6Addr};
use std::time::Duration;

use tokio::time::Instant;

/// Wrong passwords that are checked in a row,
const AT_ONCE: u32 = 10;
/// and then one in this time.
const EACH: Duration = Duration::from_secs(6);
/// Sources with a budget of their own; all others share one.
const BUDGETS: usize = 4096;
/// Sources that are remembered for a login that succeeded.
const KNOWN: usize = 64;
/// Logins under way of such a source that give way last.
const KEPT: usize = 4;
/// Logins that may end another one of their own source in a row,
const TURNS: u32 = 200;
/// and then one in this time: a flood costs little more than its connections.
const TURN: Duration = Duration::from_millis(20);

/// Where a connection comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum ClientSource {
    /// A user of this machine.
    User(u32),
    /// An address, or the 64 bits that all addresses of one network of IPv6 begin with.
    Net(IpAddr),
}

impl ClientSource {
    pub(super) fn of(address: IpAddr) -> Self {
        Self::Net(match address.to_canonical() {
            IpAddr::V6(v6) => IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() >> 64 << 64)),
            v4 @ IpAddr::V4(_) => v4,
        })
    }
}

/// The budgets of all sources.
#[derive(Debug)]
pub(super) struct Sources {
    /// When each source has all of its budget again.
    spent: HashMap<ClientSource, Instant>,
    /// When sources that have no place of their own have all of their budget again.
    rest: Instant,
    /// Sources with a login that succeeded, the latest last.
    known: VecDeque<ClientSource>,
    /// When each source may end as many of its own logins as at first.
    turns: HashMap<ClientSource, Instant>,
}

impl Sources {
    pub(super) fn new() -> Self {
        Self {
            spent: HashMap::new(),
            rest: Instant::now(),
            known: VecDeque::new(),
            turns: HashMap::new(),
        }
    }

    /// How long until a password of this source may be checked.
    pub(super) fn wait(&self, source: ClientSource, now: Instant) -> Duration {
        let until = match self.spent.get(&source) {
            Some(until) => *until,
            None if self.shares(source) => self.rest,
            None => now,
        };
        (until.saturating_duration_since(now) + EACH).saturating_sub(EACH * AT_ONCE)
    }

    /// Takes a password out of the budget, or returns how long until that is possible.
    pub(super) fn spend(&mut self, source: ClientSource, now: Instant) -> Result<(), Duration> {
        if self.spent.len() >= BUDGETS {
            self.spent.retain(|_, until| *until > now);
        }
        let wait = self.wait(source, now);
        if !wait.is_zero() {
            return Err(wait);
        }
        let until = if self.shares(source) {
            &mut self.rest
        } else {
            self.spent.entry(source).or_insert(now)
        };
        *until = (*until).max(now) + EACH;
        Ok(())
    }

    /// Whether it has no budget of its own.
    fn shares(&self, source: ClientSource) -> bool {
        self.spent.len() >= BUDGETS
            && !self.spent.contains_key(&source)
            && !self.known.contains(&source)
    }

    /// The password was right.
    pub(super) fn proved(&mut self, source: ClientSource, now: Instant) {
        let spent = match self.spent.get_mut(&source) {
            Some(until) => until,
            None => &mut self.rest,
        };
        *spent = spent.checked_sub(EACH).unwrap_or(now);
        self.known.retain(|known| *known != source);
        if self.known.len() >= KNOWN {
            self.known.pop_front();
        }
        self.known.push_back(source);
    }

    /// Which of the logins under way, the oldest first, gives way to another one of `source`: the oldest
    /// of the source that has the most. `None`: that is the newcomer itself.
    pub(super) fn gives_way(
        &mut self,
        under_way: &[ClientSource],
        source: ClientSource,
        now: Instant,
    ) -> Option<usize> {
        let which = self.has_most(under_way, source)?;
        (under_way[which] != source || self.takes_turn(source, now)).then_some(which)
    }

    fn takes_turn(&mut self, source: ClientSource, now: Instant) -> bool {
        if self.turns.len() >= BUDGETS {
            self.turns.retain(|_, until| *until > now);
        }
        let full = self.turns.len() >= BUDGETS;
        let until = self.turns.get(&source).copied().unwrap_or(now).max(now) + TURN;
        let takes = !full && until <= now + TURN * TURNS;
        if takes {
            self.turns.insert(source, until);
        }
        takes
    }

    fn has_most(&self, under_way: &[ClientSource], source: ClientSource) -> Option<usize> {
        let mut weights: HashMap<ClientSource, usize> = HashMap::new();
        for of in under_way.iter().chain([&source]) {
            *weights.entry(*of).or_default() += 1;
        }
        for known in &self.known {
            if let Some(weight) = weights.get_mut(known) {
                *weight = weight.saturating_sub(KEPT);
            }
        }
        let most = weights.values().copied().max()?;
        // None if the newcomer's source alone has the most.
        under_way.iter().position(|of| weights.get(of) == Some(&most))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn net(address: &str) -> ClientSource {
        ClientSource::of(address.parse().expect("an address"))
    }

    #[test]
    fn passwords_of_one_source_are_looked_at_now_and_then() {
        let (mut sources, now) = (Sources::new(), Instant::now());
        let (one, other) = (net("192.0.2.1"), net("192.0.2.2"));
        for _ in 0..AT_ONCE {
            assert_eq!(sources.spend(one, now), Ok(()));
        }
        assert_eq!(sources.spend(one, now), Err(EACH));
        assert_eq!(sources.wait(one, now + EACH / 2), EACH / 2);
        assert_eq!(sources.spend(other, now), Ok(()));
        assert_eq!(sources.spend(one, now + EACH), Ok(()));
        assert_eq!(sources.spend(one, now + EACH), Err(EACH));
    }

    #[test]
    fn a_right_password_costs_nothing() {
        let (mut sources, now) = (Sources::new(), Instant::now());
        for _ in 0..AT_ONCE * 3 {
            assert_eq!(sources.spend(ClientSource::User(1), now), Ok(()));
            sources.proved(ClientSource::User(1), now);
        }
    }

    #[test]
    fn neither_many_sources_nor_the_addresses_of_a_network_buy_more() {
        assert_eq!(net("2001:db8::1"), net("2001:db8::2"));
        assert_ne!(net("2001:db8::1"), net("2001:db8:0:1::1"));
        assert_eq!(net("::ffff:192.0.2.1"), net("192.0.2.1"));
        let (mut sources, now) = (Sources::new(), Instant::now());
        let nth = |n: usize| ClientSource::User(u32::try_from(n).expect("small"));
        sources.proved(nth(BUDGETS * 2), now);
        let looked_at = (0..BUDGETS * 2).filter(|n| sources.spend(nth(*n), now).is_ok()).count();
        assert_eq!(looked_at, BUDGETS + AT_ONCE as usize, "the rest shares a budget");
        assert!(sources.spent.len() <= BUDGETS);
        assert_eq!(sources.spend(nth(BUDGETS * 2), now), Ok(()), "it has logged in before");
        let later = now + EACH * AT_ONCE;
        assert_eq!(sources.spend(nth(BUDGETS * 3), later), Ok(()));
        assert_eq!(sources.spent.len(), 1, "who has spent nothing is forgotten");
    }

    #[test]
    fn the_source_with_the_most_logins_gives_way() {
        let (mut sources, now) = (Sources::new(), Instant::now());
        let [a, b, c] = [1, 2, 3].map(ClientSource::User);
        assert_eq!(sources.gives_way(&[], a, now), None);
        assert_eq!(sources.gives_way(&[b, a, a, c], c, now), Some(1), "the oldest of two");
        assert_eq!(sources.gives_way(&[b, a, a, c], a, now), Some(1));
        assert_eq!(sources.gives_way(&[b, a], c, now), Some(0), "the oldest of all");
        sources.proved(b, Instant::now());
        assert_eq!(sources.gives_way(&[b, a], c, now), Some(1), "not who has logged in before");
        assert_eq!(sources.gives_way(&[b, b], c, now), None, "the newcomer then");
        assert_eq!(sources.gives_way(&[b; 6], c, now), Some(0), "unless it has many");
        // A flood ends its own logins, but not as fast as it comes.
        let mut sources = Sources::new();
        let ended = (0..1000).filter(|_| sources.gives_way(&[a; 8], a, now).is_some()).count();
        assert_eq!(ended, TURNS as usize);
        assert_eq!(sources.gives_way(&[a; 8], c, now), Some(0), "others do");
        assert_eq!(sources.gives_way(&[a; 8], a, now + TURN), Some(0));
    }
}
