//! Steps of the service, its pipe and the store's one statement: `engine::service`,
//! `engine::io::pipe`, `store::statement`, `store::batch`, `store::collect`.

use super::state::{
    ATTEMPTS, Broken, Change, Late, LockRow, Outcome, PROXIES, Phase, Pipe, ProxyState, State,
    Thread, bit, claim_of, claimant, home,
};
use super::variants::{Model, Weak};

/// How far the base of tokens moves: more than are granted in a run of the model.
const BASE_STEP: u8 = 8;

/// Token of the release that is to go out, 0 if there is none: `KeyState::release`.
fn to_release(s: &State, p: usize) -> u8 {
    let returning = |it: &usize| {
        matches!(s.sessions[*it].phase, Phase::Releasing | Phase::Returning) && s.is_known(*it)
    };
    let session = (p * 2..p * 2 + 2).find(returning);
    session.map_or(s.processes[p].unwanted, |it| s.sessions[it].token)
}

/// Whether the service holds the lock for a session: `KeyState::held`.
fn is_held(s: &State, p: usize) -> bool {
    s.processes[p].unwanted != 0 || (p * 2..p * 2 + 2).any(|it| s.is_known(it))
}

/// `Service::gather`: a grant for a session that waits, after a release if there is one. Nothing
/// new in jeopardy.
pub(crate) fn send_grant(m: &Model, s: &State, session: usize) -> Option<State> {
    let p = home(session);
    let me = &s.processes[p];
    let it = &s.sessions[session];
    let release = to_release(s, p);
    let may = me.running && me.id != 0 && me.left > m.world.lease[p] / 2 && me.pipe == Pipe::Idle;
    if !may || it.phase != Phase::Waiting || (is_held(s, p) && release == 0) {
        return None;
    }
    let stealable = |state| {
        state == ProxyState::Clean || (m.weak == Weak::StealBeforeGone && state == ProxyState::Dead)
    };
    let clean = (1..=4).filter(|id| stealable(s.row(*id).state)).fold(0, |set, id| set | bit(id));
    let row = s.store.lock;
    let hopeless = row.holder != 0 && row.holder != me.id && clean & bit(row.holder) == 0;
    if m.world.steady[p] && hopeless {
        return None;
    }
    let mut n = *s;
    let me = &mut n.processes[p];
    // The code also remembers what it proposed, for the sake of other keys.
    let token = me.base.max(me.last_token) + 1;
    let grant = claim_of(session, *it);
    me.pipe = Pipe::Sent(Change { writer: me.id, base: me.base, release, grant, token, clean });
    Some(n)
}

/// `Service::gather`: a release alone. It needs no lease.
pub(crate) fn send_release(_: &Model, s: &State, p: usize) -> Option<State> {
    let me = &s.processes[p];
    let release = to_release(s, p);
    if !me.running || me.id == 0 || release == 0 || me.pipe != Pipe::Idle {
        return None;
    }
    let mut n = *s;
    let change = Change { writer: me.id, base: me.base, release, ..Change::default() };
    n.processes[p].pipe = Pipe::Sent(change);
    Some(n)
}

/// `statement::change_sql`, `statement::release_sql`. True if all was won as proposed.
fn execute(m: &Model, s: &mut State, change: Change) -> bool {
    let Change { writer, base, release, grant, token, clean } = change;
    let row = s.store.lock;
    let mine = row.holder == writer && row.tok == release && release != 0;
    if grant == 0 {
        // A release alone is bound to its token and needs no guard.
        s.store.lock.holder = if mine { 0 } else { row.holder };
        return true;
    }
    let live = s.row(writer).state == ProxyState::Live;
    let based = s.store.base == base || m.weak == Weak::BaseNotInGuard;
    if !(live || m.weak == Weak::NoGuard) || !based {
        return false;
    }
    let mut proposed = true;
    if release != 0 {
        proposed &= mine;
        if row.tok == 0 {
            // A release carries holder 0: a missing row becomes a free one.
            s.store.lock = LockRow { tok: release, holder: 0, grant: 0 };
        } else if mine {
            s.store.lock.holder = 0;
        }
    }
    let row = s.store.lock;
    if row.holder != 0 && clean & bit(row.holder) == 0 {
        return false;
    }
    let tok = if row.tok < token { token } else { row.tok + 1 };
    s.store.lock = LockRow { tok, holder: writer, grant };
    if !live {
        s.breaks(Broken::GrantedWhenRevoked);
    }
    let from = row.holder;
    if from != 0 && s.row(from).state != ProxyState::Clean {
        s.breaks(Broken::TakenFromTheLiving);
    }
    if tok <= s.greatest {
        s.breaks(Broken::TokenNotGreater);
    }
    s.greatest = s.greatest.max(tok);
    proposed && tok == token
}

