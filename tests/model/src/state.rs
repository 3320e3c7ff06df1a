//! Everything that the protocol remembers, small enough to be counted.
//!
//! Times are relative: what is left of a lease, how long a version was seen. So a clock may tick
//! for ever, and the states stay few.

/// Proxies.
pub(crate) const PROXIES: usize = 2;
/// Client sessions, two a proxy.
pub(crate) const SESSIONS: usize = 4;
/// Incarnations, two a proxy; 0 means none.
pub(crate) const INCARNATIONS: usize = 4;
/// Packets on their way whose sender no longer waits.
pub(crate) const LATE: usize = 3;

/// A row of `proxies`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub(crate) struct ProxyRow {
    pub(crate) state: ProxyState,
    pub(crate) rvn: u8,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub(crate) enum ProxyState {
    #[default]
    Absent,
    Live,
    Dead,
    Clean,
}

/// The row of the one lock. `tok` 0: there is none.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub(crate) struct LockRow {
    pub(crate) tok: u8,
    pub(crate) holder: u8,
    /// Id of the claim that was granted; it names the session (see [`claim_of`]).
    pub(crate) grant: u8,
}

/// The store: it carries out one packet at a time.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub(crate) struct Store {
    pub(crate) proxies: [ProxyRow; INCARNATIONS],
    pub(crate) lock: LockRow,
    pub(crate) base: u8,
    /// The store does nothing; what is sent to it waits.
    pub(crate) hung: bool,
    /// The store can be read, and not be written: the global read lock is held, or the server is read-only.
    pub(crate) blocked: bool,
    /// For each incarnation, ticks in which it could have renewed and has not.
    pub(crate) chances: [u8; INCARNATIONS],
}

/// A registration or renewal: `UPDATE proxies SET rvn=new WHERE … rvn IN (old)`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub(crate) struct Renewal {
    pub(crate) id: u8,
    /// Versions that the row may have, as a set of bits; 0: a registration.
    pub(crate) old: u8,
    pub(crate) new: u8,
}

/// Where a renewal is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub(crate) enum Beat {
    #[default]
    Idle,
    Sent(Renewal),
    /// Carried out; whether the row then had the new version.
    Replied(Renewal, bool),
    /// Heard before the deadline, which is about to be moved.
    Heard(Renewal),
}

/// The one statement that changes locks.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub(crate) struct Change {
    pub(crate) writer: u8,
    pub(crate) base: u8,
    /// Token to release first; 0: none.
    pub(crate) release: u8,
    /// Claim to grant then; 0: none.
    pub(crate) grant: u8,
    pub(crate) token: u8,
    /// Incarnations known to be CLEAN, as a set of bits.
    pub(crate) clean: u8,
}

/// The content of a batch's reply, or of the rows read after it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub(crate) struct Outcome {
    pub(crate) row: LockRow,
    /// The base, if the guard was read.
    pub(crate) base: u8,
}

/// Where a batch is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub(crate) enum Pipe {
    #[default]
    Idle,
    Sent(Change),
    /// Not every row was won as proposed, or the outcome was unknown and the old connection is
    /// gone: the rows must be read.
    MustRead(Change),
    /// No reply will come. The flag says whether it was carried out, which the pipe cannot know.
    Unknown(Change, bool),
    Replied(Change, Outcome),
}

/// Another incarnation as one process saw it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub(crate) struct Observation {
    pub(crate) rvn: u8,
    /// Ticks of the own clock since this version was first seen, as far as they count.
    pub(crate) age: u8,
}

/// A proxy process: its keeper, its service, its pipe.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub(crate) struct Process {
    pub(crate) running: bool,
    /// The current incarnation, as `engine::shared::lease` publishes it.
    pub(crate) id: u8,
    /// Incarnations registered so far.
    pub(crate) used: u8,
    /// Ticks until the deadline; 0: its sessions are suspended.
    pub(crate) left: u8,
    pub(crate) beat: Beat,
    /// Ticks since the renewal was sent.
    pub(crate) sent: u8,
    /// The version of the last acknowledged renewal, those the row may have, those tried.
    pub(crate) acked: u8,
    pub(crate) versions: u8,
    pub(crate) tried: u8,
    pub(crate) observed: [Observation; INCARNATIONS],
    /// Ticks since the rows were read last.
    pub(crate) unread: u8,
    /// Incarnations whose sessions a takeover saw gone, as a set of bits.
    pub(crate) seen_gone: u8,
    pub(crate) pipe: Pipe,
    pub(crate) base: u8,
    pub(crate) last_token: u8,
    /// Token of a grant that no session wants any more, to be released; 0: none.
    pub(crate) unwanted: u8,
}

/// The state of a session.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub(crate) enum Phase {
    #[default]
    Idle,
    Waiting,
    /// The service has granted, the session has not heard.
    Granted,
    /// The client was told.
    Told,
    /// RELEASE_LOCK: the client waits for the row.
    Releasing,
    /// The client is gone; what it sent runs to its end.
    Leaving,
    /// Abandoned: `engine::io::disconnects` watches the server's thread.
    Watched,
    /// The server is done with it; the row is to be freed.
    Returning,
    Over,
}

