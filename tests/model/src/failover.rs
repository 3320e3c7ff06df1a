//! Another server becomes the primary: epochs, their grace, and holders that carry a lock along, as a model of its own.
//!
//! Two servers, of which one is the primary. The other has a copy of the tables as they once were, so what was written
//! later is lost when it becomes the primary. The former one may come back as it was. The former primary takes no
//! writes. Two proxies with one incarnation each share one lock; one of them may register at any time. That packets
//! take their time is in the other model. `engine::lease::keeper`, `store::succession`.

use super::explore::{Protocol, every, explore, idle, tell};

/// Ticks of a lease.
const LEASE: u8 = 2;
const PROXIES: usize = 2;
/// Tokens of an epoch.
const TOKENS: u8 = 8;
/// Tokens above the row's that the owner of a name may hand out.
const WINDOW: u8 = 1;

/// A rule left out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Weak {
    /// The protocol as it should be.
    Nothing,
    /// Locks are granted at once in a new epoch.
    NoGrace,
    /// The lease is renewed in the new epoch, and no row is written.
    RenewWithoutReclaim,
    /// The tokens of an epoch begin where those of the copy end.
    TokenWithoutEpoch,
    /// An epoch is opened only where meta names another server.
    IdentityAlone,
    /// A lock is carried along whether or not the deadline has passed.
    ReclaimTooLate,
    /// The grace counts from the opening by this process's former epoch: a second failover does not begin it again.
    GraceGoesOn,
    /// The grace ends when all registered proxies have come, though a registration may be lost.
    EarlyEnd,
    /// A name that is owned, and that no session holds, is carried along like a lock.
    IdleNamesAsHeld,
    /// Tokens above the row's are handed out past the deadline.
    WindowPastTheDeadline,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
enum Life {
    #[default]
    Absent,
    Live,
    /// DEAD and CLEAN: nobody works for it any more.
    Over,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
struct Row {
    life: Life,
    epoch: u8,
}

/// The lock tables of a server.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
struct Tables {
    ident: u8,
    epoch: u8,
    base: u8,
    grace: bool,
    rows: [Row; PROXIES],
    tok: u8,
    holder: u8,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
struct Proxy {
    /// The incarnation; 0: none.
    id: u8,
    /// The incarnation was registered.
    used: bool,
    epoch: u8,
    known: u8,
    /// Ticks until the deadline.
    left: u8,
    /// Ticks until the first grant.
    wait: u8,
    /// Token of the lock that a client has; 0: it has none.
    holds: u8,
    /// The token of the row that this one owns, above which it may hand out [`WINDOW`] tokens; 0: none.
    owns: u8,
    /// The next of them.
    next: u8,
    /// Ticks without a renewal by the other one, as far as this one watches.
    silent: u8,
    /// The incarnation came into its epoch from the one before.
    came: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
struct State {
    primary: u8,
    servers: [Tables; 2],
    proxies: [Proxy; PROXIES],
    failovers: u8,
    grants: u8,
    greatest: u8,
    broken: Option<Broken>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Broken {
    TwoHolders,
    TokenNotGreater,
    /// The row names an incarnation of this epoch that neither holds nor owns the lock.
    HeldByNobody,
}

#[derive(Clone, Copy, Debug)]
struct World {
    failovers: u8,
    grants: u8,
    weak: Weak,
    /// Nothing that was acknowledged is lost: the servers are one cluster.
    lossless: bool,
    /// Names may stay owned.
    owned: bool,
    /// Another rule that breaks is forgotten.
    watched: Option<Broken>,
}

fn index(id: u8) -> usize {
    usize::from(id - 1)
}

impl State {
    fn start(world: World) -> Self {
        let tables = Tables { epoch: 1, base: TOKENS, ..Tables::default() };
        let mut state = Self {
            servers: [tables; 2],
            failovers: world.failovers,
            grants: world.grants,
            ..Self::default()
        };
        state = join(world, &state, 0).expect("it registers");
        state.proxies[0].wait = 0;
        state
    }

    fn tables(&self) -> &Tables {
        &self.servers[usize::from(self.primary)]
    }

    fn tables_mut(&mut self) -> &mut Tables {
        &mut self.servers[usize::from(self.primary)]
    }

