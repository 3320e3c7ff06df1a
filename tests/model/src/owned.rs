//! Owned names: a proxy that owns a name grants it from memory. A model of its own, of rules that the engine does not have yet.
//!
//! Two proxies share one name. A row is owned by an incarnation, which may hand out some tokens above the row's. Which session
//! holds the lock, only the owner knows, and the row may not be up to date. A proxy that wants the name writes that into the
//! row, and the owner writes the grant for it. A proxy that takes the row of an owner that is gone begins above those tokens. In mode durable a silent owner keeps its names until its lease is over. In mode coexist the server's
//! own lock excludes, and a shorter lease decides whose tokens count: the *own lease*, renewed by a counter that is bound
//! to a *generation*.
//!
//! Statements and the own lease's renewals take any time on their way, and so do their answers. The long lease is one step
//! here, since its packets are in the first model. Answers that are lost are there, too.

use super::explore::{Protocol, every};

mod statements;
mod worlds;

use statements::{
    send_claim, send_give_back, send_grant, send_promise, send_read, send_release, send_show,
    send_want, send_withdraw, statement_heard, statement_runs,
};

/// Ticks of the lease.
const LEASE: u8 = 2;
/// Ticks of the own lease.
const OWN: u8 = 1;
/// How often an incarnation may be outvoted.
const GENERATIONS: u8 = 1;
/// Tokens above the row's last one that its owner may hand out.
const WINDOW: u8 = 2;
/// After this token no grant is written, so that the search ends.
const TOKENS: u8 = 8;
const PROXIES: usize = 2;
/// Incarnations, two a proxy; 0 means none.
const INCARNATIONS: usize = 4;

/// A rule left out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Weak {
    /// The protocol as it should be.
    Nothing,
    /// What is owned outlives the incarnation.
    KeptPastTheDeadline,
    /// Tokens are granted from memory though the own lease is over.
    WindowAfterOwnLease,
    /// The generation is raised whether or not the counter has moved on.
    TakenWithoutCompare,
    /// A renewal of the own lease counts in any generation.
    RenewedInAnyGeneration,
    /// The generation is raised after one reading.
    TakenAfterOneReading,
    /// An answer counts though the generation was raised since the question.
    AnswerOfAGenerationBefore,
    /// A row that shows no holder is taken from a proxy that keeps locks by rows, when it is silent for a while.
    TakenByItsLooks,
    /// The own lease counts though one of the two keeps locks by rows alone.
    OwnLeaseBesideRows,
    /// The owner grants while its promise to another proxy is on its way.
    GrantsWhatIsPromised,
    /// The tokens of the one that takes the row of an owner that is gone begin above the row's, not above the window.
    WindowUsedAgain,
    /// The row of an owner that is gone is freed with its token as it is.
    SweptWithoutWindow,
    /// The owner gives the name away with the row's token, not with the last one that it has handed out.
    LastTokenForgotten,
    /// The owner's promise does not ask whether the other proxy is live.
    PromisedToTheDead,
    /// A proxy whose client gives up forgets that it has asked for the name.
    ForgetsThatItAsked,
    /// A question whether the lock is free is answered from a row that may not be up to date.
    AnswersFromTheRow,
    /// A lock is given back in memory though its row says that each change is written first.
    ReleasesBehindTheRow,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
enum Life {
    #[default]
    Absent,
    Live,
    /// Nobody works for it any more.
    Clean,
}

/// A row of `proxies`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
struct ProxyRow {
    life: Life,
    counter: u8,
    generation: u8,
}

/// The row of the name.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
struct LockRow {
    holder: u8,
    /// The last token that was written. (holder, tok) is one ownership.
    tok: u8,
    /// Whether a session is shown as the holder, under that token.
    shown: bool,
    /// The holder's attempt that was granted with the ownership.
    grant: u8,
    /// The owner writes each change before it answers a client.
    exact: bool,
    /// The incarnation that wants the name, and its attempt.
    want: u8,
    attempt: u8,
}

/// A statement on the name's row.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Statement {
    /// Takes a row that is free, this incarnation's own, or that of one that is CLEAN or was outvoted.
    Claim {
        outvoted: u8,
    },
    /// Writes into the row that this incarnation wants it.
    Want,
    /// Takes that back.
    Withdraw,
    Read,
    /// The grant of the proxy that wants the name.
    Promise {
        tok: u8,
        last: u8,
        to: u8,
        attempt: u8,
    },
    GiveBack {
        tok: u8,
        last: u8,
    },
    /// Which session holds the lock, if any, and whether the row is exact from now on. The window moves on.
    Show {
        tok: u8,
        last: u8,
        held: bool,
        exact: bool,
    },
    /// A grant that is written.
    Grant {
        tok: u8,
        token: u8,
    },
}

