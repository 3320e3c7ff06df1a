//! Steps of the keeper and of takeovers: `engine::lease::keeper`, `engine::lease::takeover`, `store::proxies`.
//!
//! Left out: the startup wait. It only forbids grants, and what it is for, rows lost in a
//! failover, cannot happen here. Unequal rates are left to the test in `lock::lease`: one tick is
//! one tick for all.

use super::state::{
    Beat, Broken, INCARNATIONS, Late, Observation, Pipe, Process, ProxyRow, ProxyState, Renewal,
    State, Thread, bit, claimant, process_of,
};
use super::variants::{Model, Weak};

/// All clocks move on: `clock::now`.
pub(crate) fn tick(m: &Model, s: &State, _: usize) -> Option<State> {
    let mut n = *s;
    for (p, me) in n.processes.iter_mut().enumerate() {
        if !m.world.steady[p] {
            me.left = me.left.saturating_sub(1);
        }
        if me.beat != Beat::Idle {
            me.sent = (me.sent + 1).min(m.world.lease[p]);
        }
        if m.world.hangs > 0 {
            let read = u8::from(m.world.observers[p]);
            me.unread = (me.unread + read).min(m.world.longest());
            continue;
        }
        for seen in me.observed.iter_mut().filter(|seen| seen.rvn != 0) {
            seen.age = (seen.age + 1).min(m.world.longest());
        }
    }
    if m.world.hangs > 0 && !s.store.hung {
        for (chances, row) in n.store.chances.iter_mut().zip(n.store.proxies) {
            let live = u8::from(row.state == ProxyState::Live);
            *chances = (*chances + live).min(m.world.longest());
        }
    }
    (n != *s).then_some(n)
}

/// SIGSTOP.
pub(crate) fn store_hangs(_: &Model, s: &State, _: usize) -> Option<State> {
    let mut n = *s;
    n.hangs = s.hangs.checked_sub(1)?;
    n.store.hung = true;
    (!s.store.hung).then_some(n)
}

/// SIGCONT: what was sent meanwhile is carried out.
pub(crate) fn store_goes_on(_: &Model, s: &State, _: usize) -> Option<State> {
    let mut n = *s;
    n.store.hung = false;
    s.store.hung.then_some(n)
}

/// A backup takes the global read lock.
pub(crate) fn writes_blocked(_: &Model, s: &State, _: usize) -> Option<State> {
    let mut n = *s;
    n.blocks = s.blocks.checked_sub(1)?;
    n.store.blocked = true;
    (!s.store.blocked).then_some(n)
}

/// The store is released: what was sent meanwhile is carried out.
pub(crate) fn writes_go_on(_: &Model, s: &State, _: usize) -> Option<State> {
    let mut n = *s;
    n.store.blocked = false;
    s.store.blocked.then_some(n)
}

/// `Lease::server_protects`: whether no other proxy that may hold, or be granted, a lock keeps locks by rows alone.
pub(crate) fn server_protects(m: &Model, s: &State, p: usize) -> bool {
    let me = s.processes[p].id;
    let by_rows = (1..).zip(s.store.proxies).any(|(id, row)| {
        let counts = matches!(row.state, ProxyState::Live | ProxyState::Dead);
        id != me && counts && !m.world.native[process_of(id)]
    });
    m.world.native[p] && (!by_rows || m.weak == Weak::NativeBesideRows)
}

/// `Keeper::read_standstill`: the row is LIVE, with a version of this process. Where the server's own locks protect,
/// that is as good as a renewal. Elsewhere sessions stay suspended, as long as it takes.
pub(crate) fn read_instead(m: &Model, s: &State, p: usize) -> Option<State> {
    let me = &s.processes[p];
    if !s.store.blocked || !me.running || me.id == 0 {
        return None;
    }
    let row = s.row(me.id);
    let own = row.state == ProxyState::Live && me.versions & bit(row.rvn) != 0;
    let renews = server_protects(m, s, p) || m.weak == Weak::ReadingRenews;
    let mut n = *s;
    n.processes[p].left = m.world.lease[p];
    (own && renews && n != *s).then_some(n)
}

/// `Keeper::join`: a new id, and a row of its own. Until it arrives no other process knows of it, so it is there at
/// once; the reply may take its time.
pub(crate) fn register(m: &Model, s: &State, p: usize) -> Option<State> {
    let me = &s.processes[p];
    if !me.running || me.id != 0 || me.beat != Beat::Idle || me.used == m.world.incarnations[p] {
        return None;
    }
    let mut n = *s;
    let me = &mut n.processes[p];
    me.used += 1;
    let id = u8::try_from(p).ok()? * 2 + me.used;
    let registration = Renewal { id, old: 0, new: 1 };
    me.beat = Beat::Replied(registration, true);
    (me.sent, me.tried, me.base) = (0, 1, s.store.base);
    execute(&mut n, registration);
    Some(n)
}

