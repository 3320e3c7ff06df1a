//! The checkers: what a history must never show. Pure, so that hand-made bad histories prove them.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use crate::history::{Events, Fault, Hold, Increment, Look, Loss, Queue, Said, Wait};

/// Something that must not be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Violation {
    pub(crate) rule: &'static str,
    pub(crate) key: String,
    pub(crate) from: Duration,
    pub(crate) to: Duration,
    pub(crate) what: String,
}

/// How much later than its timeout an answer may come.
const MARGIN: Duration = Duration::from_secs(15);
/// A fault goes on to be felt: leases run out, locks are taken over.
const AFTERMATH: Duration = Duration::from_secs(4);

/// A stopped process that goes on says what it was about to say within this time.
const RESUMING: Duration = Duration::from_secs(1);

/// All that can be said of a history alone.
pub(crate) fn check(events: &Events) -> Vec<Violation> {
    let mut all: Vec<Violation> = events
        .oddities
        .iter()
        .map(|o| {
            let (key, what) = (o.key.clone(), o.what.clone());
            Violation { rule: "answer", key, from: o.at, to: o.at, what }
        })
        .collect();
    all.extend(overlaps(&events.holds, &events.faults));
    all.extend(regressions(&events.holds));
    all.extend(lost_updates(&events.increments, &events.faults));
    all.extend(wrong_looks(&events.looks, &events.holds));
    all.extend(late_answers(&events.waits, &events.faults));
    all.extend(unfair_queues(&events.queues, &events.faults));
    all.extend(hanged(&events.losses, &events.faults));
    all
}

fn by_key<T>(all: &[T], key: impl Fn(&T) -> &str) -> BTreeMap<String, Vec<&T>> {
    let mut sorted: BTreeMap<String, Vec<&T>> = BTreeMap::new();
    for one in all {
        sorted.entry(key(one).to_owned()).or_default().push(one);
    }
    sorted
}

/// Holds by key, in the order of their grants.
fn in_order(holds: &[Hold]) -> BTreeMap<String, Vec<&Hold>> {
    let mut sorted = by_key(holds, |h| &h.key);
    for holds in sorted.values_mut() {
        holds.sort_by_key(|h| h.granted);
    }
    sorted
}

/// Whether a proxy may have written a reply in time that its stop held back on the way: no check
/// can stand after the write.
fn is_held_back(proxy: usize, asked: Duration, at: Duration, faults: &[Fault]) -> bool {
    let stopped = |f: &&Fault| f.kind == "stop" && f.proxy == Some(proxy);
    faults.iter().filter(stopped).any(|f| asked <= f.to && f.from <= at && at <= f.to + RESUMING)
}

/// Whether [`is_held_back`] holds, or the reply may be one that the server gave before another proxy ended the session
/// there. A suspended client still gets that when its proxy's network is well again.
fn is_old(proxy: usize, asked: Duration, at: Duration, faults: &[Fault]) -> bool {
    let slow =
        |f: &&Fault| matches!(f.kind, "cut" | "cut one way" | "delay") && f.proxy == Some(proxy);
    is_held_back(proxy, asked, at, faults)
        || faults
            .iter()
            .filter(slow)
            .any(|f| asked <= f.to && f.from <= at && at <= f.to + RESUMING)
}

/// Whether no more is known of a hold than a reply that was held back.
fn is_old_news(hold: &Hold, faults: &[Fault]) -> bool {
    hold.until == hold.granted && is_held_back(hold.proxy, Duration::ZERO, hold.granted, faults)
}

/// C1: two sessions are never certain of one lock at one moment.
pub(crate) fn overlaps(holds: &[Hold], faults: &[Fault]) -> Vec<Violation> {
    let mut found = Vec::new();
    for (key, holds) in in_order(holds) {
        let mut last: Option<&Hold> = None;
        for hold in holds.into_iter().filter(|h| !is_old_news(h, faults)) {
            if let Some(last) = last.filter(|l| l.until > hold.granted && l.session != hold.session)
            {
                found.push(Violation {
                    rule: "mutual exclusion",
                    key: key.clone(),
                    from: hold.granted,
                    to: last.until.min(hold.until),
                    what: format!(
                        "sessions {} (proxy {}, token {:?}) and {} (proxy {}, token {:?}) hold it at once",
                        last.session, last.proxy, last.token, hold.session, hold.proxy, hold.token
                    ),
                });
            }
            if last.is_none_or(|l| l.until < hold.until) {
                last = Some(hold);
            }
        }
    }
    found
}

