//! The lease and takeover protocol as a model: every order of steps within bounds is tried.
//!
//! The steps mirror the code (each says which function) in `keeper`, `locks` and `sessions`;
//! `state` holds what they change and [`Broken`] what must never come about. Two proxies, A and B,
//! share one lock. Any process may stand still between two steps for any time, and any packet may
//! take any time. A variant leaves one rule out and must break something: it shows what that
//! rule is for, and that the model would notice. `cargo test --package lockstead-model -- --nocapture`
//! prints the shortest way into each trouble.
//!
//! A, whose lease is longer, does most: it renews, pauses, dies, comes back. B watches and takes
//! over, and renews without effort, but where a world says otherwise. One lock is enough: locks
//! share nothing but what is modelled.

#![cfg(test)]

mod explore;
mod failover;
mod keeper;
mod late;
mod locks;
mod owned;
mod sessions;
mod state;
mod variants;

use explore::{Found, Protocol, explore, idle, tell, wander};
use state::Broken;
use variants::{Model, STEPS, Weak, World};

const ALL: &[Broken] = &[
    Broken::TwoHolders,
    Broken::ToldTooLate,
    Broken::LateWrite,
    Broken::TokenNotGreater,
    Broken::SentWhenRevoked,
    Broken::VouchesWhenRevoked,
    Broken::TakenFromTheLiving,
    Broken::GrantedWhenRevoked,
    Broken::CleanTooEarly,
    Broken::RevokedInAHang,
    Broken::HeldByNobody,
];

/// Rules whose breach harms a client or its data.
const HARM: &[Broken] =
    &[Broken::TwoHolders, Broken::ToldTooLate, Broken::LateWrite, Broken::TokenNotGreater];

/// Renewals: one incarnation and one session each, nothing lost.
const LEASE: World = World {
    lease: [3, 2],
    incarnations: [1, 1],
    renewals: [1, 0],
    steady: [false, true],
    observers: [false, true],
    claims: [1, 0, 1, 0],
    writes: [true, false],
    releases: true,
    gives_up: false,
    faults: 0,
    kills: false,
    endings: false,
    collects: false,
    hangs: 0,
    blocks: 0,
    native: [false; 2],
};

/// Shorter and without renewals, which leaves room for more of the rest.
const SHORT: World = World { lease: [2, 1], renewals: [0, 0], ..LEASE };

/// A reply or a renewal is lost.
const LOST_RENEWAL: World = World { renewals: [1, 0], releases: false, faults: 1, ..SHORT };
const LOST_BATCH: World = World { faults: 1, gives_up: true, ..SHORT };

/// Both renew, or fail to, and each watches the other.
const TWO_LEASES: World = World {
    steady: [false; 2],
    observers: [true; 2],
    writes: [false; 2],
    releases: false,
    ..SHORT
};

/// Clients vanish, server threads are killed.
const ENDINGS: World = World { faults: 1, endings: true, ..SHORT };

/// A fences itself and comes back as another incarnation.
const RETURN: World =
    World { incarnations: [2, 1], observers: [false; 2], releases: false, ..SHORT };

/// Both take A's first incarnation over.
const BOTH: World = World { observers: [false, true], claims: [1, 0, 0, 0], faults: 1, ..RETURN };

/// A is killed and started again.
const RESTART: World = World { faults: 1, kills: true, ..RETURN };

/// A lock passes on within A.
const HANDOVER: World = World { claims: [1, 1, 1, 0], ..SHORT };

/// Free rows are deleted, the base of tokens moves.
const COLLECTION: World = World { claims: [2, 0, 1, 0], collects: true, ..SHORT };

/// The store is stopped, and goes on.
const HANG: World =
    World { renewals: [1, 0], writes: [false; 2], releases: false, hangs: 1, ..SHORT };