impl Statement {
    /// Whether it gives the name away.
    fn gives_away(self) -> bool {
        matches!(self, Self::Promise { .. } | Self::GiveBack { .. })
    }
}

/// Who asks, when, and what.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Sent {
    statement: Statement,
    by: u8,
    generation: u8,
    attempt: u8,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
enum Pipe {
    #[default]
    Idle,
    Sent(Sent),
    /// Carried out: whether it changed the row, and the row then.
    Done(Sent, bool, LockRow),
}

/// A renewal of the own lease.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
enum Beat {
    #[default]
    Idle,
    Sent {
        by: u8,
        generation: u8,
        age: u8,
    },
    /// Carried out: whether it succeeded, and the row's generation then.
    Done {
        by: u8,
        succeeded: bool,
        generation: u8,
        age: u8,
    },
}

/// What a proxy has read of the owner, and for how long nothing of it has changed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
struct Seen {
    holder: u8,
    tok: u8,
    counter: u8,
    generation: u8,
    age: u8,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
enum Client {
    #[default]
    Idle,
    Waits,
    /// Told that it has the lock, with this token.
    Holds(u8),
    /// Has asked for the release, which is written.
    Leaves,
}

/// What an owner knows of its row.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
struct Owned {
    /// The token of the row.
    tok: u8,
    /// The last token that was handed out, or that another one may have used.
    last: u8,
    /// The row says that each change is written.
    exact: bool,
}

impl Owned {
    /// Others may have gone on above the window: the next grant must be written.
    fn spent(tok: u8) -> Self {
        Self { tok, last: tok + WINDOW, exact: false }
    }

