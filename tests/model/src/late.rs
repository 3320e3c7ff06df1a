//! Mode coexist: the server's own lock excludes, and a row may be written after the client has its answer.
//!
//! Two proxies, A and B, take the server's own lock for a session each. D grants by rows alone. The server may be started again: it
//! forgets its locks then, and a proxy may not know of it for a while. A process may be killed, and the server may go on
//! working for its session. Packets take any time. One name is enough: the rules concern no other one.

use super::explore::{Protocol, every, explore, idle};
use super::report;

/// Ticks of the lease.
const LEASE: u8 = 1;
/// Runs of the server.
const RUNS: u8 = 2;
const NATIVE: usize = 2;
/// D's place among the rows, after two incarnations of A and two of B.
const D: usize = 4;

/// A rule left out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Weak {
    /// The protocol as it should be.
    Nothing,
    /// A row is late though a proxy that grants by rows is there.
    LateBesideRows,
    /// A row is late before the proxy's own row says that it may be.
    LateUntold,
    /// The proxy's row says that no row is late, and one is.
    ToldTooSoon,
    /// D grants whatever the rows of others say.
    RowsNotAwaited,
    /// A session that has ended counts no more, though the server works for it.
    EndedNotCounted,
    /// A row is late while another proxy may not know of the server's last start.
    OtherRunIgnored,
    /// The wait at the start ends when another proxy is seen alive, though a third one may not know of the server's start.
    WaitCutShort,
    /// A row is late for a connection whose run is not known.
    UnknownConnection,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
enum Life {
    #[default]
    Absent,
    Live,
    Dead,
    Clean,
}

/// A row of `proxies`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
struct ProxyRow {
    life: Life,
    /// Locks may have no rows yet.
    keeps: bool,
    run: u8,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
enum Session {
    #[default]
    Idle,
    /// The server has granted the lock, and the client has no answer.
    Granted,
    /// The client has its answer, and there is no row.
    Late,
    /// The client has its answer, and there is a row.
    Written,
}

/// What a renewal has read.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
struct Reading {
    /// D is there.
    rows: bool,
    /// All live proxies were renewed in this run.
    in_this_run: bool,
    /// Another one has locks without rows, or may have.
    late: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
enum Beat {
    #[default]
    Idle,
    Sent {
        age: u8,
        keeps: bool,
    },
    Done {
        age: u8,
        keeps: bool,
        run: u8,
        renewed: bool,
        reading: Reading,
    },
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
enum Claim {
    #[default]
    Idle,
    Sent,
    Done {
        won: bool,
    },
}

/// A or B.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
struct Proxy {
    running: bool,
    /// The incarnation, from 1; 0: there is none.
    id: u8,
    used: u8,
    /// The run in which the incarnation holds locks.
    run: u8,
    /// Ticks until the deadline, and ticks of the wait at the start.
    left: u8,
    waits: u8,
    /// The row of the incarnation says that rows may be late, as a renewal has shown.
    told: bool,
    allowed: bool,
    /// D is known to be there.
    rows: bool,
    beat: Beat,
    beats: u8,
    session: Session,
    /// The run of the session's connection, and whether the proxy knows that it is its own.
    conn: u8,
    /// The incarnation under which the connection was opened.
    opened: u8,
    known: bool,
    claim: Claim,
    claims: u8,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
struct State {
    run: u8,
    /// Whose session has the server's lock, counted from 1.
    native: u8,
    /// Sessions whose clients know that they have a lock, and for which the server may still work.
    works: [bool; NATIVE],
    /// Of these, sessions that the proxy has ended: they count until the server is done with them.
    ended: [bool; NATIVE],
    /// The incarnation that the row of the name shows as holder, and the run of its lock. 5 is D.
    holder: u8,
    of_run: u8,
    rows: [ProxyRow; D + 1],
    /// Ticks since the others have seen a renewal.
    silent: [u8; D],
    proxies: [Proxy; NATIVE],
    d_grants: bool,
    d_holds: bool,
    faults: u8,
    broken: Option<Broken>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Broken {
    /// Two clients are certain of the lock.
    TwoHolders,
    /// D's client has the lock, and the server works for a session that had it.
    BesideWork,
}

#[derive(Clone, Copy, Debug)]
struct World {
    claims: [u8; NATIVE],
    incarnations: [u8; NATIVE],
    /// Renewals that each may send; `None`: any number.
    beats: Option<[u8; NATIVE]>,
    /// At the start rows may be late already.
    ready: bool,
    /// D may come.
    rows: bool,
    restarts: bool,
    faults: u8,
    weak: Weak,
}

fn small(n: usize) -> u8 {
    u8::try_from(n).expect("small")
}

fn process_of(id: u8) -> usize {
    usize::from(id - 1) / 2
}

impl State {
    fn row(&self, id: u8) -> ProxyRow {
        self.rows[usize::from(id - 1)]
    }

