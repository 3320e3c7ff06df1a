//! Hand-made histories: the bad ones must be caught, the good ones pass.

use std::time::Duration;

use crate::check::{
    Absence, Rest, costly_failovers, deadlocks, early_losses, hanged, late_answers, leaks,
    lost_updates, overlaps, regressions, uncounted_grants, unfair_queues, wrong_looks,
};
use crate::history::{Fault, Hold, Increment, Look, Loss, Queue, Said, Wait};

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn hold(session: u64, granted: u64, until: u64, token: u64) -> Hold {
    Hold {
        key: "k".to_owned(),
        session,
        conn: session + 100,
        proxy: 0,
        granted: ms(granted),
        until: ms(until),
        token: Some(token),
        end: "released",
    }
}

fn increment(session: u64, at: u64, read: u64, sure: bool) -> Increment {
    let (key, asked, at) = ("k".to_owned(), ms(at), ms(at));
    Increment { key, session, proxy: 0, asked, at, read, sure, sent: at, written: at }
}

fn fault(kind: &'static str, from: u64, to: u64) -> Fault {
    Fault { kind, detail: String::new(), proxy: Some(0), from: ms(from), to: ms(to) }
}

#[test]
fn two_holders_at_once_are_caught() {
    let good = [hold(1, 10, 20, 1), hold(2, 20, 30, 2), hold(1, 31, 40, 3)];
    assert_eq!(overlaps(&good, &[]), []);
    for bad in [hold(3, 19, 19, 4), hold(3, 5, 11, 4), hold(3, 5, 50, 4), hold(3, 35, 36, 4)] {
        let all = [&good[..], std::slice::from_ref(&bad)].concat();
        assert!(!overlaps(&all, &[]).is_empty(), "{bad:?}");
    }
    // A short hold after a long one is not forgotten.
    assert_eq!(
        overlaps(&[hold(1, 0, 100, 1), hold(2, 110, 120, 2), hold(3, 115, 116, 3)], &[]).len(),
        1
    );
    // A reply that a stopped proxy had under way is old news, unless something was proved after it.
    let stopped = [fault("stop", 0, 15)];
    assert_eq!(overlaps(&[hold(2, 10, 30, 2), hold(1, 16, 16, 1)], &stopped), []);
    assert_eq!(overlaps(&[hold(2, 10, 30, 2), hold(1, 16, 17, 1)], &stopped).len(), 1);
    assert_eq!(
        overlaps(&[hold(2, 10, 30, 2), hold(1, 16, 16, 1)], &[fault("cut", 0, 15)]).len(),
        1
    );
    let other = Hold { key: "l".to_owned(), ..hold(3, 15, 16, 4) };
    assert_eq!(overlaps(&[good[0].clone(), other], &[]), []);
}

#[test]
fn a_token_that_falls_or_comes_again_is_caught() {
    assert_eq!(regressions(&[hold(1, 10, 20, 5), hold(2, 30, 40, 7), hold(1, 50, 60, 8)]), []);
    assert_eq!(regressions(&[hold(1, 10, 20, 5), hold(2, 30, 40, 4)]).len(), 1);
    assert_eq!(regressions(&[hold(1, 10, 20, 5), hold(2, 30, 40, 5)]).len(), 1);
    let unknown = Hold { token: None, ..hold(2, 30, 40, 0) };
    assert_eq!(regressions(&[hold(1, 10, 20, 5), unknown, hold(3, 50, 60, 5)]).len(), 1);
}