    /// Whether a proxy knows of a later epoch than the primary's.
    fn knows_a_later_epoch(&self, w: World, p: usize) -> bool {
        self.tables().epoch < self.proxies[p].known && w.weak != Weak::IdentityAlone
    }

    /// Whether a proxy's incarnation writes at the primary: by the guard of batches, and by what it knows.
    fn may_write(&self, w: World, p: usize) -> bool {
        let (me, tables) = (&self.proxies[p], self.tables());
        let row = |id: u8| tables.rows[index(id)];
        me.id != 0
            && !self.knows_a_later_epoch(w, p)
            && tables.ident == self.primary
            && tables.epoch == me.epoch
            && row(me.id) == Row { life: Life::Live, epoch: me.epoch }
    }

    fn heard_of(&mut self, p: usize) {
        let epoch = self.tables().epoch;
        let known = &mut self.proxies[p].known;
        *known = epoch.max(*known);
    }

    fn inspect(&mut self, watched: Option<Broken>) {
        let certain = self.proxies.iter().filter(|me| me.id != 0 && me.holds != 0 && me.left > 0);
        if certain.count() > 1 {
            self.broken = self.broken.or(Some(Broken::TwoHolders));
        }
        let Tables { ident, epoch, holder, .. } = *self.tables();
        let nobody = |me: &Proxy| {
            me.id != 0 && me.id == holder && me.epoch == epoch && me.holds == 0 && me.owns == 0
        };
        if ident == self.primary && self.proxies.iter().any(nobody) {
            self.broken = self.broken.or(Some(Broken::HeldByNobody));
        }
        self.broken = self.broken.filter(|broken| watched.is_none_or(|one| one == *broken));
    }

    fn note_grant(&mut self, token: u8) {
        if token <= self.greatest {
            self.broken = Some(Broken::TokenNotGreater);
        }
        self.greatest = token.max(self.greatest);
    }