/// `StoreConnection::run_batch`: the reply tells, or the rows must be read.
pub(crate) fn batch_runs(m: &Model, s: &State, p: usize) -> Option<State> {
    let mut n = *s;
    let pipe = match s.processes[p].pipe {
        Pipe::Sent(change) => {
            if execute(m, &mut n, change) {
                let row = if change.grant == 0 { LockRow::default() } else { n.store.lock };
                Pipe::Replied(change, Outcome { row, base: 0 })
            } else if n.store.lock.holder == change.writer {
                Pipe::MustRead(change)
            } else {
                // Nothing was won. That is heard at once: later the rows say the same.
                let outcome = Outcome { row: n.store.lock, base: n.store.base };
                n.processes[p].pipe = Pipe::Replied(change, outcome);
                return batch_heard(m, &n, p);
            }
        }
        Pipe::Unknown(change, false) => {
            execute(m, &mut n, change);
            Pipe::Unknown(change, true)
        }
        _ => return None,
    };
    n.processes[p].pipe = pipe;
    Some(n)
}

/// A batch reaches the store though its process is gone, or does not wait for it.
pub(crate) fn late_batch_runs(m: &Model, s: &State, slot: usize) -> Option<State> {
    let Late::Change(change) = s.late[slot] else { return None };
    let mut n = *s;
    n.late[slot] = Late::None;
    execute(m, &mut n, change);
    Some(n)
}

/// `pipe::run_batch`: the connection is lost, or the answer does not come in time.
pub(crate) fn batch_lost(_: &Model, s: &State, p: usize) -> Option<State> {
    let mut n = *s;
    n.faults = s.faults.checked_sub(1)?;
    n.processes[p].pipe = match s.processes[p].pipe {
        Pipe::Sent(change) => Pipe::Unknown(change, false),
        Pipe::MustRead(change) | Pipe::Replied(change, _) => Pipe::Unknown(change, true),
        Pipe::Idle | Pipe::Unknown(..) => return None,
    };
    Some(n)
}

/// `pipe::resolve`: the old connection is killed, and the server shows it no more. A batch that was not
/// carried out never will be.
pub(crate) fn old_connection_gone(m: &Model, s: &State, p: usize) -> Option<State> {
    let Pipe::Unknown(change, done) = s.processes[p].pipe else { return None };
    let mut n = *s;
    if m.weak == Weak::GuessLost {
        if !done {
            n.forget(Late::Change(change))?;
        }
        n.processes[p].pipe = Pipe::Idle;
        return Some(n);
    }
    n.processes[p].pipe = Pipe::MustRead(change);
    Some(n)
}

/// `StoreConnection::read_back`.
pub(crate) fn rows_read(m: &Model, s: &State, p: usize) -> Option<State> {
    let Pipe::MustRead(change) = s.processes[p].pipe else { return None };
    let mut n = *s;
    let outcome = Outcome { row: s.store.lock, base: s.store.base };
    n.processes[p].pipe = Pipe::Replied(change, outcome);
    if s.store.lock.holder == change.writer { Some(n) } else { batch_heard(m, &n, p) }
}