/// Nobody can write for a while, where locks are rows, where all sessions take the server's own, and where one proxy's do.
const BLOCK: World = World { renewals: [1, 0], writes: [false; 2], blocks: 1, ..SHORT };
const BLOCK_BESIDE: World =
    World { native: [true; 2], writes: [true, false], renewals: [0; 2], ..BLOCK };
const BLOCK_BESIDE_ROWS: World = World { native: [true, false], ..BLOCK };

const WORLDS: [(&str, World); 14] = [
    ("leases", LEASE),
    ("lost renewal", LOST_RENEWAL),
    ("lost batch", LOST_BATCH),
    ("two leases", TWO_LEASES),
    ("endings", ENDINGS),
    ("return", RETURN),
    ("both take over", BOTH),
    ("restart", RESTART),
    ("hand-over", HANDOVER),
    ("collection", COLLECTION),
    ("hang", HANG),
    ("block", BLOCK),
    ("block in coexist", BLOCK_BESIDE),
    ("block beside rows", BLOCK_BESIDE_ROWS),
];

/// A hang with longer leases, both of which may be lost, and with writes.
const LONG_HANG: World = World {
    lease: [3, 2],
    steady: [false; 2],
    observers: [true; 2],
    renewals: [2, 2],
    hangs: 1,
    ..SHORT
};

/// Far too large to be searched, so only walked through.
const WIDE: World = World {
    lease: [3, 2],
    incarnations: [2, 2],
    renewals: [3, 3],
    steady: [false; 2],
    observers: [true; 2],
    claims: [3; 4],
    writes: [true; 2],
    releases: true,
    gives_up: true,
    faults: 4,
    kills: true,
    endings: true,
    collects: true,
    hangs: 0,
    blocks: 0,
    native: [false; 2],
};

fn report<P: Protocol>(name: &str, model: &P, found: &Found<P::Broken>) {
    match &found.broken {
        None => println!("{name}: {} states", found.states),
        Some((broken, path)) => {
            println!("{name}: {broken:?} after {} steps:\n{}", path.len(), tell(model, path));
        }
    }
}

/// Finds the shortest way to one of `harm`.
fn breaks(weak: Weak, world: World, watched: &'static [Broken]) {
    let model = Model { world, weak, watched };
    let found = explore(&model);
    report(&format!("{weak:?}"), &model, &found);
    assert!(found.broken.is_some(), "the model does not notice {weak:?}");
}

#[test]
fn the_protocol_keeps_every_rule_in_all_worlds() {
    let (mut states, mut taken) = (0, 0);
    for (name, world) in WORLDS {
        // Where the server's own locks protect, a session may go on for an incarnation that is revoked.
        let watched = if world.native == [true; 2] { HARM } else { ALL };
        let model = Model { world, weak: Weak::Nothing, watched };
        let found = explore(&model);
        report(name, &model, &found);
        assert!(found.broken.is_none(), "{:?}", found.broken);
        states += found.states;
        taken |= found.taken;
    }
    println!("all worlds: {states} states");
    let idle = idle(STEPS.iter().map(|(name, ..)| *name), taken);
    assert!(idle.is_empty(), "never taken: {idle:?}");
}

#[test]
fn the_protocol_keeps_every_rule_on_long_walks() {
    let model = Model { world: WIDE, weak: Weak::Nothing, watched: ALL };
    let found = wander(&model, 5000, 400);
    report("walks", &model, &found);
    assert!(found.broken.is_none(), "{:?}", found.broken);
}

#[test]
fn a_silent_store_costs_no_proxy_its_lease_on_long_walks() {
    let model = Model { world: LONG_HANG, weak: Weak::Nothing, watched: ALL };
    let found = wander(&model, 5000, 400);
    report("walks over a hang", &model, &found);
    assert!(found.broken.is_none(), "{:?}", found.broken);
}

#[test]
fn an_observer_that_counts_while_the_store_is_silent_revokes_what_could_not_renew() {
    breaks(Weak::CountsInSilence, HANG, &[Broken::RevokedInAHang]);
}