/// `Keeper::renew`: a version that the row never had, and all that it may have now.
pub(crate) fn renew(m: &Model, s: &State, p: usize) -> Option<State> {
    let me = &s.processes[p];
    if !me.running || me.id == 0 || me.beat != Beat::Idle || me.tried > m.world.renewals[p] {
        return None;
    }
    let mut n = *s;
    let me = &mut n.processes[p];
    me.tried += 1;
    let new = if m.weak == Weak::Counter { me.acked + 1 } else { me.tried };
    me.beat = Beat::Sent(Renewal { id: me.id, old: me.versions, new });
    me.versions |= bit(new);
    me.sent = 0;
    Some(n)
}

/// The store carries out a registration or renewal, and tells what the row is then.
fn execute(s: &mut State, renewal: Renewal) -> bool {
    let Renewal { id, old, new } = renewal;
    let row = s.row_mut(id);
    if old == 0 {
        *row = ProxyRow { state: ProxyState::Live, rvn: new };
    } else if row.state == ProxyState::Live && old & bit(row.rvn) != 0 {
        row.rvn = new;
    }
    let renewed = row.state == ProxyState::Live && row.rvn == new;
    if renewed {
        s.store.chances[usize::from(id - 1)] = 0;
    }
    renewed
}

/// `StoreConnection::register`, `StoreConnection::renew`.
pub(crate) fn renewal_runs(_: &Model, s: &State, p: usize) -> Option<State> {
    let Beat::Sent(renewal) = s.processes[p].beat else { return None };
    let mut n = *s;
    let renewed = execute(&mut n, renewal);
    n.processes[p].beat = Beat::Replied(renewal, renewed);
    Some(n)
}

/// The reply comes, perhaps after the deadline. Between this and the step that moves the deadline, others
/// may find that it has passed.
pub(crate) fn renewal_heard(m: &Model, s: &State, p: usize) -> Option<State> {
    let Beat::Replied(renewal, renewed) = s.processes[p].beat else { return None };
    let mut n = *s;
    let me = &mut n.processes[p];
    let anyway = me.left == 0 && m.weak == Weak::ResumesWithoutRenewal;
    if renewal.old != 0 && !renewed && !anyway {
        me.beat = Beat::Idle;
        fence(me);
    } else {
        me.beat = Beat::Heard(renewal);
    }
    Some(n)
}

/// `Lease::renewed`, `Lease::begin`: the deadline counts from before the send.
pub(crate) fn deadline_moves(m: &Model, s: &State, p: usize) -> Option<State> {
    if is_suspended(&s.processes[p]) { None } else { renewed(m, s, p) }
}

/// A renewal while sessions are suspended: they go on, unless the reply is so old that this deadline has passed, too.
pub(crate) fn sessions_resume(m: &Model, s: &State, p: usize) -> Option<State> {
    if is_suspended(&s.processes[p]) { renewed(m, s, p) } else { None }
}

fn is_suspended(me: &Process) -> bool {
    me.id != 0 && me.left == 0
}

fn renewed(m: &Model, s: &State, p: usize) -> Option<State> {
    let Beat::Heard(Renewal { id, new, .. }) = s.processes[p].beat else { return None };
    let mut n = *s;
    let me = &mut n.processes[p];
    let age = if m.weak == Weak::DeadlineFromAck { 0 } else { me.sent };
    me.left = m.world.lease[p] - age;
    (me.id, me.acked, me.versions, me.beat) = (id, new, bit(new), Beat::Idle);
    me.sent = 0;
    Some(n)
}

/// `Keeper::run`: a beat without a reply is given up; at the deadline, and from then on, none waits for
/// long. It may still
/// be carried out, but for a registration, whose row would look like one that came in time.
pub(crate) fn renewal_given_up(_: &Model, s: &State, p: usize) -> Option<State> {
    let (Beat::Sent(renewal) | Beat::Replied(renewal, _)) = s.processes[p].beat else {
        return None;
    };
    let mut n = *s;
    let due = s.processes[p].id != 0 && s.processes[p].left == 0;
    n.faults = s.faults.checked_sub(u8::from(!due))?;
    if s.processes[p].beat == Beat::Sent(renewal) && renewal.old != 0 {
        n.forget(Late::Renewal(renewal))?;
    }
    (n.processes[p].beat, n.processes[p].sent) = (Beat::Idle, 0);
    Some(n)
}

