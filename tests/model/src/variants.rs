//! The rules that can be weakened, the bounds, and the list of all steps.

use std::fmt::Write as _;

use super::explore::{Protocol, every};
use super::locks::inspect;
use super::state::{
    Broken, INCARNATIONS, LATE, LockRow, PROXIES, Process, ProxyState, SESSIONS, State,
};
use super::{keeper, locks, sessions};

/// A rule left out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Weak {
    /// The protocol as it should be.
    Nothing,
    /// The deadline counts from a renewal's reply, not from before it was sent.
    DeadlineFromAck,
    /// Neither service nor session looks at the clock between the store's reply and the answer.
    NoCheckAfterReply,
    /// The version of a renewal is one above the last acknowledged, not random.
    Counter,
    /// An observer waits its own lease, not the one in the row.
    ObserversOwnLease,
    /// DEAD is enough to take a row; its sessions may still run.
    StealBeforeGone,
    /// Free rows are deleted whatever their token.
    CollectAnyToken,
    /// A batch does not care whether the base of its tokens has moved on.
    BaseNotInGuard,
    /// A starting process takes any incarnation for dead.
    SuccessorWithoutProof,
    /// A batch does not care whether its incarnation is LIVE.
    NoGuard,
    /// A session's end frees its lock at once, though the server still works for it.
    ReleasedBeforeRollback,
    /// A batch without a reply is taken for one that was not carried out.
    GuessLost,
    /// An observer counts the time in which the store is silent.
    CountsInSilence,
    /// Suspended sessions go on when the store answers, whether or not it has renewed the lease.
    ResumesWithoutRenewal,
    /// Sessions write to the server without a look at the deadline.
    NoForwardCheck,
    /// A grant that is heard past the deadline is given back like one of an incarnation that is over. The keeper, which
    /// has looked at the clock before, is about to move the deadline nevertheless.
    StrayWhileCurrent,
    /// A reading, while nobody can write, moves the deadline on also where locks are rows alone.
    ReadingRenews,
    /// A lock without a row counts, though another proxy keeps locks by rows alone.
    NativeBesideRows,
    /// Sessions of mode coexist are told without the server's own lock.
    NoServerLock,
}

/// How much may happen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct World {
    /// Ticks of each proxy's lease.
    pub(crate) lease: [u8; PROXIES],
    /// Incarnations of each proxy.
    pub(crate) incarnations: [u8; PROXIES],
    /// Renewals an incarnation may try.
    pub(crate) renewals: [u8; PROXIES],
    /// A proxy whose renewals always come in time.
    pub(crate) steady: [bool; PROXIES],
    /// Whether its clients write under their lock.
    pub(crate) writes: [bool; PROXIES],
    /// Whether clients release.
    pub(crate) releases: bool,
    /// Whether it watches the other's lease.
    pub(crate) observers: [bool; PROXIES],
    /// Claims of each session.
    pub(crate) claims: [u8; SESSIONS],
    /// Lost replies, killed threads, killed processes.
    pub(crate) faults: u8,
    /// Whether a process may be killed.
    pub(crate) kills: bool,
    /// Whether clients give up waiting.
    pub(crate) gives_up: bool,
    /// Whether clients vanish and threads are killed.
    pub(crate) endings: bool,
    /// Whether free rows are collected.
    pub(crate) collects: bool,
    /// How often the store hangs. In such a world observers read all rows at once.
    pub(crate) hangs: u8,
    /// How often the store can be read, and not be written, for a while.
    pub(crate) blocks: u8,
    /// Whether the proxy's sessions take the server's own lock beside the row: mode coexist.
    pub(crate) native: [bool; PROXIES],
}