/// C2: a later grant has a greater token. A hold whose token is known was still certain when the
/// token was read, so the order of the replies is the order of the grants.
pub(crate) fn regressions(holds: &[Hold]) -> Vec<Violation> {
    let mut found = Vec::new();
    for (key, holds) in in_order(holds) {
        let known: Vec<(&Hold, u64)> =
            holds.into_iter().filter_map(|h| Some((h, h.token?))).collect();
        for pair in known.windows(2) {
            let [(before, old), (after, new)] = pair else { continue };
            if new <= old {
                found.push(Violation {
                    rule: "tokens grow",
                    key: key.clone(),
                    from: before.granted,
                    to: after.granted,
                    what: format!("token {new} was granted after {old}"),
                });
            }
        }
    }
    found
}

/// Replicas may be so late beside the time in which they get nothing.
const REPLICATION: Duration = Duration::from_secs(2);

/// Whether what was asked and said within this time may be lost with its server: the next primary never got it. The server may
/// have said it before it died, and the client have heard it later.
fn is_in_tail(asked: Duration, said: Duration, faults: &[Fault]) -> bool {
    let mut tails = faults.iter().filter(|f| f.kind == "lost tail");
    tails.any(|f| said + REPLICATION >= f.from && asked <= f.to)
}

/// C3: what was written under the lock is there for the next holder to read, unless it was lost with a primary.
pub(crate) fn lost_updates(increments: &[Increment], faults: &[Fault]) -> Vec<Violation> {
    let mut found = Vec::new();
    for (key, mut increments) in by_key(increments, |i| &i.key) {
        increments.sort_by_key(|i| i.at);
        // The value is at least the last one surely written, at most one more for each doubt.
        let (mut least, mut most, mut since) = (0, 0, Duration::ZERO);
        for i in increments {
            if !i.sure && is_old(i.proxy, i.asked, i.at, faults) {
                // An old value, and nobody knows from when. Were it written, others would read it.
                most = most.max(i.read + 1);
                continue;
            }
            if i.read < least || i.read > most {
                found.push(Violation {
                    rule: "no lost update",
                    key: key.clone(),
                    from: since,
                    to: i.at,
                    what: format!(
                        "session {} read {}, not between {least} and {most}",
                        i.session, i.read
                    ),
                });
            }
            let (least_now, asked, said) =
                if i.sure { (i.read + 1, i.sent, i.written) } else { (i.read, i.asked, i.at) };
            if !is_in_tail(asked, said, faults) {
                (least, since) = (least_now, i.at);
            }
            most = i.read + 1;
        }
    }
    found
}

/// C4 across sessions: nobody is told that a lock is free, or another's, while one holds it.
pub(crate) fn wrong_looks(looks: &[Look], holds: &[Hold]) -> Vec<Violation> {
    let holds = in_order(holds);
    let mut found = Vec::new();
    for look in looks {
        let all = holds.get(&look.key).map(Vec::as_slice).unwrap_or_default();
        let through =
            |h: &&&Hold| h.granted <= look.from && h.until >= look.to && h.session != look.session;
        let Some(holder) = all.iter().find(through) else { continue };
        let wrong = match look.said {
            Said::Free => true,
            Said::Used => false,
            Said::UsedBy(conn) => conn != holder.conn,
        };
        if wrong {
            found.push(Violation {
                rule: "looks",
                key: look.key.clone(),
                from: look.from,
                to: look.to,
                what: format!(
                    "session {} was told {:?} while session {} (connection {}) held it",
                    look.session, look.said, holder.session, holder.conn
                ),
            });
        }
    }
    found
}