/// A renewal reaches the store that its keeper has given up.
pub(crate) fn late_renewal_runs(_: &Model, s: &State, slot: usize) -> Option<State> {
    let Late::Renewal(renewal) = s.late[slot] else { return None };
    let mut n = *s;
    n.late[slot] = Late::None;
    execute(&mut n, renewal);
    Some(n)
}

/// A packet that no process waits for is lost.
pub(crate) fn late_packet_lost(_: &Model, s: &State, slot: usize) -> Option<State> {
    let mut n = *s;
    n.late[slot] = Late::None;
    (s.late[slot] != Late::None).then_some(n)
}

/// `Keeper::fence`: locks are forgotten; sessions that hold some find it out by themselves.
fn fence(me: &mut Process) {
    (me.id, me.left, me.unwanted) = (0, 0, 0);
    (me.acked, me.versions, me.tried) = (0, 0, 0);
    me.observed = [Observation::default(); INCARNATIONS];
}

/// `Keeper::stop_if_due`: at the deadline, or after any time of suspension.
pub(crate) fn fence_if_due(_: &Model, s: &State, p: usize) -> Option<State> {
    let me = &s.processes[p];
    let due = me.running && me.id != 0 && me.left == 0 && me.beat == Beat::Idle;
    let mut n = *s;
    fence(&mut n.processes[p]);
    due.then_some(n)
}

/// Argument of steps that one process does to one incarnation.
fn pair(arg: usize) -> Option<(usize, u8)> {
    Some((arg / INCARNATIONS, u8::try_from(arg % INCARNATIONS).ok()? + 1))
}

/// `Keeper::observe`: when this version was first seen, on the own clock.
pub(crate) fn observe(m: &Model, s: &State, arg: usize) -> Option<State> {
    let (p, id) = pair(arg)?;
    let me = &s.processes[p];
    let row = s.row(id);
    let seen = me.observed[usize::from(id - 1)].rvn;
    if m.world.hangs > 0
        || !m.world.observers[p]
        || me.id == 0
        || me.id == id
        || row.state != ProxyState::Live
        || seen == row.rvn
    {
        return None;
    }
    let mut n = *s;
    n.processes[p].observed[usize::from(id - 1)] = Observation { rvn: row.rvn, age: 0 };
    Some(n)
}

/// Ticks between two readings that count: `Terms::pause`.
const PAUSE: u8 = 1;

/// `Observations::see`, where the store may hang: the time since the reading before counts if it is short.
pub(crate) fn read_rows(m: &Model, s: &State, p: usize) -> Option<State> {
    let me = &s.processes[p];
    if m.world.hangs == 0 || !m.world.observers[p] || me.id == 0 {
        return None;
    }
    let mut n = *s;
    n.processes[p].unread = 0;
    for id in (1..).take(INCARNATIONS).filter(|id| *id != me.id) {
        let row = s.row(id);
        let seen = &mut n.processes[p].observed[usize::from(id - 1)];
        let counts = me.unread <= PAUSE || m.weak == Weak::CountsInSilence;
        *seen = match row.state {
            ProxyState::Live if seen.rvn == row.rvn && counts => {
                Observation { age: (seen.age + me.unread).min(m.world.longest()), ..*seen }
            }
            ProxyState::Live => Observation { rvn: row.rvn, age: 0 },
            ProxyState::Absent | ProxyState::Dead | ProxyState::Clean => Observation::default(),
        };
    }
    (n != *s).then_some(n)
}

/// `Keeper::revoke`: the version still stands after the lease that the row names.
pub(crate) fn revoke(m: &Model, s: &State, arg: usize) -> Option<State> {
    let (p, id) = pair(arg)?;
    let seen = s.processes[p].observed[usize::from(id - 1)];
    let whose = if m.weak == Weak::ObserversOwnLease { p } else { process_of(id) };
    let row = s.row(id);
    if row.state != ProxyState::Live || row.rvn != seen.rvn || seen.age < m.world.lease[whose] {
        return None;
    }
    let mut n = *s;
    n.row_mut(id).state = ProxyState::Dead;
    n.processes[p].observed[usize::from(id - 1)] = Observation::default();
    // A hang that is shorter than a pause goes unnoticed.
    let chances = s.store.chances[usize::from(id - 1)] + PAUSE;
    if m.world.hangs > 0 && chances < m.world.lease[process_of(id)] {
        n.breaks(Broken::RevokedInAHang);
    }
    Some(n)
}