impl World {
    pub(crate) fn longest(&self) -> u8 {
        self.lease[0].max(self.lease[1])
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Model {
    pub(crate) world: World,
    pub(crate) weak: Weak,
    /// A rule that breaks but is not among these is forgotten.
    pub(crate) watched: &'static [Broken],
}

impl Protocol for Model {
    type State = State;
    type Broken = Broken;

    fn start(&self) -> State {
        let process = Process { running: true, ..Process::default() };
        let World { faults, hangs, blocks, .. } = self.world;
        let processes = [process; PROXIES];
        let mut state = State { processes, faults, hangs, blocks, ..State::default() };
        for p in 0..PROXIES {
            state = keeper::register(self, &state, p).unwrap_or(state);
            state = keeper::renewal_heard(self, &state, p).unwrap_or(state);
            state = keeper::deadline_moves(self, &state, p).unwrap_or(state);
        }
        state
    }

    fn successors(&self, state: &State) -> Vec<(u8, u8, State)> {
        every(STEPS.iter().map(|(_, domain, _)| *domain), |step, arg| {
            let (name, _, rule) = &STEPS[step];
            let hung = state.store.hung && AT_THE_STORE.contains(name);
            let blocked = state.store.blocked && WRITES.contains(name);
            let mut next = rule(self, state, arg).filter(|_| !hung && !blocked)?;
            inspect(self, &mut next);
            next.broken = next.broken.filter(|broken| self.watched.contains(broken));
            Some(next)
        })
    }

    fn broken(&self, state: &State) -> Option<Broken> {
        state.broken
    }

    /// The step, its subject, then the ticks left of both leases, the row's holder/token, and the rows of `proxies`.
    /// Incarnations 1 and 2 are A's, 3 and 4 B's.
    fn line(&self, step: u8, arg: u8, after: &State) -> String {
        let (name, domain, _) = &STEPS[usize::from(step)];
        let who = subject(*domain, arg);
        let LockRow { holder, tok, .. } = after.store.lock;
        let left = after.processes.map(|process| process.left);
        let mut text = format!("  {name:<20} {who:<11} left {left:?} row {holder}/{tok} proxies");
        for (id, row) in (1..).zip(after.store.proxies) {
            if row.state != ProxyState::Absent {
                let _ = write!(text, " {id} {:?} v{}", row.state, row.rvn);
            }
        }
        text
    }
}

/// A step: what happens if it can, for an argument below its domain's size.
type Step = (&'static str, usize, fn(&Model, &State, usize) -> Option<State>);

const PAIRS: usize = PROXIES * INCARNATIONS;

pub(crate) const STEPS: &[Step] = &[
    ("tick", 1, keeper::tick),
    ("register", PROXIES, keeper::register),
    ("renew", PROXIES, keeper::renew),
    ("renewal_runs", PROXIES, keeper::renewal_runs),
    ("renewal_heard", PROXIES, keeper::renewal_heard),
    ("deadline_moves", PROXIES, keeper::deadline_moves),
    ("sessions_resume", PROXIES, keeper::sessions_resume),
    ("renewal_given_up", PROXIES, keeper::renewal_given_up),
    ("late_renewal_runs", LATE, keeper::late_renewal_runs),
    ("late_packet_lost", LATE, keeper::late_packet_lost),
    ("fence_if_due", PROXIES, keeper::fence_if_due),
    ("store_hangs", 1, keeper::store_hangs),
    ("store_goes_on", 1, keeper::store_goes_on),
    ("writes_blocked", 1, keeper::writes_blocked),
    ("writes_go_on", 1, keeper::writes_go_on),
    ("read_instead", PROXIES, keeper::read_instead),
    ("observe", PAIRS, keeper::observe),
    ("read_rows", PROXIES, keeper::read_rows),
    ("revoke", PAIRS, keeper::revoke),
    ("revoke_at_once", PAIRS, keeper::revoke_at_once),
    ("end_sessions", PAIRS, keeper::end_sessions),
    ("declare_clean", PAIRS, keeper::declare_clean),
    ("sweep", PAIRS, keeper::sweep),
    ("process_dies", PROXIES, keeper::process_dies),
    ("process_starts", PROXIES, keeper::process_starts),
    ("send_grant", SESSIONS, locks::send_grant),
    ("send_release", PROXIES, locks::send_release),
    ("batch_runs", PROXIES, locks::batch_runs),
    ("late_batch_runs", LATE, locks::late_batch_runs),
    ("batch_lost", PROXIES, locks::batch_lost),
    ("old_connection_gone", PROXIES, locks::old_connection_gone),
    ("rows_read", PROXIES, locks::rows_read),
    ("batch_heard", PROXIES, locks::batch_heard),
    ("row_collected", 1, locks::row_collected),
    ("base_moves", 1, locks::base_moves),
    ("claim", SESSIONS, sessions::claim),
    ("give_up", SESSIONS, sessions::give_up),
    ("client_told", SESSIONS, sessions::client_told),
    ("told_without_row", SESSIONS, sessions::told_without_row),
    ("write_sent", SESSIONS, sessions::write_sent),
    ("write_runs", SESSIONS, sessions::write_runs),
    ("session_fenced", SESSIONS, sessions::session_fenced),
    ("client_releases", SESSIONS, sessions::client_releases),
    ("client_leaves", SESSIONS, sessions::client_leaves),
    ("server_finished", SESSIONS, sessions::server_finished),
    ("watch_over", SESSIONS, sessions::watch_over),
    ("thread_killed", SESSIONS, sessions::thread_killed),
    ("server_gone", SESSIONS, sessions::server_gone),
    ("thread_gone", SESSIONS, sessions::thread_gone),
];

/// Steps that the store, or the server's threads, take. None of them while it hangs.
const AT_THE_STORE: &[&str] = &[
    "register",
    "renewal_runs",
    "late_renewal_runs",
    "observe",
    "read_rows",
    "read_instead",
    "revoke",
    "revoke_at_once",
    "end_sessions",
    "declare_clean",
    "sweep",
    "batch_runs",
    "late_batch_runs",
    "old_connection_gone",
    "rows_read",
    "row_collected",
    "base_moves",
    "write_runs",
    "server_finished",
    "watch_over",
    "thread_killed",
    "thread_gone",
];

/// Those that change something there. None of them while nobody can write.
const WRITES: &[&str] = &[
    "register",
    "renewal_runs",
    "late_renewal_runs",
    "revoke",
    "revoke_at_once",
    "declare_clean",
    "sweep",
    "batch_runs",
    "late_batch_runs",
    "row_collected",
    "base_moves",
    "write_runs",
];

/// The subject of a step's argument, in words.
fn subject(domain: usize, arg: u8) -> String {
    let proxy = |n: u8| if n == 0 { 'A' } else { 'B' };
    match domain {
        1 => String::new(),
        PROXIES => proxy(arg).to_string(),
        LATE => format!("packet {arg}"),
        SESSIONS => format!("{}'s {}", proxy(arg / 2), ["first", "second"][usize::from(arg % 2)]),
        _ => format!("{} on {}", proxy(arg / 4), arg % 4 + 1),
    }
}
