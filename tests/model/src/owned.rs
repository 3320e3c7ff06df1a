//! Owned names: a proxy that owns a name grants it from memory. A model of its own.
//!
//! Two proxies in mode durable share one name. An incarnation owns the row, and may hand out some tokens above the
//! row's. Only the owner knows which session holds the lock, since the row may not be up to date. A proxy that wants
//! the name writes that into the row, and the owner writes the grant for it: a rule that is not built yet. A silent
//! owner keeps its names until its lease is over. The proxy that takes the row then begins above those tokens.
//!
//! Statements take any time on their way, and so do their answers. The lease is one step here, since its packets are
//! in the first model. Answers that are lost are there, too.

use super::explore::{Protocol, every};

mod statements;
mod worlds;

use statements::{
    send_claim, send_give_back, send_grant, send_promise, send_read, send_release, send_show,
    send_want, send_withdraw, statement_heard, statement_runs,
};

/// Ticks of the lease.
const LEASE: u8 = 2;
/// Tokens above the row's last one that its owner may hand out.
const WINDOW: u8 = 2;
/// After this token no grant is written, so that the search ends.
const TOKENS: u8 = 8;
const PROXIES: usize = 2;
/// Incarnations, two a proxy, counted from 1; 0 means none.
const INCARNATIONS: usize = 4;

/// A rule left out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Weak {
    /// The protocol as it should be.
    Nothing,
    /// What is owned outlives the incarnation.
    KeptPastTheDeadline,
    /// A row that shows no holder is taken from a proxy that is silent for a while.
    TakenByItsLooks,
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
    /// Takes a row that is free, this incarnation's own, or that of one that is CLEAN.
    Claim,
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
    /// The last token that was handed out.
    last: u8,
    /// The row says that each change is written.
    exact: bool,
}

impl Owned {
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
    lives: [Life; 1 + INCARNATIONS],
    proxies: [Proxy; PROXIES],
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
    claims: [u8; PROXIES],
    incarnations: [u8; PROXIES],
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

fn process_of(id: u8) -> usize {
    usize::from(id - 1) / 2
}

impl State {
    fn is_live(&self, id: u8) -> bool {
        self.lives[usize::from(id)] == Life::Live
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
        let gone = self.lives[usize::from(holder)] == Life::Absent;
        let nobody = holder != 0 && (gone || unknown);
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
        me.silent = (me.silent + u8::from(me.id != 0)).min(LEASE);
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
    me.silent = 0;
    let id = me.id;
    n.proxies[1 - p].silent = 0;
    n.lives[usize::from(id)] = Life::Live;
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
        let Proxy { running, used, claims, attempt, pipe, owns, .. } = self.proxies[p];
        let owns = owns.filter(|_| w.weak == Weak::KeptPastTheDeadline);
        let none = Proxy::default();
        self.proxies[p] = Proxy { running, used, owns, attempt, claims, pipe, ..none };
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
    n.lives[usize::from(id)] = Life::Clean;
    (s.vouches(p) && s.is_live(me.id)).then_some(n)
}

/// `StoreConnection::sweep_clean`.
fn sweep(w: &World, s: &State, p: usize) -> Option<State> {
    let id = (0..).zip(s.lives).find(|(_, life)| *life == Life::Clean)?.0;
    let mut n = *s;
    if s.lock.holder == id {
        (n.lock.holder, n.lock.shown, n.lock.exact) = (0, false, false);
        n.lock.tok += if w.weak == Weak::SweptWithoutWindow { 0 } else { WINDOW };
    }
    n.lives[usize::from(id)] = Life::Absent;
    s.vouches(p).then_some(n)
}

/// GET_LOCK.
fn claim(w: &World, s: &State, p: usize) -> Option<State> {
    let me = &s.proxies[p];
    if me.id == 0 || !me.running || me.client != Client::Idle || me.claims == w.claims[p] {
        return None;
    }
    let mut n = *s;
    (n.proxies[p].claims, n.proxies[p].attempt) = (me.claims + 1, me.attempt + 1);
    n.proxies[p].client = Client::Waits;
    Some(n)
}

fn give_up(w: &World, s: &State, p: usize) -> Option<State> {
    let waits = w.gives_up && s.proxies[p].client == Client::Waits && s.proxies[p].running;
    let mut n = *s;
    n.let_go(p);
    n.proxies[p].client = Client::Idle;
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
    let under_way = match me.pipe {
        Pipe::Sent(sent) | Pipe::Done(sent, ..) => Some(sent.statement),
        Pipe::Idle => None,
    };
    let promised = under_way.is_some_and(Statement::gives_away);
    let promised = promised && w.weak != Weak::GrantsWhatIsPromised;
    let written = matches!(under_way, Some(Statement::Grant { .. }));
    let busy = promised || written || s.is_exact(p);
    if me.client != Client::Waits || !s.vouches(p) || busy || !owned.has_room() {
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
    n.proxies[p].client = Client::Idle;
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
            let Proxy { id, left, client, .. } = me;
            let owned = me.owns.map_or(<_>::default(), |it| format!(" {}..{}", it.tok, it.last));
            let pipe = match me.pipe {
                Pipe::Idle => String::new(),
                Pipe::Sent(sent) => format!(" sends {:?}", sent.statement),
                Pipe::Done(sent, won, _) => format!(" won {won} {:?}", sent.statement),
            };
            format!("{id} left {left} {client:?}{owned}{pipe}")
        };
        let [a, b] = after.proxies.map(of);
        format!("  {name:<15} {who} row {holder}/{tok} shown {shown} want {want} | {a} | {b}")
    }
}