/// Certainly over: an earlier incarnation of this very process, or one whose process is gone.
fn is_over(m: &Model, s: &State, p: usize, id: u8) -> bool {
    let me = &s.processes[p];
    let joining =
        matches!(me.beat, Beat::Sent(r) | Beat::Replied(r, _) | Beat::Heard(r) if r.id == id);
    let former = process_of(id) == p && me.id != id && !joining;
    let proved = s.gone & bit(id) != 0 || m.weak == Weak::SuccessorWithoutProof;
    former || proved
}

/// `Keeper::join`: the successor rule.
pub(crate) fn revoke_at_once(m: &Model, s: &State, arg: usize) -> Option<State> {
    let (p, id) = pair(arg)?;
    let me = &s.processes[p];
    let joining = me.running && me.id == 0 && me.beat == Beat::Idle;
    let joining = joining && me.used < m.world.incarnations[p];
    if !joining || s.row(id).state != ProxyState::Live || !is_over(m, s, p, id) {
        return None;
    }
    let mut n = *s;
    n.row_mut(id).state = ProxyState::Dead;
    Some(n)
}

/// `takeover::end_sessions`, with the least that it may know: the sessions that lock rows name.
/// `join` begins it even if its revoke came too late, so the row may still be LIVE.
pub(crate) fn end_sessions(m: &Model, s: &State, arg: usize) -> Option<State> {
    let (p, id) = pair(arg)?;
    let me = &s.processes[p];
    let begun = match s.row(id).state {
        ProxyState::Dead => true,
        ProxyState::Live => is_over(m, s, p, id),
        ProxyState::Absent | ProxyState::Clean => false,
    };
    if me.id == 0 || !begun || me.seen_gone & bit(id) != 0 {
        return None;
    }
    let mut n = *s;
    let lock = s.store.lock;
    let thread = &mut n.sessions[claimant(lock.grant)].thread;
    match *thread {
        Thread::Open if lock.holder == id => *thread = Thread::Ending,
        Thread::Ending if lock.holder == id => return None,
        _ => n.processes[p].seen_gone |= bit(id),
    }
    Some(n)
}

/// `StoreConnection::declare_clean`.
pub(crate) fn declare_clean(_: &Model, s: &State, arg: usize) -> Option<State> {
    let (p, id) = pair(arg)?;
    if s.processes[p].seen_gone & bit(id) == 0 {
        return None;
    }
    let mut n = *s;
    n.processes[p].seen_gone &= !bit(id);
    if s.row(id).state == ProxyState::Dead {
        n.row_mut(id).state = ProxyState::Clean;
        let may_run = s.sessions.iter().any(|it| it.by == id && it.write);
        if may_run {
            n.breaks(Broken::CleanTooEarly);
        }
    }
    Some(n)
}

/// `StoreConnection::sweep_clean`.
pub(crate) fn sweep(_: &Model, s: &State, arg: usize) -> Option<State> {
    let (p, id) = pair(arg)?;
    if !s.processes[p].running || s.row(id).state != ProxyState::Clean {
        return None;
    }
    let mut n = *s;
    if s.store.lock.holder == id {
        n.store.lock.holder = 0;
    }
    *n.row_mut(id) = ProxyRow::default();
    Some(n)
}

/// kill -9: what was sent goes on, the kernel gives the locks on its files back.
pub(crate) fn process_dies(m: &Model, s: &State, p: usize) -> Option<State> {
    if !s.processes[p].running {
        return None;
    }
    let mut n = *s;
    n.faults = s.faults.checked_sub(1)?;
    if !m.world.kills || m.world.steady[p] {
        return None;
    }
    let me = s.processes[p];
    if let Pipe::Sent(change) | Pipe::Unknown(change, false) = me.pipe {
        n.forget(Late::Change(change))?;
    }
    if let Beat::Sent(renewal) = me.beat {
        n.forget(Late::Renewal(renewal))?;
    }
    for used in 1..=me.used {
        n.gone |= bit(u8::try_from(p).ok()? * 2 + used);
    }
    n.processes[p] = Process { used: me.used, ..Process::default() };
    n.end_sessions_of(p);
    Some(n)
}

/// The process is started again.
pub(crate) fn process_starts(m: &Model, s: &State, p: usize) -> Option<State> {
    let me = &s.processes[p];
    let mut n = *s;
    n.processes[p].running = true;
    (!me.running && me.used < m.world.incarnations[p]).then_some(n)
}