/// C5: no wait goes on for long after its timeout, unless its proxy was stopped.
pub(crate) fn late_answers(waits: &[Wait], faults: &[Fault]) -> Vec<Violation> {
    let mut found = Vec::new();
    for wait in waits {
        let stopped: Duration = faults
            .iter()
            .filter(|f| f.kind == "stop" && f.proxy == Some(wait.proxy))
            .map(|f| f.to.min(wait.to).saturating_sub(f.from.max(wait.from)))
            .sum();
        let took = wait.to.saturating_sub(wait.from);
        if took > wait.limit + MARGIN + stopped {
            found.push(Violation {
                rule: "timeouts",
                key: wait.key.clone(),
                from: wait.from,
                to: wait.to,
                what: format!(
                    "GET_LOCK with {:?} at proxy {} took {took:?}",
                    wait.limit, wait.proxy
                ),
            });
        }
    }
    found
}

/// Whether anything was wrong, or has been of late, between two moments.
pub(crate) fn troubled(faults: &[Fault], from: Duration, to: Duration) -> bool {
    faults.iter().any(|f| f.from <= to && f.to + AFTERMATH >= from)
}

/// C6: waiters of one proxy are served in the order in which they came, if nothing is wrong.
pub(crate) fn unfair_queues(queues: &[Queue], faults: &[Fault]) -> Vec<Violation> {
    let mut found = Vec::new();
    for queue in queues {
        if troubled(faults, queue.from, queue.to) {
            continue;
        }
        if queue.tokens.iter().any(Option::is_none) || !queue.tokens.is_sorted_by(|a, b| a < b) {
            found.push(Violation {
                rule: "first come, first served",
                key: queue.key.clone(),
                from: queue.from,
                to: queue.to,
                what: format!("waiters in order got the tokens {:?}", queue.tokens),
            });
        }
    }
    found
}

/// C9: a server that hangs, or is locked for a backup, costs nobody a lock while nothing else is wrong.
pub(crate) fn hanged(losses: &[Loss], faults: &[Fault]) -> Vec<Violation> {
    let mut found = Vec::new();
    for hang in faults.iter().filter(|f| matches!(f.kind, "hang" | "backup")) {
        let others: Vec<Fault> = faults.iter().filter(|f| *f != hang).cloned().collect();
        let during = |l: &&Loss| hang.from <= l.at && l.at <= hang.to + AFTERMATH;
        for loss in losses.iter().filter(during) {
            if !troubled(&others, hang.from, loss.at) {
                found.push(Violation {
                    rule: "a hang or a backup costs no lock",
                    key: String::new(),
                    from: hang.from,
                    to: loss.at,
                    what: format!(
                        "session {} at proxy {} lost its locks",
                        loss.session, loss.proxy
                    ),
                });
            }
        }
    }
    found
}

/// C10: a primary that dies costs nobody a lock, if the session's proxy has reached the next one within half a lease.
pub(crate) fn costly_failovers(
    losses: &[Loss],
    holds: &[Hold],
    faults: &[Fault],
    lease: Duration,
) -> Vec<Violation> {
    let mut found = Vec::new();
    for failover in faults.iter().filter(|f| f.kind == "failover") {
        let (from, to) = (failover.from, failover.to + lease);
        // In a backup that it ended nobody could renew a lease either.
        let backups =
            faults.iter().filter(|f| f.kind == "backup" && f.from <= from && from <= f.to);
        let unrenewed = backups.map(|f| f.from).fold(from, Duration::min);
        let reached = |proxy: usize| {
            let own = faults.iter().filter(|f| {
                f.kind == "cut" && f.proxy == Some(proxy) && f.from <= failover.to && f.to >= from
            });
            own.map(|f| f.to).fold(failover.to, Duration::max)
        };
        let short = |l: &&Loss| reached(l.proxy).saturating_sub(unrenewed) < lease / 2;
        for loss in losses.iter().filter(|l| from <= l.at && l.at <= to).filter(short) {
            let key = loss.keys.first().cloned().unwrap_or_default();
            let others = holds
                .iter()
                .filter(|h| h.key == key && h.session != loss.session && from <= h.granted);
            let next = others.filter(|h| h.granted < loss.at).min_by_key(|h| h.granted);
            let meanwhile = next.map_or_else(String::new, |h| {
                let before = loss.at.saturating_sub(h.granted);
                format!(": session {} (proxy {}) had it {before:?} before", h.session, h.proxy)
            });
            let what =
                format!("session {} at proxy {} lost '{key}'{meanwhile}", loss.session, loss.proxy);
            found.push(Violation {
                rule: "a failover costs no lock",
                key,
                from,
                to: loss.at,
                what,
            });
        }
    }
    found
}