    /// Whether a token is left for a grant from memory.
    fn has_room(self) -> bool {
        self.last < self.tok + WINDOW
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
struct Proxy {
    running: bool,
    id: u8,
    used: u8,
    /// Ticks until the deadline.
    left: u8,
    /// Ticks without a renewal by the other one.
    silent: u8,
    generation: u8,
    /// Ticks until the end of the own lease.
    own: u8,
    beat: Beat,
    beats: u8,
    seen: Seen,
    /// The token of the row whose owner was outvoted.
    outvoted: u8,
    owns: Option<Owned>,
    /// The row may name this incarnation as the next owner.
    asked: bool,
    attempt: u8,
    client: Client,
    claims: u8,
    pipe: Pipe,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
enum Question {
    #[default]
    None,
    /// Asked by B. Whether A's client has held the lock all the time since, and whether nobody has.
    Asked { held: bool, free: bool },
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
struct State {
    lock: LockRow,
    rows: [ProxyRow; INCARNATIONS],
    proxies: [Proxy; PROXIES],
    /// The proxy whose client has the server's own lock, counted from 1.
    native: u8,
    /// B asks whether the lock is free.
    question: Question,
    questions: u8,
    /// Processes that may be killed, answers that may be lost.
    faults: u8,
    greatest: u8,
    broken: Option<Broken>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Broken {
    TwoHolders,
    TokenNotGreater,
    /// A row names an incarnation that does not know of it, or that is no more.
    OwnedByNobody,
    /// "Free" was the answer, and a client of the other proxy held the lock all the time.
    FalselyFree,
    /// "Held" was the answer, and no client had the lock at any time since the question.
    FalselyHeld,
    /// A row passes from an incarnation that is live, and has not given it away.
    TakenFromTheLiving,
}

#[derive(Clone, Copy, Debug)]
struct World {
    native: [bool; PROXIES],
    claims: [u8; PROXIES],
    incarnations: [u8; PROXIES],
    /// Renewals of the own lease that each may send.
    beats: [u8; PROXIES],
    /// A proxy whose lease is always renewed in time.
    steady: [bool; PROXIES],
    /// Whether clients give up waiting.
    gives_up: bool,
    questions: u8,
    faults: u8,
    weak: Weak,
    /// Another rule that breaks is forgotten.
    watched: Option<Broken>,
}

impl Proxy {
    /// What a claimant has read of the owner concerns no other one.
    fn waits_no_more(&mut self) {
        (self.client, self.seen, self.outvoted) = (Client::Idle, Seen::default(), 0);
    }
}

fn process_of(id: u8) -> usize {
    usize::from(id - 1) / 2
}

impl World {
    /// Whether a shorter lease decides between two incarnations.
    fn own_lease(&self, one: u8, other: u8) -> bool {
        let native = |id| self.native[process_of(id)];
        native(one) && native(other) || self.weak == Weak::OwnLeaseBesideRows
    }
}

impl State {
    fn row(&self, id: u8) -> &ProxyRow {
        &self.rows[usize::from(id - 1)]
    }

    fn row_mut(&mut self, id: u8) -> &mut ProxyRow {
        &mut self.rows[usize::from(id - 1)]
    }

    fn is_live(&self, id: u8) -> bool {
        id != 0 && self.row(id).life == Life::Live
    }

    /// Whether an incarnation's locks are certainly held.
    fn vouches(&self, p: usize) -> bool {
        let me = &self.proxies[p];
        me.running && me.id != 0 && me.left > 0
    }

    fn granted(&mut self, token: u8) {
        if token <= self.greatest {
            self.broken = self.broken.or(Some(Broken::TokenNotGreater));
        }
        self.greatest = self.greatest.max(token);
    }

    /// A client lost the lock, or gave it back.
    fn let_go(&mut self, p: usize) {
        if usize::from(self.native) == p + 1 {
            self.native = 0;
        }
        if p == 0
            && let Question::Asked { held, .. } = &mut self.question
        {
            *held = false;
        }
    }

    fn inspect(&mut self) {
        let holds = self.proxies.iter().any(|it| matches!(it.client, Client::Holds(_)));
        if let Question::Asked { free, .. } = &mut self.question {
            *free &= !holds;
        }
        let certain =
            |p: usize| self.vouches(p) && matches!(self.proxies[p].client, Client::Holds(_));
        let two = certain(0) && certain(1);
        let LockRow { holder, .. } = self.lock;
        let unknown = (0..PROXIES).any(|p| {
            let me = &self.proxies[p];
            self.vouches(p)
                && me.id == holder
                && me.owns.is_none()
                && !me.asked
                && me.pipe == Pipe::Idle
        });
        let nobody = holder != 0 && (self.row(holder).life == Life::Absent || unknown);
        if two {
            self.broken = self.broken.or(Some(Broken::TwoHolders));
        } else if nobody {
            self.broken = self.broken.or(Some(Broken::OwnedByNobody));
        }
    }
}

fn tick(w: &World, s: &State, _: usize) -> Option<State> {
    let mut n = *s;
    for (p, me) in n.proxies.iter_mut().enumerate() {
        if !w.steady[p] {
            me.left = me.left.saturating_sub(1);
        }
        me.own = me.own.saturating_sub(1);
        me.silent = (me.silent + u8::from(me.id != 0)).min(LEASE);
        if let Beat::Sent { age, .. } | Beat::Done { age, .. } = &mut me.beat {
            *age = (*age + 1).min(OWN);
        }
        if me.seen.holder != 0 {
            me.seen.age = (me.seen.age + 1).min(OWN);
        }
    }
    if w.steady[0] {
        n.proxies[1].silent = 0;
    }
    if w.steady[1] {
        n.proxies[0].silent = 0;
    }
    (n != *s).then_some(n)
}

fn join(w: &World, s: &State, p: usize) -> Option<State> {
    let me = &s.proxies[p];
    if me.id != 0 || me.used == w.incarnations[p] {
        return None;
    }
    let mut n = *s;
    let me = &mut n.proxies[p];
    (me.running, me.used, me.left) = (true, me.used + 1, LEASE);
    me.id = u8::try_from(p).ok()? * 2 + me.used;
    (me.silent, me.generation, me.own) = (0, 0, 0);
    let id = me.id;
    n.proxies[1 - p].silent = 0;
    n.row_mut(id).life = Life::Live;
    Some(n)
}

/// `Keeper::renew`.
fn renew(_: &World, s: &State, p: usize) -> Option<State> {
    let mut n = *s;
    (n.proxies[p].left, n.proxies[1 - p].silent) = (LEASE, 0);
    (s.proxies[p].running && s.is_live(s.proxies[p].id) && n != *s).then_some(n)
}

/// At the deadline a proxy forgets all that it owns, and its sessions with locks are closed.
fn fence_if_due(w: &World, s: &State, p: usize) -> Option<State> {
    let me = s.proxies[p];
    if me.id == 0 || me.left > 0 {
        return None;
    }
    let mut n = *s;
    n.forget(w, p);
    Some(n)
}

impl State {
    fn forget(&mut self, w: &World, p: usize) {
        self.let_go(p);
        let Proxy { running, used, claims, attempt, pipe, beat, beats, owns, .. } = self.proxies[p];
        let owns = owns.filter(|_| w.weak == Weak::KeptPastTheDeadline);
        let none = Proxy::default();
        self.proxies[p] = Proxy { running, used, beat, beats, owns, attempt, claims, pipe, ..none };
    }
}

/// kill -9. What was sent goes on.
fn dies(w: &World, s: &State, p: usize) -> Option<State> {
    let mut n = *s;
    n.faults = s.faults.checked_sub(1)?;
    n.forget(w, p);
    n.proxies[p].running = false;
    n.proxies[p].owns = None;
    s.proxies[p].running.then_some(n)
}

/// `Keeper::revoke` and the takeover: silent for its lease, or proved to be gone.
fn take_over(_: &World, s: &State, p: usize) -> Option<State> {
    let (me, other) = (&s.proxies[p], &s.proxies[1 - p]);
    let ids = [1, 2].map(|n| u8::try_from(1 - p).unwrap_or_default() * 2 + n);
    let over = |id: &u8| s.is_live(*id) && (me.silent >= LEASE || other.id != *id);
    let id = ids.into_iter().find(over)?;
    let mut n = *s;
    n.row_mut(id).life = Life::Clean;
    (s.vouches(p) && s.is_live(me.id)).then_some(n)
}

/// `StoreConnection::sweep_clean`.
fn sweep(w: &World, s: &State, p: usize) -> Option<State> {
    let id = (1..).zip(s.rows).find(|(_, row)| row.life == Life::Clean)?.0;
    let mut n = *s;
    if s.lock.holder == id {
        (n.lock.holder, n.lock.shown, n.lock.exact) = (0, false, false);
        n.lock.tok += if w.weak == Weak::SweptWithoutWindow { 0 } else { WINDOW };
    }
    n.row_mut(id).life = Life::Absent;
    s.vouches(p).then_some(n)
}

/// A renewal of the own lease is sent.
fn beat_sent(w: &World, s: &State, p: usize) -> Option<State> {
    let me = &s.proxies[p];
    if !s.vouches(p) || !w.native[p] || me.beat != Beat::Idle || me.beats == w.beats[p] {
        return None;
    }
    let mut n = *s;
    n.proxies[p].beats += 1;
    n.proxies[p].beat = Beat::Sent { by: me.id, generation: me.generation, age: 0 };
    Some(n)
}

fn beat_runs(w: &World, s: &State, p: usize) -> Option<State> {
    let Beat::Sent { by, generation, age } = s.proxies[p].beat else { return None };
    let mut n = *s;
    let row = n.row_mut(by);
    let bound = row.generation == generation || w.weak == Weak::RenewedInAnyGeneration;
    let succeeded = row.life == Life::Live && bound;
    row.counter += u8::from(succeeded);
    let generation = row.generation;
    n.proxies[p].beat = Beat::Done { by, succeeded, generation, age };
    Some(n)
}

/// A renewal that failed says that another proxy has outvoted this one.
fn beat_heard(_: &World, s: &State, p: usize) -> Option<State> {
    let Beat::Done { by, succeeded, generation, age } = s.proxies[p].beat else { return None };
    let mut n = *s;
    let me = &mut n.proxies[p];
    me.beat = Beat::Idle;
    if me.id == by && succeeded {
        me.own = me.own.max(OWN - age);
    } else if me.id == by {
        // Another one may have taken the name and granted tokens above the window: what is left of it, is void.
        (me.owns, me.own, me.generation) =
            (me.owns.map(|it| Owned { exact: it.exact, ..Owned::spent(it.tok) }), 0, generation);
    }
    Some(n)
}

/// A claimant reads the row, and its owner's.
fn observe(w: &World, s: &State, p: usize) -> Option<State> {
    let me = &s.proxies[p];
    let LockRow { holder, tok, .. } = s.lock;
    let other = holder != 0 && s.is_live(holder) && holder != me.id;
    if !s.vouches(p) || me.client != Client::Waits || !other || !w.own_lease(me.id, holder) {
        return None;
    }
    let ProxyRow { counter, generation, .. } = *s.row(holder);
    let seen = Seen { holder, tok, counter, generation, age: me.seen.age };
    let mut n = *s;
    n.proxies[p].seen = Seen { age: if seen == me.seen { seen.age } else { 0 }, ..seen };
    (n != *s).then_some(n)
}

/// The generation is raised, if neither it nor the counter has moved on. What the owner of before had, may be taken.
fn outvote(w: &World, s: &State, p: usize) -> Option<State> {
    let me = &s.proxies[p];
    let Seen { holder, tok, counter, generation, age } = me.seen;
    let row = *s.row(if holder == 0 { return None } else { holder });
    let early = age < OWN && w.weak != Weak::TakenAfterOneReading;
    if !s.vouches(p) || early || row.generation == GENERATIONS {
        return None;
    }
    let same = row.counter == counter || w.weak == Weak::TakenWithoutCompare;
    let mut n = *s;
    n.proxies[p].seen = Seen::default();
    if row.life == Life::Live && row.generation == generation && same {
        n.row_mut(holder).generation += 1;
        n.proxies[p].outvoted = tok;
    }
    Some(n)
}

/// GET_LOCK. In coexist the server grants its own lock first.
fn claim(w: &World, s: &State, p: usize) -> Option<State> {
    let me = &s.proxies[p];
    if me.id == 0 || !me.running || me.client != Client::Idle || me.claims == w.claims[p] {
        return None;
    }
    let mut n = *s;
    if w.native[p] {
        n.native = u8::try_from(p).ok().filter(|_| s.native == 0)? + 1;
    }
    (n.proxies[p].claims, n.proxies[p].attempt) = (me.claims + 1, me.attempt + 1);
    n.proxies[p].client = Client::Waits;
    Some(n)
}

fn give_up(w: &World, s: &State, p: usize) -> Option<State> {
    let waits = w.gives_up && s.proxies[p].client == Client::Waits && s.proxies[p].running;
    let mut n = *s;
    n.let_go(p);
    n.proxies[p].waits_no_more();
    if w.weak == Weak::ForgetsThatItAsked {
        n.proxies[p].asked = false;
    }
    waits.then_some(n)
}

/// A grant from memory.
fn grant_inside(w: &World, s: &State, p: usize) -> Option<State> {
    let me = &s.proxies[p];
    let owned = me.owns?;
    let token = owned.last + 1;
    let leased = !w.native[p] || me.own > 0 || w.weak == Weak::WindowAfterOwnLease;
    let under_way = match me.pipe {
        Pipe::Sent(sent) | Pipe::Done(sent, ..) => Some(sent.statement),
        Pipe::Idle => None,
    };
    let promised = under_way.is_some_and(Statement::gives_away);
    let promised = promised && w.weak != Weak::GrantsWhatIsPromised;
    let written = matches!(under_way, Some(Statement::Grant { .. }));
    let busy = promised || written || s.is_exact(p);
    if me.client != Client::Waits || !s.vouches(p) || !leased || busy || !owned.has_room() {
        return None;
    }
    let mut n = *s;
    n.granted(token);
    n.proxies[p].owns = Some(Owned { last: token, ..owned });
    n.proxies[p].client = Client::Holds(token);
    Some(n)
}

impl State {
    /// Whether each change of a name is written first.
    fn is_exact(&self, p: usize) -> bool {
        let me = &self.proxies[p];
        let (Pipe::Sent(sent) | Pipe::Done(sent, ..)) = me.pipe else {
            return me.owns.is_some_and(|it| it.exact);
        };
        matches!(sent.statement, Statement::Show { exact: true, .. })
            || me.owns.is_some_and(|it| it.exact)
    }
}

/// RELEASE_LOCK: the name stays owned.
fn release(w: &World, s: &State, p: usize) -> Option<State> {
    let holds = matches!(s.proxies[p].client, Client::Holds(_)) && s.proxies[p].running;
    let holds = holds && (!s.is_exact(p) || w.weak == Weak::ReleasesBehindTheRow);
    let mut n = *s;
    n.let_go(p);
    n.proxies[p].waits_no_more();
    holds.then_some(n)
}

/// IS_FREE_LOCK at B.
fn question(_: &World, s: &State, _: usize) -> Option<State> {
    let mut n = *s;
    n.questions = s.questions.checked_sub(1)?;
    let held = s.vouches(0) && matches!(s.proxies[0].client, Client::Holds(_));
    let free = s.proxies.iter().all(|it| matches!(it.client, Client::Idle | Client::Waits));
    n.question = Question::Asked { held, free };
    (s.vouches(1) && s.question == Question::None).then_some(n)
}

/// Of a row that is not exact, only the owner knows whether the lock is free.
fn answer(w: &World, s: &State, _: usize) -> Option<State> {
    let Question::Asked { held, free } = s.question else { return None };
    let LockRow { holder, shown, exact, .. } = s.lock;
    let theirs = s.is_live(holder) && process_of(holder) == 0;
    let says = theirs && (exact && shown || w.weak == Weak::AnswersFromTheRow);
    let mut n = *s;
    n.question = Question::None;
    if !(theirs && shown) && held && s.vouches(0) {
        n.broken = n.broken.or(Some(Broken::FalselyFree));
    }
    // The lock of an owner that is silent counts as held.
    let present = s.vouches(0) && s.proxies[0].id == holder;
    if theirs && shown && free && present {
        n.broken = n.broken.or(Some(Broken::FalselyHeld));
    }
    (s.vouches(1) && (!theirs || says)).then_some(n)
}

type Step = (&'static str, usize, fn(&World, &State, usize) -> Option<State>);

const STEPS: &[Step] = &[
    ("tick", 1, tick),
    ("join", PROXIES, join),
    ("renew", PROXIES, renew),
    ("fence_if_due", PROXIES, fence_if_due),
    ("dies", PROXIES, dies),
    ("take_over", PROXIES, take_over),
    ("sweep", PROXIES, sweep),
    ("beat_sent", PROXIES, beat_sent),
    ("beat_runs", PROXIES, beat_runs),
    ("beat_heard", PROXIES, beat_heard),
    ("observe", PROXIES, observe),
    ("outvote", PROXIES, outvote),
    ("claim", PROXIES, claim),
    ("give_up", PROXIES, give_up),
    ("grant_inside", PROXIES, grant_inside),
    ("release", PROXIES, release),
    ("send_claim", PROXIES, send_claim),
    ("send_want", PROXIES, send_want),
    ("send_read", PROXIES, send_read),
    ("send_withdraw", PROXIES, send_withdraw),
    ("send_promise", PROXIES, send_promise),
    ("send_give_back", PROXIES, send_give_back),
    ("send_release", PROXIES, send_release),
    ("send_show", PROXIES, send_show),
    ("send_grant", PROXIES, send_grant),
    ("statement_runs", PROXIES, statement_runs),
    ("statement_heard", PROXIES, statement_heard),
    ("question", 1, question),
    ("answer", 1, answer),
];

impl Protocol for World {
    type State = State;
    type Broken = Broken;

    /// Both proxies are there, and A owns nothing yet.
    fn start(&self) -> State {
        let World { questions, faults, .. } = *self;
        let mut state = State { questions, faults, ..State::default() };
        for p in 0..PROXIES {
            state = join(self, &state, p).expect("it registers");
        }
        state
    }

    fn successors(&self, state: &State) -> Vec<(u8, u8, State)> {
        every(STEPS.iter().map(|(_, domain, _)| *domain), |step, arg| {
            let mut next = STEPS[step].2(self, state, arg)?;
            next.inspect();
            next.broken = next.broken.filter(|it| self.watched.is_none_or(|one| one == *it));
            Some(next)
        })
    }

    fn broken(&self, state: &State) -> Option<Broken> {
        state.broken
    }

    fn line(&self, step: u8, arg: u8, after: &State) -> String {
        let (name, ..) = STEPS[usize::from(step)];
        let who = ["A", "B"][usize::from(arg)];
        let LockRow { holder, tok, shown, want, .. } = after.lock;
        let of = |me: Proxy| {
            let Proxy { id, left, own, generation, client, .. } = me;
            let owned = me.owns.map_or(<_>::default(), |it| format!(" {}..{}", it.tok, it.last));
            let pipe = match me.pipe {
                Pipe::Idle => String::new(),
                Pipe::Sent(sent) => format!(" sends {:?}", sent.statement),
                Pipe::Done(sent, won, _) => format!(" won {won} {:?}", sent.statement),
            };
            format!("{id} left {left}/{own} gen {generation} {client:?}{owned}{pipe}")
        };
        let [a, b] = after.proxies.map(of);
        format!("  {name:<15} {who} row {holder}/{tok} shown {shown} want {want} | {a} | {b}")
    }
}