/// Only a renewal that succeeds proves that nobody has revoked.
#[test]
fn suspended_sessions_must_not_go_on_without_a_renewal() {
    let world = World { renewals: [1, 0], ..SHORT };
    breaks(Weak::ResumesWithoutRenewal, world, HARM);
}

/// Another proxy counts on from before, and revokes first.
#[test]
fn a_reading_while_nobody_can_write_is_no_renewal_where_locks_are_rows() {
    breaks(Weak::ReadingRenews, BLOCK, HARM);
}

#[test]
fn a_lock_without_a_row_does_not_exclude_a_proxy_that_keeps_rows_alone() {
    breaks(Weak::NativeBesideRows, BLOCK_BESIDE_ROWS, HARM);
}

/// Why a reading is enough where all take it.
#[test]
fn without_the_servers_own_lock_rows_that_cannot_be_written_exclude_nobody() {
    breaks(Weak::NoServerLock, BLOCK_BESIDE, HARM);
}

#[test]
fn a_deadline_counted_from_the_reply_comes_too_late() {
    breaks(Weak::DeadlineFromAck, LEASE, HARM);
}

#[test]
fn an_answer_without_a_check_after_the_reply_may_be_false() {
    breaks(Weak::NoCheckAfterReply, SHORT, HARM);
}

/// A lost renewal that arrives late looks like the next one.
#[test]
fn a_version_that_counts_says_yes_to_the_wrong_renewal() {
    breaks(Weak::Counter, World { renewals: [2, 0], ..LOST_RENEWAL }, HARM);
}

#[test]
fn an_observer_with_a_shorter_lease_must_wait_the_longer_one() {
    breaks(Weak::ObserversOwnLease, SHORT, HARM);
}

#[test]
fn a_dead_proxys_sessions_still_write() {
    breaks(Weak::StealBeforeGone, SHORT, HARM);
}

#[test]
fn a_row_deleted_above_the_base_comes_back_with_an_old_token() {
    breaks(Weak::CollectAnyToken, COLLECTION, HARM);
}

#[test]
fn a_batch_with_an_old_base_grants_an_old_token() {
    breaks(Weak::BaseNotInGuard, COLLECTION, HARM);
}

#[test]
fn a_successor_needs_proof() {
    breaks(Weak::SuccessorWithoutProof, World { incarnations: [1, 2], ..TWO_LEASES }, HARM);
}

/// No client is told, since the check after the reply remains. But the row names an incarnation that
/// may have been taken over and forgotten: it would stay held.
#[test]
fn a_batch_without_the_guard_grants_for_the_dead() {
    breaks(Weak::NoGuard, SHORT, &[Broken::GrantedWhenRevoked]);
}

#[test]
fn a_lock_released_before_the_rollback_lets_two_write() {
    breaks(Weak::ReleasedBeforeRollback, ENDINGS, HARM);
}

/// No client is told anything false: the row that the batch took remains.
#[test]
fn a_batch_believed_lost_takes_a_lock_for_nobody() {
    breaks(Weak::GuessLost, LOST_BATCH, &[Broken::HeldByNobody]);
}

/// The kill before CLEAN keeps the data right even so; the check keeps a session from working on for
/// an incarnation that is over, and closes it in time.
#[test]
fn a_session_that_does_not_look_at_the_deadline_works_for_the_dead() {
    breaks(Weak::NoForwardCheck, SHORT, &[Broken::SentWhenRevoked]);
}

/// The proxy gives a grant back, because no client got it. Meanwhile its waiter asks again with the
/// same id, finds that the row is its own, and gets the lock. Then the release arrives.
#[test]
fn a_late_grant_must_go_back_before_its_waiter_asks_again() {
    breaks(Weak::StrayWhileCurrent, LEASE, &[Broken::LateWrite, Broken::TwoHolders]);
}