#[test]
fn a_lost_update_is_caught() {
    let grown = |n, at, read| increment(n, at, read, true);
    assert_eq!(lost_updates(&[grown(1, 1, 0), grown(2, 2, 1), grown(1, 3, 2)], &[]), []);
    assert_eq!(lost_updates(&[grown(1, 1, 0), grown(2, 2, 0)], &[]).len(), 1);
    // A write of before comes late, over one of after.
    let late =
        [grown(1, 1, 0), increment(2, 2, 1, false), grown(3, 3, 1), grown(3, 4, 2), grown(1, 5, 2)];
    assert_eq!(lost_updates(&late, &[]).len(), 1);
    // An increment in doubt may be there or not.
    assert_eq!(lost_updates(&[increment(1, 1, 0, false), grown(2, 2, 1)], &[]), []);
    assert_eq!(lost_updates(&[increment(1, 1, 0, false), grown(2, 2, 0)], &[]), []);
    assert_eq!(lost_updates(&[increment(1, 1, 0, false), grown(2, 2, 2)], &[]).len(), 1);
    // A reply that a stop held back may be older than what was written meanwhile, but it must not
    // be built upon.
    let stop = [fault("stop", 2, 9)];
    let held = |sure| Increment { asked: ms(1), ..increment(2, 9, 1, sure) };
    let story = |sure, last| [grown(1, 0, 0), grown(1, 3, 1), held(sure), grown(1, 10, last)];
    assert_eq!(lost_updates(&story(false, 2), &stop), []);
    assert_eq!(lost_updates(&story(false, 2), &[]).len(), 1);
    assert_eq!(lost_updates(&story(true, 2), &stop).len(), 1);
    assert_eq!(lost_updates(&story(false, 1), &stop).len(), 1);
    // So may one that a cut held back, for a session that was suspended.
    let cut = [fault("cut", 2, 9)];
    assert_eq!(lost_updates(&story(false, 2), &cut), []);
    assert_eq!(lost_updates(&story(true, 2), &cut).len(), 1);
    assert_eq!(lost_updates(&story(false, 2), &[fault("cut store", 2, 9)]).len(), 1);
}

#[test]
fn a_look_past_the_holder_is_caught() {
    let look =
        |said, from, to| Look { key: "k".to_owned(), session: 9, from: ms(from), to: ms(to), said };
    let holds = [hold(1, 10, 20, 1)];
    let good = [
        look(Said::Free, 5, 12),
        look(Said::Free, 19, 21),
        look(Said::Used, 11, 12),
        look(Said::UsedBy(101), 11, 12),
    ];
    assert_eq!(wrong_looks(&good, &holds), []);
    for bad in [look(Said::Free, 11, 12), look(Said::UsedBy(7), 11, 12)] {
        assert_eq!(wrong_looks(&[bad], &holds).len(), 1);
    }
}

#[test]
fn a_wait_that_does_not_end_is_caught() {
    let wait =
        |to| Wait { key: "k".to_owned(), proxy: 0, from: ms(1000), to: ms(to), limit: ms(2000) };
    assert_eq!(late_answers(&[wait(17_000)], &[]), []);
    assert_eq!(late_answers(&[wait(19_000)], &[]).len(), 1);
    assert_eq!(late_answers(&[wait(19_000)], &[fault("stop", 0, 5000)]), []);
    assert_eq!(late_answers(&[wait(19_000)], &[fault("cut", 0, 5000)]).len(), 1);
}

#[test]
fn a_waiter_that_is_passed_over_is_caught() {
    let queue = |tokens| Queue { key: "k".to_owned(), from: ms(20_000), to: ms(21_000), tokens };
    assert_eq!(unfair_queues(&[queue(vec![Some(1), Some(3), Some(4)])], &[]), []);
    for bad in [vec![Some(1), Some(4), Some(3)], vec![Some(1), None]] {
        assert_eq!(unfair_queues(&[queue(bad.clone())], &[]).len(), 1);
        assert_eq!(unfair_queues(&[queue(bad)], &[fault("cut", 17_000, 18_000)]), []);
    }
}

#[test]
fn a_lock_that_is_lost_while_the_server_hangs_is_caught() {
    let loss = |at| Loss { session: 1, proxy: 0, at: ms(at), keys: Vec::new() };
    let backup = fault("backup", 20_000, 29_000);
    assert_eq!(hanged(&[loss(21_000)], &[backup]).len(), 1);
    let hang = fault("hang", 20_000, 26_000);
    for (at, count) in [(19_000, 0), (21_000, 1), (28_000, 1), (31_000, 0)] {
        assert_eq!(hanged(&[loss(at)], std::slice::from_ref(&hang)).len(), count, "{at}");
    }
    // Another fault may have cost it.
    assert_eq!(hanged(&[loss(21_000)], &[fault("cut", 10_000, 17_000), hang.clone()]), []);
    assert_eq!(hanged(&[loss(21_000)], &[hang, fault("cut", 30_000, 31_000)]).len(), 1);
}