    fn fence(&mut self, p: usize) {
        let Proxy { used, known, .. } = self.proxies[p];
        self.proxies[p] = Proxy { used, known, ..Proxy::default() };
    }
}

fn tick(_: World, s: &State, _: usize) -> Option<State> {
    let mut n = *s;
    for me in &mut n.proxies {
        me.left = me.left.saturating_sub(1);
        me.wait = me.wait.saturating_sub(1);
        me.silent = (me.silent + u8::from(me.id != 0)).min(LEASE);
    }
    (n != *s).then_some(n)
}

/// The other server has all that was written. A former primary is not overwritten before a proxy has been at the next
/// one: by nothing could it be known from the server that it was.
fn replicate(_: World, s: &State, _: usize) -> Option<State> {
    let mut n = *s;
    n.servers[usize::from(1 - s.primary)] = *s.tables();
    (n != *s && s.tables().ident == s.primary).then_some(n)
}

/// The primary takes no writes any more, the other one does, and the proxies' address leads there. A former primary
/// that comes back as it was must be known as one: by all proxies here (docs/failover.md).
fn fail_over(w: World, s: &State, _: usize) -> Option<State> {
    let mut n = *s;
    n.failovers = s.failovers.checked_sub(1)?;
    n.primary = 1 - s.primary;
    if w.lossless {
        *n.tables_mut() = *s.tables();
    }
    let latest = s.servers.iter().map(|tables| tables.epoch).max();
    let former = n.tables().ident == n.primary;
    let known = s.proxies.iter().all(|me| me.used && Some(me.known) == latest);
    (!former || known).then_some(n)
}

fn join(w: World, s: &State, p: usize) -> Option<State> {
    let mut n = *s;
    n.heard_of(p);
    let tables = *s.tables();
    let me = &mut n.proxies[p];
    if me.id != 0 || me.used || tables.ident != s.primary || s.knows_a_later_epoch(w, p) {
        return None;
    }
    me.used = true;
    me.id = u8::try_from(p).ok()? + 1;
    (me.epoch, me.left) = (tables.epoch, LEASE);
    me.wait = if tables.grace && w.weak == Weak::NoGrace { 0 } else { LEASE };
    me.silent = 0;
    let (id, epoch) = (me.id, me.epoch);
    n.proxies[1 - p].silent = 0;
    n.tables_mut().rows[index(id)] = Row { life: Life::Live, epoch };
    Some(n)
}

/// `StoreConnection::succeed`.
fn open(w: World, s: &State, p: usize) -> Option<State> {
    let mut n = *s;
    n.heard_of(p);
    let known = n.proxies[p].known;
    let tables = *s.tables();
    if tables.ident == s.primary && !n.knows_a_later_epoch(w, p) {
        return None;
    }
    let primary = s.primary;
    let tables = n.tables_mut();
    tables.epoch = tables.epoch.max(known) + 1;
    (tables.ident, tables.grace) = (primary, true);
    if w.weak != Weak::TokenWithoutEpoch {
        tables.base = tables.epoch * TOKENS;
    }
    n.heard_of(p);
    Some(n)
}

/// `Keeper::renew`.
fn renew(w: World, s: &State, p: usize) -> Option<State> {
    let mut n = *s;
    (n.proxies[p].left, n.proxies[1 - p].silent) = (LEASE, 0);
    (s.may_write(w, p) && n != *s).then_some(n)
}

/// `Keeper::carry_over`: the row of the lock, then that of the incarnation.
fn follow(w: World, s: &State, p: usize) -> Option<State> {
    let mut n = *s;
    n.heard_of(p);
    let (me, tables) = (s.proxies[p], n.tables_mut());
    let later = tables.epoch > me.epoch && tables.ident == s.primary;
    let late = me.left == 0 && w.weak != Weak::ReclaimTooLate;
    if me.id == 0 || !later || late {
        return None;
    }
    let epoch = tables.epoch;
    if tables.rows[index(me.id)].life == Life::Over {
        n.fence(p);
        return Some(n);
    }
    tables.rows[index(me.id)] = Row { life: Life::Live, epoch };
    // The lock may have passed between sessions here since the row was written.
    let wins = tables.tok <= me.holds;
    let kept = me.holds == 0 || wins || w.weak == Weak::RenewWithoutReclaim;
    if me.holds != 0 && wins && w.weak != Weak::RenewWithoutReclaim {
        (tables.tok, tables.holder) = (me.holds, me.id);
    } else if w.weak == Weak::IdleNamesAsHeld && me.owns != 0 && me.holds == 0 {
        tables.holder = me.id;
    } else if me.holds == 0 && tables.holder == me.id {
        // The release, or the news of the grant, was lost.
        tables.holder = 0;
    }
    let goes_on = w.weak == Weak::GraceGoesOn && me.wait > 0;
    let mine = &mut n.proxies[p];
    mine.wait = match w.weak {
        Weak::NoGrace => 0,
        _ if goes_on => me.wait,
        _ => LEASE,
    };
    (mine.epoch, mine.left, mine.silent) = (epoch, LEASE, 0);
    mine.came = true;
    mine.holds = if kept { me.holds } else { 0 };
    // Idle names are let go.
    (mine.owns, mine.next) = (0, 0);
    n.proxies[1 - p].silent = 0;
    Some(n)
}

/// `Keeper::end_wait`: somebody has waited the grace, and says so.
fn end_grace(w: World, s: &State, p: usize) -> Option<State> {
    let over = s.may_write(w, p) && s.tables().grace && s.proxies[p].wait == 0;
    let mut n = *s;
    n.tables_mut().grace = false;
    (over && s.proxies[p].left > 0).then_some(n)
}

/// `clusters::all_came`: a proxy that was there before sees that nobody is missing.
fn end_early(w: World, s: &State, p: usize) -> Option<State> {
    let (me, tables) = (s.proxies[p], s.tables());
    let missing = tables.rows.iter().any(|row| row.life == Life::Live && row.epoch != me.epoch);
    let may = s.may_write(w, p) && tables.grace && me.came && me.left > 0 && !missing;
    let mut n = *s;
    n.tables_mut().grace = false;
    n.proxies[p].wait = 0;
    (may && (w.lossless || w.weak == Weak::EarlyEnd)).then_some(n)
}

/// The others need not wait for it any more.
fn see_its_end(w: World, s: &State, p: usize) -> Option<State> {
    let over = s.may_write(w, p) && !s.tables().grace && s.proxies[p].wait > 0;
    let mut n = *s;
    n.proxies[p].wait = 0;
    over.then_some(n)
}

fn grant(w: World, s: &State, p: usize) -> Option<State> {
    let (me, tables) = (&s.proxies[p], s.tables());
    let busy = me.holds != 0 || tables.holder != 0;
    if busy || !s.may_write(w, p) || me.left == 0 || me.wait > 0 {
        return None;
    }
    let mut n = *s;
    n.grants = s.grants.checked_sub(1)?;
    let tok = tables.tok.max(tables.base) + 1;
    let id = me.id;
    (n.tables_mut().tok, n.tables_mut().holder) = (tok, id);
    n.proxies[p].holds = tok;
    n.note_grant(tok);
    Some(n)
}

/// The name stays owned from now on.
fn own(w: World, s: &State, p: usize) -> Option<State> {
    let me = &s.proxies[p];
    let mut n = *s;
    (n.proxies[p].owns, n.proxies[p].next) = (me.holds, me.holds + 1);
    let first = me.holds != 0 && me.owns == 0 && s.tables().tok == me.holds;
    (w.owned && first && me.left > 0 && s.may_write(w, p)).then_some(n)
}

/// RELEASE_LOCK of a name that stays owned: the row knows nothing of it.
fn release_inside(_: World, s: &State, p: usize) -> Option<State> {
    let me = &s.proxies[p];
    let mut n = *s;
    n.proxies[p].holds = 0;
    (me.holds != 0 && me.owns != 0 && me.left > 0).then_some(n)
}

/// A grant from memory. No server is asked, so it may be another epoch there already.
fn grant_inside(w: World, s: &State, p: usize) -> Option<State> {
    let me = &s.proxies[p];
    let certain = me.left > 0 || w.weak == Weak::WindowPastTheDeadline;
    let mut n = *s;
    let mine = &mut n.proxies[p];
    (mine.holds, mine.next) = (me.next, me.next + 1);
    // The client relies on it for as long as it is told so.
    mine.left = mine.left.max(u8::from(w.weak == Weak::WindowPastTheDeadline));
    n.note_grant(me.next);
    (me.owns != 0 && me.holds == 0 && certain && me.next <= me.owns + WINDOW).then_some(n)
}

fn release(w: World, s: &State, p: usize) -> Option<State> {
    let me = s.proxies[p];
    let has = me.holds != 0 || me.owns != 0;
    if !has || me.left == 0 || !s.may_write(w, p) {
        return None;
    }
    let mut n = *s;
    let tables = n.tables_mut();
    let (row, last) = if me.owns == 0 { (me.holds, me.holds) } else { (me.owns, me.next - 1) };
    if tables.holder == me.id && tables.tok == row {
        (tables.holder, tables.tok) = (0, last);
    }
    let mine = &mut n.proxies[p];
    (mine.holds, mine.owns, mine.next) = (0, 0, 0);
    Some(n)
}

fn fence_if_due(_: World, s: &State, p: usize) -> Option<State> {
    let mut n = *s;
    n.fence(p);
    (s.proxies[p].id != 0 && s.proxies[p].left == 0).then_some(n)
}

/// `Keeper::revoke` and the takeover: the other one's incarnation was silent for its lease.
fn revoke(w: World, s: &State, p: usize) -> Option<State> {
    let (me, id) = (&s.proxies[p], u8::try_from(1 - p).ok()? + 1);
    let live = s.tables().rows[index(id)].life == Life::Live;
    if !s.may_write(w, p) || me.left == 0 || me.silent < LEASE || !live {
        return None;
    }
    let mut n = *s;
    let tables = n.tables_mut();
    tables.rows[index(id)].life = Life::Over;
    if tables.holder == id {
        (tables.holder, tables.tok) = (0, tables.tok + if w.owned { WINDOW } else { 0 });
    }
    Some(n)
}

type Step = (&'static str, usize, fn(World, &State, usize) -> Option<State>);

const STEPS: [Step; 17] = [
    ("tick", 1, tick),
    ("replicate", 1, replicate),
    ("fail_over", 1, fail_over),
    ("join", PROXIES, join),
    ("open", PROXIES, open),
    ("renew", PROXIES, renew),
    ("follow", PROXIES, follow),
    ("end_grace", PROXIES, end_grace),
    ("end_early", PROXIES, end_early),
    ("see_its_end", PROXIES, see_its_end),
    ("grant", PROXIES, grant),
    ("own", PROXIES, own),
    ("release_inside", PROXIES, release_inside),
    ("grant_inside", PROXIES, grant_inside),
    ("release", PROXIES, release),
    ("fence_if_due", PROXIES, fence_if_due),
    ("revoke", PROXIES, revoke),
];

impl Protocol for World {
    type State = State;
    type Broken = Broken;

    fn start(&self) -> State {
        State::start(*self)
    }

    fn successors(&self, state: &State) -> Vec<(u8, u8, State)> {
        every(STEPS.iter().map(|(_, domain, _)| *domain), |step, arg| {
            let mut next = STEPS[step].2(*self, state, arg)?;
            next.inspect(self.watched);
            Some(next)
        })
    }

    fn broken(&self, state: &State) -> Option<Broken> {
        state.broken
    }

    fn line(&self, step: u8, arg: u8, after: &State) -> String {
        let (name, ..) = STEPS[usize::from(step)];
        let Tables { epoch, tok, holder, .. } = after.tables();
        let holds = after.proxies.map(|me| (me.id, me.epoch, me.left, me.wait, me.holds));
        let primary = after.primary;
        format!(
            "  {name:<13} {arg} primary {primary} epoch {epoch} row {holder}/{tok} proxies {holds:?}"
        )
    }
}

fn breaks(weak: Weak, failovers: u8, harm: Broken) {
    let owned = matches!(weak, Weak::IdleNamesAsHeld | Weak::WindowPastTheDeadline);
    let world = World { failovers, grants: 3, weak, lossless: false, owned, watched: Some(harm) };
    let found = explore(&world);
    let (broken, way) =
        found.broken.unwrap_or_else(|| panic!("the model does not notice {weak:?}"));
    println!("{weak:?}: {broken:?}, {} states:\n{}", found.states, tell(&world, &way));
    assert_eq!(broken, harm);
}

#[test]
fn a_lock_has_one_holder_over_failovers_that_lose_any_tail() {
    let mut taken = 0;
    for (failovers, grants, lossless, owned) in [
        (1, 3, false, false),
        (2, 2, false, false),
        (1, 3, true, false),
        (2, 2, true, false),
        (1, 2, false, true),
        (2, 1, false, true),
        (1, 2, true, true),
    ] {
        let world =
            World { failovers, grants, weak: Weak::Nothing, lossless, owned, watched: None };
        let found = explore(&world);
        let states = found.states;
        println!(
            "{failovers} failovers, {grants} grants, lossless {lossless}, owned {owned}: {states}"
        );
        assert!(found.broken.is_none(), "{:?}", found.broken);
        taken |= found.taken;
    }
    let idle = idle(STEPS.iter().map(|(name, ..)| *name), taken);
    assert!(idle.is_empty(), "never taken: {idle:?}");
}

#[test]
fn without_grace_a_lock_of_the_lost_tail_has_two_holders() {
    breaks(Weak::NoGrace, 1, Broken::TwoHolders);
}

#[test]
fn a_lease_renewed_without_the_rows_of_its_locks_vouches_for_nothing() {
    breaks(Weak::RenewWithoutReclaim, 1, Broken::TwoHolders);
}

#[test]
fn tokens_need_the_epoch() {
    breaks(Weak::TokenWithoutEpoch, 1, Broken::TokenNotGreater);
}

#[test]
fn a_former_primary_that_comes_back_is_not_recognised_by_its_name() {
    breaks(Weak::IdentityAlone, 2, Broken::TokenNotGreater);
}

#[test]
fn a_lock_is_not_carried_along_past_the_deadline() {
    breaks(Weak::ReclaimTooLate, 1, Broken::TwoHolders);
}

#[test]
fn a_second_failover_begins_the_grace_again() {
    breaks(Weak::GraceGoesOn, 2, Broken::TwoHolders);
}

/// A proxy that registered in the lost tail is in no list of those that are waited for.
#[test]
fn the_grace_ends_early_only_where_no_registration_can_be_lost() {
    breaks(Weak::EarlyEnd, 1, Broken::TwoHolders);
}

/// No session would give it back.
#[test]
fn a_name_that_nobody_holds_is_let_go_in_a_failover() {
    breaks(Weak::IdleNamesAsHeld, 1, Broken::HeldByNobody);
}

#[test]
fn a_window_ends_at_the_deadline() {
    breaks(Weak::WindowPastTheDeadline, 1, Broken::TwoHolders);
}
