//! Rules that tests leave out one at a time, to see that a checker notices. Without the feature
//! `mutants`, which no release has, all rules are always in force.

use std::sync::atomic::{AtomicBool, Ordering};

/// A rule left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mutant {
    /// The deadline counts from a renewal's reply, not from before it was sent (I6).
    DeadlineFromAck,
    /// The deadline is not checked after the store's reply to a grant (I7).
    NoCheckAfterReply,
    /// A renewal's version is a counter (I5).
    CounterVersion,
    /// The token is a counter of the process, not the row's next (I9).
    TokenByCounter,
    /// Tokens of a proxy that takes the row of an owner that is gone begin above the row's, not above its window (I9).
    WindowUsedAgain,
    /// Names that are kept pass on past the deadline (I7).
    KeptPastTheDeadline,
    /// Rows are deleted without moving the base of tokens (I9).
    DeleteWithoutFloor,
    /// A dead proxy's locks are taken while its sessions run (I8).
    StealBeforeGone,
    /// The rows of a batch are not in the order of keys.
    UnsortedBatch,
    /// At a session's end its locks go before its statements and its transaction (I10).
    ReleaseBeforeRollback,
    /// A server connection that broke counts for a session that is gone (I10).
    ReleaseOnEof,
    /// An observer waits its own lease, not that of the row it observes (I5).
    OwnLease,
    /// An observer counts the time in which the store did not answer.
    CountInSilence,
    /// Suspended sessions go on when the store answers, whether or not the lease is renewed (I5).
    ResumeWithoutRenewal,
    /// Held locks are not compared with their rows.
    TrustRows,
    /// A claim by the server's own lock is not proven.
    ClaimWithoutProof,
    /// The proof of a claim is judged before the statement has the row, not when it has it.
    ProofBeforeRow,
    /// A release written later frees the row whatever its token.
    ReleaseWithoutGuard,
    /// In mode coexist an answer that reports a lock does not wait for its row.
    AnswerBeforeRow,
    /// A proxy in mode durable grants while another one has locks whose rows are not written yet.
    LateRowsIgnored,
    /// A server with meta's identity is taken for the primary though a later epoch is known (I14).
    IdentityAlone,
    /// The question before a COMMIT asks for rows of these names, not for their holder (I11).
    FenceByName,
    /// In a new epoch locks are granted at once (I12).
    NoGrace,
    /// The grace of an epoch ends when all registered proxies have come, though registrations may be lost.
    EarlyGrace,
    /// Grants count without the word of the failover candidates.
    UnwitnessedGrant,
    /// Renewals count without the word of the failover candidates.
    UnwitnessedRenewal,
    /// In a new epoch the lease is renewed, and the rows of held locks are not written (I12).
    RenewWithoutReclaim,
    /// Servers have no identities: another primary is taken for the same server, and no epoch begins there.
    NoEpoch,
    /// A new epoch's tokens begin where the copy's end (I9).
    TokenWithoutEpoch,
    /// A packet's results are read until there seems to be none.
    StopAtEmpty,
    /// A session that moves does not take its collation along.
    ForgetCollation,
    /// A session that moves does not take its roles along.
    ForgetRole,
    /// Of a response, only the last OK reports changes in the session.
    LastReportAlone,
    /// The flag that the session's state has changed stays in OK packets whose reports are cut.
    KeepChangedFlag,
    /// LAST_INSERT_ID() is asked for only after an OK that has one.
    InsertIdByReplies,
    /// A session in a transaction may move.
    FreeInTransaction,
    /// A connection goes on allowing several statements in one text.
    LeaveSeveralOn,
    /// A connection on which the user has changed is lent to the first user's sessions.
    LendAcrossAccounts,
    /// FOUND_ROWS() is forwarded to a connection that does not know.
    ForwardFoundRows,
    /// A statement that says so meets a fault of the program.
    Fault,
}

#[cfg(all(feature = "mutants", not(debug_assertions)))]
compile_error!("the feature `mutants` is for tests, never for a release");

/// Whether a rule is left out: LOCKSTEAD_MUTANT is its name, as `TokenByCounter`.
#[cfg(feature = "mutants")]
pub fn on(mutant: Mutant) -> bool {
    use std::sync::OnceLock;
    static NAME: OnceLock<Option<String>> = OnceLock::new();
    let name = NAME.get_or_init(|| std::env::var("LOCKSTEAD_MUTANT").ok());
    name.as_deref() == Some(format!("{mutant:?}").as_str())
}

/// Whether a rule is left out: never.
#[cfg(not(feature = "mutants"))]
pub const fn on(_: Mutant) -> bool {
    false
}

/// `rule`, or `without` if the rule is left out.
pub fn or<T>(mutant: Mutant, rule: T, without: T) -> T {
    if on(mutant) { without } else { rule }
}

/// A fault of the program, if this statement asks for it and tests want one.
///
/// # Panics
/// If the statement asks for a fault, and tests want one.
pub fn fail_at(command: &[u8]) {
    assert!(!on(Mutant::Fault) || !command.ends_with(b"DO 'fault'"), "a fault");
}

/// Whether sessions that share server connections give theirs away whenever they may, each time with a stranger's state
/// on it. Only tests ask for that (`serve --test-shuffle`), no release does.
pub fn shuffles() -> bool {
    cfg!(debug_assertions) && SHUFFLES.load(Ordering::Relaxed)
}

/// Has sessions give their connections away from here on, as [`shuffles`] says.
pub fn shuffle() {
    SHUFFLES.store(true, Ordering::Relaxed);
}

static SHUFFLES: AtomicBool = AtomicBool::new(false);