#[test]
fn an_increment_that_is_lost_with_a_primary_is_no_lost_update() {
    let s = |n: u64| n * 1000;
    let grown = |at, read| increment(1, s(at), read, true);
    // The increments at 8 s and 11 s may be lost, that at 1 s may not.
    let tail = [fault("lost tail", s(10), s(12))];
    let story = |last| [grown(1, 0), grown(8, 1), grown(11, 2), grown(20, last)];
    for (last, all, lost) in [(3, 0, 0), (2, 1, 0), (1, 1, 0), (0, 1, 1), (4, 1, 1)] {
        assert_eq!(lost_updates(&story(last), &[]).len(), all, "{last}");
        assert_eq!(lost_updates(&story(last), &tail).len(), lost, "{last}");
    }
    // One that was written by the next primary is there.
    let written = |sent| Increment { sent: ms(sent), written: ms(s(13)), ..grown(11, 2) };
    let story = |last, sent| [grown(1, 0), grown(8, 1), written(sent), grown(20, last)];
    assert_eq!(lost_updates(&story(3, 12_500), &tail), []);
    assert_eq!(lost_updates(&story(2, 12_500), &tail).len(), 1);
    // One that was sent to the former primary may be lost, though its client learned of it late.
    assert_eq!(lost_updates(&story(2, 11_500), &tail), []);
    assert_eq!(lost_updates(&story(0, 11_500), &tail).len(), 1);
}

#[test]
fn a_lock_that_is_lost_with_a_primary_is_caught() {
    let lease = ms(8000);
    let loss = |at| Loss { session: 1, proxy: 0, at: ms(at), keys: vec!["k".to_owned()] };
    let of_all = |kind, from, to| Fault { proxy: None, ..fault(kind, from, to) };
    let short = of_all("failover", 20_000, 22_000);
    for (at, count) in [(19_000, 0), (21_000, 1), (29_000, 1), (31_000, 0)] {
        let found = costly_failovers(&[loss(at)], &[], std::slice::from_ref(&short), lease);
        assert_eq!(found.len(), count, "{at}");
    }
    let long = of_all("failover", 20_000, 25_000);
    assert_eq!(costly_failovers(&[loss(26_000)], &[], &[long], lease), []);
    // Nobody could renew a lease for a while before it.
    for (began, ended, count) in [(16_000, 20_000, 0), (19_500, 20_000, 1), (16_000, 19_000, 1)] {
        let backup = [of_all("backup", began, ended), short.clone()];
        assert_eq!(costly_failovers(&[loss(26_000)], &[], &backup, lease).len(), count, "{began}");
    }
    // The client's proxy came back later.
    for (until, count) in [(23_000, 1), (25_000, 0)] {
        let late = [short.clone(), fault("cut", 19_000, until)];
        assert_eq!(costly_failovers(&[loss(26_000)], &[], &late, lease).len(), count, "{until}");
    }
    // Another session has it.
    let next = [hold(2, 24_000, 25_000, 2), hold(3, 25_500, 27_000, 3)];
    let found = costly_failovers(&[loss(26_000)], &next, &[short], lease);
    assert!(found[0].what.contains("session 2 (proxy 0) had it 2s before"), "{found:?}");
}

#[test]
fn leftovers_are_caught() {
    assert_eq!(leaks(&Rest::default(), ms(0)), []);
    let one = || vec!["one".to_owned()];
    for rest in [
        Rest { held: one(), ..Rest::default() },
        Rest { sessions: one(), ..Rest::default() },
        Rest { incarnations: one(), ..Rest::default() },
        Rest { refused: one(), ..Rest::default() },
        Rest { broken: one(), ..Rest::default() },
    ] {
        assert_eq!(leaks(&rest, ms(0)).len(), 1, "{rest:?}");
    }
}

#[test]
fn a_lock_that_is_lost_within_its_lease_is_caught() {
    let absence =
        |away, kept| Absence { key: "k".to_owned(), away: ms(away), lease: ms(9000), kept };
    assert_eq!(early_losses(&[absence(3000, true), absence(8000, false)]), []);
    assert_eq!(early_losses(&[absence(3000, false)]).len(), 1);
}

#[test]
fn a_deadlock_of_batches_is_caught() {
    assert_eq!(deadlocks(3, 3), []);
    assert_eq!(deadlocks(3, 4).len(), 1);
}

#[test]
fn a_grant_where_no_candidate_gets_anything_is_caught() {
    let alone = [fault("left alone", 1000, 9000)];
    let good = [hold(1, 900, 8000, 1), hold(1, 1900, 2000, 2), hold(2, 9001, 9500, 3)];
    assert_eq!(uncounted_grants(&good, &alone), []);
    assert_eq!(uncounted_grants(&[hold(1, 3000, 3000, 1)], &alone).len(), 1);
    let other = Hold { proxy: 1, ..hold(1, 3000, 3000, 1) };
    assert_eq!(uncounted_grants(&[other], &alone), []);
}