/// `Service::finish` and `Service::apply`: the check after the store's reply.
pub(crate) fn batch_heard(m: &Model, s: &State, p: usize) -> Option<State> {
    let Pipe::Replied(change, Outcome { row, base }) = s.processes[p].pipe else { return None };
    let mut n = *s;
    let me = &mut n.processes[p];
    me.pipe = Pipe::Idle;
    me.last_token = me.last_token.max(row.tok);
    let current = me.id == change.writer;
    if current {
        me.base = me.base.max(base);
    }
    let mine = row.holder == change.writer;
    if change.release != 0 && current && !(mine && row.tok == change.release) {
        released(&mut n, p, change.release);
    }
    if change.grant == 0 {
        return Some(n);
    }
    let session = claimant(change.grant);
    let vouched = n.vouches(p, change.writer) || m.weak == Weak::NoCheckAfterReply;
    let held = is_held(&n, p);
    let it = &mut n.sessions[session];
    let waits = it.phase == Phase::Waiting && claim_of(session, *it) == change.grant;
    if mine && row.grant == change.grant {
        if current && vouched {
            if waits {
                (it.phase, it.token, it.by) = (Phase::Granted, row.tok, change.writer);
            } else {
                n.processes[p].unwanted = row.tok;
            }
        } else if current && m.weak != Weak::StrayWhileCurrent {
            // The deadline may yet move on: the row goes back before a session asks again.
            if waits {
                it.attempts = Some(it.attempts + 1).filter(|n| *n <= ATTEMPTS)?;
            }
            n.processes[p].unwanted = row.tok;
        } else {
            // Won for an incarnation that is over; no client is told: a stray.
            let Change { writer, base, .. } = change;
            let release = row.tok;
            n.forget(Late::Change(Change { writer, base, release, ..Change::default() }))?;
        }
    } else if mine && current && !held {
        // A row without a session is freed.
        n.processes[p].unwanted = row.tok;
    }
    Some(n)
}

/// The row is free, so the session is told.
fn released(s: &mut State, p: usize, token: u8) {
    for session in p * 2..p * 2 + 2 {
        if !s.is_known(session) || s.sessions[session].token != token {
            continue;
        }
        let it = &mut s.sessions[session];
        it.phase = if it.phase == Phase::Releasing { Phase::Idle } else { Phase::Over };
        (it.token, it.by) = (0, 0);
    }
    let me = &mut s.processes[p];
    me.unwanted = if me.unwanted == token { 0 } else { me.unwanted };
}

/// `StoreConnection::collect`: a free row with a token below the base.
pub(crate) fn row_collected(m: &Model, s: &State, _: usize) -> Option<State> {
    let LockRow { tok, holder, .. } = s.store.lock;
    let below = tok < s.store.base || m.weak == Weak::CollectAnyToken;
    let mut n = *s;
    n.store.lock = LockRow::default();
    (m.world.collects && tok != 0 && holder == 0 && below).then_some(n)
}

/// `StoreConnection::move_base`.
pub(crate) fn base_moves(m: &Model, s: &State, _: usize) -> Option<State> {
    let mut n = *s;
    n.store.base += BASE_STEP;
    (m.world.collects && s.store.base == 0).then_some(n)
}

/// Rules that a state breaks by itself, however it was reached.
pub(crate) fn inspect(m: &Model, s: &mut State) {
    let mut told = 0;
    for session in 0..s.sessions.len() {
        let it = s.sessions[session];
        // Without the server's lock a session of mode coexist has ended there: it can do nothing more.
        let ended = m.world.native[home(session)] && it.thread == Thread::Gone;
        told += u8::from(it.phase == Phase::Told && s.vouches(home(session), it.by) && !ended);
    }
    if told > 1 {
        s.breaks(Broken::TwoHolders);
    }
    for p in 0..PROXIES {
        let id = s.processes[p].id;
        if s.vouches(p, id) && s.row(id).state != ProxyState::Live {
            s.breaks(Broken::VouchesWhenRevoked);
        }
        if held_by_nobody(s, p) {
            s.breaks(Broken::HeldByNobody);
        }
    }
}

/// The row names the present incarnation, whose process neither knows of it nor is about to hear.
fn held_by_nobody(s: &State, p: usize) -> bool {
    let me = &s.processes[p];
    let row = s.store.lock;
    let names = row.holder == me.id && s.vouches(p, me.id);
    let known = |it: usize| s.is_known(it) && s.sessions[it].token == row.tok;
    let about = |late: &Late| matches!(late, Late::Change(c) if c.writer == me.id);
    names
        && me.pipe == Pipe::Idle
        && me.unwanted != row.tok
        && !(p * 2..p * 2 + 2).any(known)
        && !s.late.iter().any(about)
}