/// How long a grant that counts already may be on its way to its client.
const ON_ITS_WAY: Duration = Duration::from_secs(1);

/// C11: a lock counts when each failover candidate has it. So nothing is granted where they get nothing more.
pub(crate) fn uncounted_grants(holds: &[Hold], faults: &[Fault]) -> Vec<Violation> {
    let alone: Vec<&Fault> = faults.iter().filter(|f| f.kind == "left alone").collect();
    let one = |h: &Hold| {
        let of_it = |f: &&&Fault| {
            f.proxy == Some(h.proxy) && f.from + ON_ITS_WAY < h.granted && h.granted < f.to
        };
        let fault = alone.iter().find(of_it)?;
        let after = h.granted.saturating_sub(fault.from);
        Some(Violation {
            rule: "a grant counts when each candidate has it",
            key: h.key.clone(),
            from: fault.from,
            to: h.granted,
            what: format!(
                "session {} got it at proxy {}, {after:?} after the last change that they got",
                h.session, h.proxy
            ),
        })
    };
    holds.iter().filter_map(one).collect()
}

/// What is left when the clients are gone and nothing is wrong any more.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rest {
    /// Rows of locks that are held.
    pub(crate) held: Vec<String>,
    /// Server sessions that are neither the stage's nor a proxy's own.
    pub(crate) sessions: Vec<String>,
    /// Incarnations that are not LIVE, or more LIVE ones than proxies.
    pub(crate) incarnations: Vec<String>,
    /// Keys that a proxy did not grant, or did not take back.
    pub(crate) refused: Vec<String>,
    /// Proxies that ended by themselves or panicked.
    pub(crate) broken: Vec<String>,
}

/// C5: nothing is left.
pub(crate) fn leaks(rest: &Rest, at: Duration) -> Vec<Violation> {
    let kinds = [
        ("a row stays held", &rest.held),
        ("a server session is left", &rest.sessions),
        ("an incarnation is left", &rest.incarnations),
        ("a lock is not free", &rest.refused),
        ("a proxy is broken", &rest.broken),
    ];
    let mut found = Vec::new();
    for (rule, left) in kinds {
        for what in left {
            let (key, what) = (what.clone(), what.clone());
            found.push(Violation { rule, key, from: at, to: at, what });
        }
    }
    found
}

/// A session that was lost though its proxy was away for less than its lease.
#[derive(Debug, Clone)]
pub(crate) struct Absence {
    pub(crate) key: String,
    pub(crate) away: Duration,
    pub(crate) lease: Duration,
    /// Whether the lock was still held after it.
    pub(crate) kept: bool,
}

/// A lock outlives what is shorter than its proxy's lease.
pub(crate) fn early_losses(absences: &[Absence]) -> Vec<Violation> {
    let early = absences.iter().filter(|a| !a.kept && a.away < a.lease * 2 / 3);
    early
        .map(|a| Violation {
            rule: "a lease is a promise",
            key: a.key.clone(),
            from: Duration::ZERO,
            to: a.away,
            what: format!("lost within {:?}, the lease is {:?}", a.away, a.lease),
        })
        .collect()
}

/// Batches of several proxies lock rows in one order, so none has to wait for another in a circle.
pub(crate) fn deadlocks(before: u64, after: u64) -> Vec<Violation> {
    let (at, key) = (Duration::ZERO, String::new());
    let what = format!("{} deadlocks at the server", after.saturating_sub(before));
    let one = Violation { rule: "batches do not deadlock", key, from: at, to: at, what };
    (after > before).then_some(one).into_iter().collect()
}

/// How often each item is in a list, for the summary.
pub(crate) fn tally<'a>(all: impl Iterator<Item = &'a str>) -> String {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for one in all {
        *counts.entry(one).or_default() += 1;
    }
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_unstable();
    let counts: Vec<String> = counts.iter().map(|(what, n)| format!("{what} {n}")).collect();
    counts.join(", ")
}