    fn row_mut(&mut self, id: u8) -> &mut ProxyRow {
        &mut self.rows[usize::from(id - 1)]
    }

    fn vouches(&self, p: usize) -> bool {
        let me = &self.proxies[p];
        me.running && me.id != 0 && me.left > 0
    }

    /// Whether a session of this proxy has a lock without a row, or had one and the server still works for it.
    fn is_late(&self, w: &World, p: usize) -> bool {
        let ended = self.ended[p] && w.weak != Weak::EndedNotCounted;
        self.proxies[p].session == Session::Late || ended
    }

    /// The session is over for the proxy. The server may work for it.
    fn end_session(&mut self, p: usize) {
        let me = &mut self.proxies[p];
        let late = me.session == Session::Late;
        (me.session, me.known, me.claim) = (Session::Idle, false, Claim::Idle);
        (me.conn, me.opened) = (0, 0);
        self.ended[p] |= late && self.works[p];
    }

    /// The server is done with the session of this proxy.
    fn server_done(&mut self, p: usize) {
        (self.works[p], self.ended[p]) = (false, false);
        if usize::from(self.native) == p + 1 {
            self.native = 0;
        }
    }

    /// What incarnation `me` reads of the others.
    fn read(&self, me: u8) -> Reading {
        let others = (1..=small(D)).filter(|id| *id != me);
        let rows = || others.clone().map(|id| self.row(id));
        let live = |row: &ProxyRow| row.life == Life::Live;
        let not_clean = |row: &ProxyRow| matches!(row.life, Life::Live | Life::Dead);
        Reading {
            // Of a dead one nobody knows what it holds.
            rows: self.rows[D].life == Life::Live || rows().any(|row| row.life == Life::Dead),
            in_this_run: rows().filter(live).all(|row| row.run == self.run),
            late: rows().any(|row| not_clean(&row) && row.keeps),
        }
    }