/// The server's thread of a session.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub(crate) enum Thread {
    #[default]
    Open,
    /// Killed, or its socket was closed: it may still run what was sent.
    Ending,
    Gone,
}

/// A client's session.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub(crate) struct Session {
    pub(crate) phase: Phase,
    pub(crate) claims: u8,
    /// Attempts of the present claim that won its row and were too late.
    pub(crate) attempts: u8,
    /// The ledger: token, and the incarnation it was granted to.
    pub(crate) token: u8,
    pub(crate) by: u8,
    pub(crate) thread: Thread,
    /// A write under the lock is on its way to the server, or runs there.
    pub(crate) write: bool,
}

/// A packet that no process waits for; it may still be carried out.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub(crate) enum Late {
    #[default]
    None,
    Renewal(Renewal),
    Change(Change),
}

/// A rule that broke. I-numbers are those of docs/design/locks.md.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Broken {
    /// Two clients are told "granted", and the proxies of both vouch for it.
    TwoHolders,
    /// A client is told "granted" when the row is not its own any more (I7).
    ToldTooLate,
    /// A write runs at the server under a lock that has passed on.
    LateWrite,
    /// A grant's token is not above all before it (I9).
    TokenNotGreater,
    /// Statements of a lock-holding session are sent for a revoked incarnation (I7).
    SentWhenRevoked,
    /// A proxy vouches for an incarnation that is not LIVE (I5, I6).
    VouchesWhenRevoked,
    /// A row passes to another without a release, from an incarnation that is not CLEAN (I2).
    TakenFromTheLiving,
    /// A batch grants for an incarnation that is not LIVE (I3).
    GrantedWhenRevoked,
    /// CLEAN, but a session may still run what it sent under its lock (I8).
    CleanTooEarly,
    /// An incarnation is revoked that could not renew, since the store was silent.
    RevokedInAHang,
    /// A row names a live incarnation that does not know of it: held for ever, by no session.
    HeldByNobody,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub(crate) struct State {
    pub(crate) store: Store,
    pub(crate) processes: [Process; PROXIES],
    pub(crate) sessions: [Session; SESSIONS],
    pub(crate) late: [Late; LATE],
    /// Incarnations whose process is dead: their file in the state directory is not locked.
    pub(crate) gone: u8,
    /// Faults that may still happen.
    pub(crate) faults: u8,
    /// Hangs of the store that may still happen.
    pub(crate) hangs: u8,
    /// Times in which it may still be that nobody can write.
    pub(crate) blocks: u8,
    /// The session with the server's own lock, counted from 1; 0: none.
    pub(crate) native: u8,
    /// Greatest token granted so far, for I9.
    pub(crate) greatest: u8,
    pub(crate) broken: Option<Broken>,
}

pub(crate) fn bit(id: u8) -> u8 {
    1 << id
}

/// The process that an incarnation is, or was, of.
pub(crate) fn process_of(id: u8) -> usize {
    usize::from(id - 1) / 2
}

/// The process that a session is of.
pub(crate) fn home(session: usize) -> usize {
    session / 2
}

/// Attempts that have ids of their own.
pub(crate) const ATTEMPTS: u8 = 3;

/// The id of a session's present attempt: the row of an earlier one must not look like its own.
pub(crate) fn claim_of(session: usize, it: Session) -> u8 {
    u8::try_from(session).unwrap_or_default() * 16 + it.attempts * 4 + it.claims
}

/// The session that a claim is of.
pub(crate) fn claimant(grant: u8) -> usize {
    usize::from(grant / 16)
}

impl State {
    pub(crate) fn row(&self, id: u8) -> ProxyRow {
        self.store.proxies[usize::from(id - 1)]
    }

    pub(crate) fn row_mut(&mut self, id: u8) -> &mut ProxyRow {
        &mut self.store.proxies[usize::from(id - 1)]
    }

    /// `Lease::vouches_for`: locks granted to `id` are still certainly held.
    pub(crate) fn vouches(&self, process: usize, id: u8) -> bool {
        let me = &self.processes[process];
        me.running && me.id == id && id != 0 && me.left > 0
    }

    /// Whether the server's own lock is this session's.
    pub(crate) fn has_native(&self, session: usize) -> bool {
        usize::from(self.native) == session + 1
    }

    /// The server frees its own lock, if this session has it.
    pub(crate) fn free_native(&mut self, session: usize) {
        if self.has_native(session) {
            self.native = 0;
        }
    }

    /// Whether the service still knows this session's lock: it forgets all at a fence.
    pub(crate) fn is_known(&self, session: usize) -> bool {
        let me = &self.processes[home(session)];
        let it = &self.sessions[session];
        let holds = !matches!(it.phase, Phase::Idle | Phase::Waiting | Phase::Over);
        holds && me.running && me.id == it.by
    }

    /// Lets a packet go that no process waits for. `None` when too many are on their way already.
    pub(crate) fn forget(&mut self, packet: Late) -> Option<()> {
        *self.late.iter_mut().find(|late| **late == Late::None)? = packet;
        Some(())
    }

    pub(crate) fn breaks(&mut self, what: Broken) {
        self.broken.get_or_insert(what);
    }
}
