//! The worlds in which owned names are searched, and the rules that are left out in them.

use super::super::explore::{explore, idle, wander};
use super::super::report;
use super::{Broken, STEPS, Weak, World};

/// A uses the name twice.
const DURABLE: World = World {
    claims: [2, 1],
    incarnations: [1, 1],
    steady: [false, true],
    gives_up: true,
    questions: 0,
    faults: 0,
    weak: Weak::Nothing,
    watched: None,
};

/// A comes back as another incarnation.
const RETURN: World = World { claims: [2, 1], incarnations: [2, 1], gives_up: false, ..DURABLE };

/// Both may be fenced.
const BOTH: World = World { claims: [1, 1], steady: [false; 2], gives_up: false, ..DURABLE };

/// A process is killed.
const KILL: World = World { claims: [1, 1], faults: 1, ..RETURN };

/// The name wanders.
const WANDERS: World = World { claims: [2, 2], steady: [true; 2], ..DURABLE };

/// B asks whether the lock is free.
const QUESTIONS: World = World { claims: [2, 0], steady: [true; 2], questions: 2, ..DURABLE };

const WORLDS: [(&str, World); 6] = [
    ("durable", DURABLE),
    ("return", RETURN),
    ("both", BOTH),
    ("kill", KILL),
    ("wanders", WANDERS),
    ("questions", QUESTIONS),
];

/// Far too large to be searched, so only walked through.
const WIDE: World = World {
    claims: [3; 2],
    incarnations: [2; 2],
    steady: [false; 2],
    gives_up: true,
    questions: 2,
    faults: 2,
    ..DURABLE
};

fn breaks(weak: Weak, world: World, harm: Broken) {
    let model = World { weak, watched: Some(harm), ..world };
    let found = explore(&model);
    report(&format!("{weak:?}"), &model, &found);
    assert!(found.broken.is_some(), "the model does not notice {weak:?}");
}

#[test]
fn an_owned_name_keeps_every_rule_in_all_worlds() {
    let mut taken = 0;
    for (name, world) in WORLDS {
        let found = explore(&world);
        report(name, &world, &found);
        assert!(found.broken.is_none(), "{:?}", found.broken);
        taken |= found.taken;
    }
    let idle = idle(STEPS.iter().map(|(name, ..)| *name), taken);
    assert!(idle.is_empty(), "never taken: {idle:?}");
}

#[test]
fn an_owned_name_keeps_every_rule_on_long_walks() {
    let found = wander(&WIDE, 5000, 400);
    report("walks", &WIDE, &found);
    assert!(found.broken.is_none(), "{:?}", found.broken);
}

#[test]
fn owned_names_end_at_the_deadline() {
    breaks(Weak::KeptPastTheDeadline, RETURN, Broken::TwoHolders);
}

/// A grant that is not written yet: the row looks idle.
#[test]
fn nobody_but_the_owner_knows_whether_a_name_is_idle() {
    breaks(Weak::TakenByItsLooks, DURABLE, Broken::TwoHolders);
}

#[test]
fn nothing_is_granted_of_a_name_that_is_promised() {
    breaks(Weak::GrantsWhatIsPromised, WANDERS, Broken::TwoHolders);
}

#[test]
fn tokens_begin_above_the_window_of_an_owner_that_is_gone() {
    breaks(Weak::WindowUsedAgain, RETURN, Broken::TokenNotGreater);
}

#[test]
fn a_row_that_is_freed_for_an_owner_that_is_gone_is_above_its_window() {
    breaks(Weak::SweptWithoutWindow, RETURN, Broken::TokenNotGreater);
}

#[test]
fn the_owner_leaves_its_last_token_in_the_row() {
    breaks(Weak::LastTokenForgotten, WANDERS, Broken::TokenNotGreater);
}

#[test]
fn a_name_is_promised_to_the_living_only() {
    breaks(Weak::PromisedToTheDead, BOTH, Broken::OwnedByNobody);
}

#[test]
fn a_proxy_that_asked_looks_whether_it_was_given_the_name() {
    breaks(Weak::ForgetsThatItAsked, WANDERS, Broken::OwnedByNobody);
}

#[test]
fn a_row_that_is_not_up_to_date_does_not_say_that_a_lock_is_free() {
    breaks(Weak::AnswersFromTheRow, QUESTIONS, Broken::FalselyFree);
}

#[test]
fn a_row_that_is_not_up_to_date_does_not_say_that_a_lock_is_held() {
    breaks(Weak::AnswersFromTheRow, QUESTIONS, Broken::FalselyHeld);
}

#[test]
fn of_an_exact_row_no_change_is_told_before_it_is_written() {
    breaks(Weak::ReleasesBehindTheRow, QUESTIONS, Broken::FalselyHeld);
}