    fn inspect(&mut self) {
        let holds = |p: usize| {
            let told = matches!(self.proxies[p].session, Session::Late | Session::Written);
            self.vouches(p) && told
        };
        let held = [holds(0), holds(1)];
        if held == [true; 2] || (self.d_holds && held.contains(&true)) {
            self.broken = self.broken.or(Some(Broken::TwoHolders));
        } else if self.d_holds && self.works.contains(&true) {
            self.broken = self.broken.or(Some(Broken::BesideWork));
        }
    }
}

fn tick(_: &World, s: &State, _: usize) -> Option<State> {
    let mut n = *s;
    for me in &mut n.proxies {
        (me.left, me.waits) = (me.left.saturating_sub(1), me.waits.saturating_sub(1));
        if let Beat::Sent { age, .. } | Beat::Done { age, .. } = &mut me.beat {
            *age = (*age + 1).min(LEASE);
        }
    }
    for id in 1..=small(D) {
        let live = s.row(id).life == Life::Live;
        let silent = &mut n.silent[usize::from(id - 1)];
        *silent = (*silent + u8::from(live)).min(LEASE);
    }
    (n != *s).then_some(n)
}

/// A new incarnation, in the run of the server in which it registers.
fn join(w: &World, s: &State, p: usize) -> Option<State> {
    let me = &s.proxies[p];
    if me.id != 0 || !me.running || me.used == w.incarnations[p] {
        return None;
    }
    let mut n = *s;
    let me = &mut n.proxies[p];
    me.used += 1;
    me.id = small(p) * 2 + me.used;
    (me.run, me.left, me.waits) = (s.run, LEASE, LEASE + 1);
    (me.told, me.allowed, me.rows) = (false, false, true);
    let id = me.id;
    *n.row_mut(id) = ProxyRow { life: Life::Live, keeps: false, run: s.run };
    n.silent[usize::from(id - 1)] = 0;
    Some(n)
}

/// `Keeper::renew` sends. What the row is to say of late rows is decided now.
fn beat_sent(w: &World, s: &State, p: usize) -> Option<State> {
    let me = &s.proxies[p];
    let spent = w.beats.is_some_and(|beats| me.beats == beats[p]);
    if me.id == 0 || !me.running || me.beat != Beat::Idle || spent {
        return None;
    }
    let mut n = *s;
    n.proxies[p].beats += u8::from(w.beats.is_some());
    let late = s.is_late(w, p) && w.weak != Weak::ToldTooSoon;
    n.proxies[p].beat = Beat::Sent { age: 0, keeps: !me.rows || me.allowed || late };
    Some(n)
}

fn beat_runs(_: &World, s: &State, p: usize) -> Option<State> {
    let Beat::Sent { age, keeps } = s.proxies[p].beat else { return None };
    let mut n = *s;
    let id = s.proxies[p].id;
    let of_this_run = s.proxies[p].run == s.run;
    let renewed = id != 0 && of_this_run && s.row(id).life == Life::Live;
    if renewed {
        *n.row_mut(id) = ProxyRow { life: Life::Live, keeps, run: s.run };
        n.silent[usize::from(id - 1)] = 0;
    }
    let reading = if id == 0 { Reading::default() } else { n.read(id) };
    n.proxies[p].beat = Beat::Done { age, keeps, run: s.run, renewed, reading };
    Some(n)
}

/// The keeper hears the answer: the lease goes on, or the incarnation is over.
fn beat_heard(w: &World, s: &State, p: usize) -> Option<State> {
    let Beat::Done { age, keeps, run, renewed, reading } = s.proxies[p].beat else { return None };
    let mut n = *s;
    n.proxies[p].beat = Beat::Idle;
    let me = s.proxies[p];
    if !me.running {
        return None;
    }
    if me.id == 0 {
        return Some(n);
    }
    if !renewed || run != me.run {
        n.fence(p);
        return Some(n);
    }
    let here = reading.in_this_run || !reading.late || w.weak == Weak::WaitCutShort;
    let me = &mut n.proxies[p];
    me.left = me.left.max(LEASE.saturating_sub(age));
    me.told |= keeps;
    me.told &= keeps;
    me.rows = reading.rows;
    // Another proxy, of which there may be any number, is seen alive.
    if here {
        me.waits = 0;
    }
    let beside = reading.rows && w.weak != Weak::LateBesideRows;
    let elsewhere = !reading.in_this_run && w.weak != Weak::OtherRunIgnored;
    let told = me.told || w.weak == Weak::LateUntold;
    me.allowed = told && !beside && !elsewhere && me.waits == 0;
    Some(n)
}

impl State {
    /// Sessions with locks are closed. The own row is revoked by the next incarnation.
    fn fence(&mut self, p: usize) {
        self.end_session(p);
        let me = &mut self.proxies[p];
        let id = std::mem::take(&mut me.id);
        (me.left, me.told, me.allowed, me.beat) = (0, false, false, Beat::Idle);
        if self.row(id).life == Life::Live {
            self.row_mut(id).life = Life::Dead;
        }
    }
}

fn fence_if_due(_: &World, s: &State, p: usize) -> Option<State> {
    let me = &s.proxies[p];
    let mut n = *s;
    if me.id == 0 || !me.running || me.left > 0 {
        return None;
    }
    n.fence(p);
    Some(n)
}

/// kill -9. The server goes on with what it was sent.
fn dies(_: &World, s: &State, p: usize) -> Option<State> {
    let mut n = *s;
    n.faults = s.faults.checked_sub(1)?;
    if !s.proxies[p].running || s.proxies[p].id == 0 {
        return None;
    }
    // Nobody counts its sessions any more: its row says what it said.
    n.proxies[p] = Proxy { used: s.proxies[p].used, ..Proxy::default() };
    n.ended[p] = false;
    Some(n)
}

/// The server notices that the session's connection has ended.
fn server_notices(_: &World, s: &State, p: usize) -> Option<State> {
    let mut n = *s;
    if !s.works[p] || s.proxies[p].session != Session::Idle {
        return None;
    }
    n.server_done(p);
    Some(n)
}

/// Another live proxy has seen no renewal for a lease.
fn revoke(_: &World, s: &State, id: usize) -> Option<State> {
    let mut n = *s;
    if s.rows[id].life != Life::Live || s.silent[id] < LEASE {
        return None;
    }
    n.rows[id].life = Life::Dead;
    Some(n)
}

/// DEAD to CLEAN: the sessions of the incarnation, which the server shows by their tag, are ended first.
fn take_over(_: &World, s: &State, id: usize) -> Option<State> {
    let mut n = *s;
    if s.rows[id].life != Life::Dead {
        return None;
    }
    n.rows[id].life = Life::Clean;
    let p = id / 2;
    // Sessions of the next incarnation of the same process live on.
    let next = s.proxies[p].id == small(id) + 2 && id.is_multiple_of(2);
    if !next || s.proxies[p].session == Session::Idle {
        n.server_done(p);
    }
    Some(n)
}

/// The server is started again. No proxy need notice.
fn restart(w: &World, s: &State, _: usize) -> Option<State> {
    let mut n = *s;
    n.run += 1;
    if !w.restarts || n.run == RUNS {
        return None;
    }
    n.native = 0;
    (n.works, n.ended) = Default::default();
    Some(n)
}

/// A client asks for the lock, on the connection that it has or on a new one, and the server grants it.
fn lock(w: &World, s: &State, p: usize) -> Option<State> {
    let me = &s.proxies[p];
    let free = s.native == 0 && !s.works[p] && me.session == Session::Idle;
    if !me.running || !free || me.claims == w.claims[p] {
        return None;
    }
    let mut n = *s;
    n.native = small(p) + 1;
    let me = &mut n.proxies[p];
    (me.claims, me.session, me.conn, me.known) = (me.claims + 1, Session::Granted, s.run, false);
    me.opened = me.id;
    Some(n)
}

/// The proxy asks the server, which answers in a run: the connection, opened after the incarnation began and before that,
/// is of the same one.
fn confirm(_: &World, s: &State, p: usize) -> Option<State> {
    let mut n = *s;
    let me = &mut n.proxies[p];
    let since = me.id != 0 && me.opened == me.id;
    if me.session != Session::Granted || me.known || me.run != s.run || !since {
        return None;
    }
    me.known = true;
    Some(n)
}

/// The client has its answer, and the row follows.
fn tell_late(w: &World, s: &State, p: usize) -> Option<State> {
    let me = &s.proxies[p];
    let known = me.known || w.weak == Weak::UnknownConnection;
    if me.session != Session::Granted || !me.allowed || !known || !s.vouches(p) {
        return None;
    }
    let mut n = *s;
    n.proxies[p].session = Session::Late;
    n.works[p] = me.conn == s.run;
    Some(n)
}

fn claim_sent(_: &World, s: &State, p: usize) -> Option<State> {
    let me = &s.proxies[p];
    let wants = matches!(me.session, Session::Granted | Session::Late);
    if !wants || me.claim != Claim::Idle || !s.vouches(p) || me.waits > 0 {
        return None;
    }
    let mut n = *s;
    n.proxies[p].claim = Claim::Sent;
    Some(n)
}

/// The write: guarded by the incarnation, and proven by the server's lock.
fn claim_runs(_: &World, s: &State, p: usize) -> Option<State> {
    let me = &s.proxies[p];
    if me.claim != Claim::Sent || me.id == 0 {
        return None;
    }
    let mut n = *s;
    let guarded = s.row(me.id).life == Life::Live && me.run == s.run;
    let proven = usize::from(s.native) == p + 1 && me.conn == s.run;
    let by_d = s.holder == small(D) + 1;
    let free =
        s.holder == 0 || (!by_d && (s.of_run == s.run || s.row(s.holder).life == Life::Clean));
    let won = guarded && proven && free;
    if won {
        (n.holder, n.of_run) = (me.id, s.run);
    }
    n.proxies[p].claim = Claim::Done { won };
    Some(n)
}

fn claim_heard(_: &World, s: &State, p: usize) -> Option<State> {
    let Claim::Done { won } = s.proxies[p].claim else { return None };
    let mut n = *s;
    n.proxies[p].claim = Claim::Idle;
    let told = s.proxies[p].session == Session::Late;
    if won && s.vouches(p) && s.proxies[p].running {
        n.proxies[p].session = Session::Written;
        n.works[p] = s.proxies[p].conn == s.run;
    } else if !told {
        // The server's lock is given back.
        n.end_session(p);
        n.server_done(p);
    }
    Some(n)
}

fn release(_: &World, s: &State, p: usize) -> Option<State> {
    let me = &s.proxies[p];
    let held = matches!(me.session, Session::Late | Session::Written);
    if !held || !me.running || !s.vouches(p) || me.claim != Claim::Idle {
        return None;
    }
    let mut n = *s;
    if me.conn == s.run {
        n.server_done(p);
    }
    n.proxies[p].session = Session::Idle;
    Some(n)
}

/// The row of a lock that is no more is freed, or that of an incarnation that is CLEAN.
fn free_row(_: &World, s: &State, _: usize) -> Option<State> {
    let mut n = *s;
    if s.holder == 0 || usize::from(s.holder) > D {
        return None;
    }
    let p = process_of(s.holder);
    let mine = s.proxies[p].id == s.holder && s.proxies[p].session == Session::Idle;
    let mine = mine && s.proxies[p].running && !s.works[p];
    if !mine && s.row(s.holder).life != Life::Clean {
        return None;
    }
    n.holder = 0;
    Some(n)
}

/// The client, or the server, ends a session.
fn session_ends(_: &World, s: &State, p: usize) -> Option<State> {
    let mut n = *s;
    if s.proxies[p].session == Session::Idle || !s.proxies[p].running {
        return None;
    }
    n.end_session(p);
    if !s.works[p] {
        n.server_done(p);
    }
    Some(n)
}

fn d_joins(w: &World, s: &State, _: usize) -> Option<State> {
    let mut n = *s;
    if !w.rows || s.rows[D].life != Life::Absent {
        return None;
    }
    n.rows[D] = ProxyRow { life: Life::Live, keeps: false, run: s.run };
    Some(n)
}

/// A renewal of D's shows that no row is late.
fn d_beats(w: &World, s: &State, _: usize) -> Option<State> {
    let mut n = *s;
    let waits = s.read(small(D) + 1).late && w.weak != Weak::RowsNotAwaited;
    if s.rows[D].life != Life::Live || s.d_grants || waits {
        return None;
    }
    n.d_grants = true;
    Some(n)
}

fn d_locks(_: &World, s: &State, _: usize) -> Option<State> {
    let mut n = *s;
    let free = s.holder == 0 || (usize::from(s.holder) <= D && s.row(s.holder).life == Life::Clean);
    if !s.d_grants || s.d_holds || !free {
        return None;
    }
    (n.holder, n.of_run, n.d_holds) = (small(D) + 1, 0, true);
    Some(n)
}

fn d_releases(_: &World, s: &State, _: usize) -> Option<State> {
    let mut n = *s;
    (n.holder, n.d_holds) = (0, false);
    s.d_holds.then_some(n)
}

type Step = (&'static str, usize, fn(&World, &State, usize) -> Option<State>);

const STEPS: &[Step] = &[
    ("tick", 1, tick),
    ("join", NATIVE, join),
    ("beat_sent", NATIVE, beat_sent),
    ("beat_runs", NATIVE, beat_runs),
    ("beat_heard", NATIVE, beat_heard),
    ("fence_if_due", NATIVE, fence_if_due),
    ("dies", NATIVE, dies),
    ("server_notices", NATIVE, server_notices),
    ("revoke", D, revoke),
    ("take_over", D, take_over),
    ("restart", 1, restart),
    ("lock", NATIVE, lock),
    ("confirm", NATIVE, confirm),
    ("tell_late", NATIVE, tell_late),
    ("claim_sent", NATIVE, claim_sent),
    ("claim_runs", NATIVE, claim_runs),
    ("claim_heard", NATIVE, claim_heard),
    ("release", NATIVE, release),
    ("free_row", 1, free_row),
    ("session_ends", NATIVE, session_ends),
    ("d_joins", 1, d_joins),
    ("d_beats", 1, d_beats),
    ("d_locks", 1, d_locks),
    ("d_releases", 1, d_releases),
];

impl Protocol for World {
    type State = State;
    type Broken = Broken;

    /// The proxies of this world are there.
    fn start(&self) -> State {
        let mut state = State { faults: self.faults, ..State::default() };
        for p in 0..NATIVE {
            state.proxies[p].running = true;
            if let Some(joined) = join(self, &state, p) {
                state = joined;
                state.proxies[p].waits = 0;
                if self.ready {
                    let me = &mut state.proxies[p];
                    (me.told, me.allowed, me.rows) = (true, true, false);
                    let id = me.id;
                    state.row_mut(id).keeps = true;
                }
            }
        }
        state
    }

    fn successors(&self, state: &State) -> Vec<(u8, u8, State)> {
        every(STEPS.iter().map(|(_, domain, _)| *domain), |step, arg| {
            let mut next = STEPS[step].2(self, state, arg)?;
            next.inspect();
            Some(next)
        })
    }

    fn broken(&self, state: &State) -> Option<Broken> {
        state.broken
    }

    fn line(&self, step: u8, arg: u8, after: &State) -> String {
        let (name, ..) = STEPS[usize::from(step)];
        let State { run, native, works, ended, holder, d_grants, d_holds, .. } = after;
        let of = |me: Proxy| {
            let Proxy { id, run, left, waits, allowed, session, claim, beat, .. } = me;
            format!(
                "{id} run {run} left {left} waits {waits} allowed {allowed} {session:?} {claim:?} {beat:?}"
            )
        };
        let [a, b] = after.proxies.map(of);
        let lives = after.rows.map(|row| format!("{:?}{}", row.life, u8::from(row.keeps)));
        format!(
            "  {name:<15} {arg} run {run} native {native} works {works:?} ended {ended:?} row {holder} D {d_grants} {d_holds} {lives:?} | {a} | {b}"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// D comes beside proxies whose rows may be late.
    const JOINS: World = World {
        claims: [2, 0],
        incarnations: [1, 0],
        beats: None,
        ready: false,
        rows: true,
        restarts: false,
        faults: 0,
        weak: Weak::Nothing,
    };
    /// A process is killed, or comes back as another incarnation.
    const KILLED: World = World { claims: [1, 0], faults: 1, ..JOINS };
    const RETURNS: World = World { claims: [1, 0], incarnations: [2, 0], ..JOINS };
    /// The server is started again.
    const RESTARTS: World = World {
        claims: [1, 1],
        incarnations: [1, 2],
        beats: Some([0, 3]),
        ready: true,
        rows: false,
        restarts: true,
        ..JOINS
    };

    /// A's lock has its row.
    const WRITTEN: World = World { ready: false, ..RESTARTS };

    const WORLDS: [(&str, World); 5] = [
        ("joins", JOINS),
        ("killed", KILLED),
        ("returns", RETURNS),
        ("restarts", RESTARTS),
        ("written", WRITTEN),
    ];

    #[test]
    fn a_lock_whose_row_is_late_has_one_holder() {
        let mut taken = 0;
        for (name, world) in WORLDS {
            let found = explore(&world);
            report(name, &world, &found);
            assert!(found.broken.is_none(), "{:?}", found.broken);
            taken |= found.taken;
        }
        assert_eq!(idle(STEPS.iter().map(|(name, ..)| *name), taken), [""; 0]);
    }

    #[test]
    fn each_rule_left_out_is_found() {
        for (weak, world) in [
            (Weak::LateBesideRows, JOINS),
            (Weak::LateUntold, JOINS),
            (Weak::ToldTooSoon, JOINS),
            (Weak::RowsNotAwaited, JOINS),
            (Weak::EndedNotCounted, JOINS),
            (Weak::OtherRunIgnored, WRITTEN),
            (Weak::WaitCutShort, RESTARTS),
            (Weak::UnknownConnection, RESTARTS),
        ] {
            let world = World { weak, ..world };
            let found = explore(&world);
            report(&format!("{weak:?}"), &world, &found);
            assert!(found.broken.is_some(), "the model does not notice {weak:?}");
        }
    }
}
