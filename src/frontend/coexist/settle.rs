//! The rows of locks that the server has granted or released.
//!
//! A row is claimed by the server's word that the session holds the lock, so any other
//! holder that the row names on this server has let go. Only a holder by rows alone, at a proxy in mode durable, is waited
//! for; the server's lock is kept meanwhile.

use std::time::Duration;

use tokio::time::Instant;

use super::answer::{error_instead, held_by, says_one, with_zero};
use super::claim::{LEAST, Limit, PATIENCE, Row, claim, count, stands_by};
use super::late::{confirm_and_enter, write_late};
use super::native_only::note_native_only;
use crate::engine::handle::Look;
use crate::frontend::link::close_reason::CloseReason;
use crate::frontend::locks::call_context::CallContext;
use crate::frontend::locks::pending_claim::answer_of;
use crate::frontend::observe::held_back::HeldBack;
use crate::frontend::observe::pending_row_update::PendingRowUpdate;
use crate::frontend::observe::row_update::{RowUpdate, UnknownLocks};
use crate::lock::codes;
use crate::lock::held::{NO_ROW, Release};
use crate::lock::name::{Key, Name, listed};
use crate::lock::timeout::Timeout;
use crate::metrics::CallOutcome;
use crate::mutants::{self, Mutant};
use crate::protocol::status::Status;

/// Time between two attempts to read the server's locks.
const AGAIN: Duration = Duration::from_millis(250);
/// How often a statement may have taken one lock.
const MOST_TIMES: usize = 1000;

/// Whether the client has the answer to the statement that took a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AnswerEnd {
    /// The end of the answer waits for the row.
    HeldBack,
    /// The client has the answer, or the sweep found the lock.
    Given,
}

/// Writes what a response means for the rows, and then lets the client have the end of it.
pub(crate) async fn settle_rows(
    cx: &mut CallContext<'_>,
    unsettled: PendingRowUpdate,
) -> Result<(), CloseReason> {
    let PendingRowUpdate { need, untold, held, sent, run } = unsettled;
    let count = |cx: &CallContext<'_>, instead| {
        if let Some(run) = run {
            run.count(cx.context, instead);
        }
    };
    let answer = if held.is_some() { AnswerEnd::HeldBack } else { AnswerEnd::Given };
    let (mut bytes, whole) = held.map_or_else(<_>::default, HeldBack::into_parts);
    if mutants::on(Mutant::AnswerBeforeRow) {
        cx.send_client(&std::mem::take(&mut bytes))?;
    }
    if let RowUpdate::Look(function, name) = need {
        let look = cx.locks.look_up(name.key);
        let out = match answer_of(cx, look).await? {
            Look::Used(conn) if whole => held_by(&bytes, function, conn),
            // The rows are not asked again: the server's answer is true of the server.
            Look::Used(_) | Look::Free | Look::Failed(_) => bytes,
        };
        count(cx, None);
        return cx.send_client(&out);
    }
    let claims = matches!(need, RowUpdate::Claim(..));
    let granted = whole && claims && says_one(&bytes);
    let row = match &need {
        RowUpdate::Claim(name, _) if granted && confirm_and_enter(cx, name).await? => Row::Kept,
        _ => follow(cx, need, untold, sent, answer).await?,
    };
    count(
        cx,
        match &row {
            // A kept row also answers where the response does not tell: DO.
            Row::Kept if claims => Some(CallOutcome::One),
            Row::Unproven if granted => Some(CallOutcome::Ended),
            Row::Kept | Row::Unproven => None,
            Row::NotFree if whole => Some(CallOutcome::Zero),
            Row::NotFree | Row::OverLimit(_) | Row::Failed(_) | Row::Unread(_) => {
                Some(CallOutcome::Failed)
            }
        },
    );
    let out = match row {
        Row::Kept if granted && is_about_to_end(cx) => return Err(CloseReason::Drained),
        // The server is ending the session, and has freed the lock.
        Row::Unproven if granted && cx.locks.is_draining() => return Err(CloseReason::Drained),
        Row::Unproven if granted => return Err(CloseReason::ServerGone),
        Row::Kept | Row::Unproven => bytes,
        Row::NotFree if whole => {
            cx.server.owed_mut().skipped().answered(false);
            with_zero(&bytes)
        }
        Row::NotFree => error_instead(&bytes, &codes::held_in_rows()),
        Row::OverLimit(error) => error_instead(&bytes, &error),
        Row::Failed(why) | Row::Unread(why) => error_instead(&bytes, &codes::store_failed(&why)),
    };
    cx.send_client(&out)
}

/// Whether the proxy shuts down, and ends the session after this answer: it would lose the lock at once.
fn is_about_to_end(cx: &CallContext<'_>) -> bool {
    cx.locks.is_draining() && !cx.server.status().flags().has(Status::IN_TRANS)
}

/// Makes the rows say what a response says.
async fn follow(
    cx: &mut CallContext<'_>,
    need: RowUpdate,
    untold: UnknownLocks,
    sent: Option<std::time::Instant>,
    answer: AnswerEnd,
) -> Result<Row, CloseReason> {
    match need {
        RowUpdate::Claim(name, timeout) => {
            let limit = Limit::of(timeout, sent);
            match claim(cx, name.clone(), limit).await? {
                // The server may have it by another name.
                Row::Unproven => read(cx, vec![name], None, answer, PATIENCE).await,
                Row::Kept => Ok(Row::Kept),
                row => lose(cx, name, row, answer).await,
            }
        }
        RowUpdate::Read(asked) => read(cx, asked, untold, answer, PATIENCE).await,
        // Not every CALL waits for as long while the store is away.
        RowUpdate::Unknown => Ok(match read(cx, Vec::new(), untold, answer, LEAST).await? {
            Row::Unread(_) => Row::Kept,
            row => row,
        }),
        // The lock may have another name, or only the server knows whether it is still held.
        RowUpdate::Release(name) if !released(cx, &name.key) => {
            read(cx, vec![name], None, answer, PATIENCE).await
        }
        RowUpdate::ReleaseAll => {
            released_all(cx);
            Ok(Row::Kept)
        }
        RowUpdate::WriteLate => {
            write_late(cx).await?;
            Ok(Row::Kept)
        }
        RowUpdate::Release(_) | RowUpdate::Look(..) => Ok(Row::Kept),
    }
}

/// The server has released this lock once, if the session held it. Whether it is known what is left.
pub(crate) fn released(cx: &mut CallContext<'_>, key: &Key) -> bool {
    match cx.locks.ledger_mut().release(key) {
        Release::Last(token) => {
            cx.locks.ledger_mut().forget(key);
            cx.locks.note_late();
            release_later(cx, vec![(key.clone(), token)]);
            true
        }
        Release::Counted => true,
        Release::NotMine | Release::Uncounted => false,
    }
}

/// The server has released all locks of the session.
pub(crate) fn released_all(cx: &mut CallContext<'_>) {
    let taken = cx.locks.ledger_mut().take_all();
    cx.locks.note_late();
    release_later(cx, taken.locks);
}

fn release_later(cx: &mut CallContext<'_>, mut locks: Vec<(Key, u64)>) {
    locks.retain(|(_, token)| *token != NO_ROW);
    if let (Some(proxy), false) = (cx.locks.ledger().granted_by(), locks.is_empty()) {
        cx.locks.release_later(locks, proxy);
    }
}

/// Reads which locks the session holds at the server, and makes the rows say the same. A failed read is repeated for as
/// long as the client waits for the answer, but no longer than `patience`.
async fn read(
    cx: &mut CallContext<'_>,
    asked: Vec<Name>,
    untold: UnknownLocks,
    answer: AnswerEnd,
    patience: Duration,
) -> Result<Row, CloseReason> {
    let until = Instant::now() + if stands_by(cx) { patience.min(LEAST) } else { patience };
    cx.context.metrics.native_reads.inc();
    let known: Vec<(Key, u64)> = cx.locks.ledger().held().all();
    let of_ledger = known.iter().map(|(key, _)| listed(key.folded()));
    let without_row = cx.locks.ledger().without_row().iter().cloned();
    let asked: Vec<Name> = asked.into_iter().chain(of_ledger).chain(without_row).collect();
    let locks = loop {
        let names = cx.locks.native_locks(asked.clone());
        match answer_of(cx, names).await? {
            Ok(locks) => break locks,
            Err(_) if answer == AnswerEnd::HeldBack && Instant::now() < until => {
                answer_of(cx, Box::pin(tokio::time::sleep(AGAIN))).await?;
            }
            Err(why) => {
                cx.context.metrics.native_reads_failed.inc();
                tracing::debug!(error = why, "cannot read the server's locks of a session");
                // The rows are mended when they can be. The client is told if it can be told still.
                if answer == AnswerEnd::HeldBack && !stands_by(cx) {
                    return Ok(Row::Unread(why));
                }
                for name in asked {
                    cx.locks.keep_without_row(name);
                }
                return Ok(Row::Kept);
            }
        }
    };
    if let Some(statement) = untold.filter(|_| !locks.complete) {
        note_native_only(cx, &statement, locks.unlisted);
    }
    let names = locks.names;
    // Without any lock, the server has ended the session, or is about to.
    let nothing = names.is_empty() && (locks.complete || cx.locks.is_draining());
    let gone: Vec<(Key, u64)> =
        known.into_iter().filter(|(key, _)| !names.iter().any(|name| name.key == *key)).collect();
    for (key, _) in &gone {
        cx.locks.ledger_mut().forget(key);
    }
    cx.locks.note_late();
    release_later(cx, gone);
    let kept = |key: &Key| names.iter().any(|name| name.key == *key);
    cx.locks.ledger_mut().keep_of_those_without_row(kept);
    cx.locks.ledger_mut().uncount();
    let mut worst = if nothing { Row::Unproven } else { Row::Kept };
    for name in names {
        if cx.locks.ledger().held().contains(&name.key) {
            continue;
        }
        match claim(cx, name.clone(), Limit::of(Timeout::Wait(PATIENCE), None)).await? {
            Row::Kept => cx.locks.ledger_mut().uncount(),
            Row::Unproven => {}
            row => worst = lose(cx, name, row, answer).await?,
        }
    }
    Ok(worst)
}

/// What comes of a lock whose row the session does not get: it goes back at the server, or stays there
/// alone.
async fn lose(
    cx: &mut CallContext<'_>,
    name: Name,
    row: Row,
    answer: AnswerEnd,
) -> Result<Row, CloseReason> {
    // A client that has its answer must not lose the lock in silence.
    if answer == AnswerEnd::Given || (matches!(row, Row::Failed(_)) && stands_by(cx)) {
        count(cx, "native");
        cx.locks.keep_without_row(name);
        return Ok(Row::Kept);
    }
    count(cx, if matches!(row, Row::NotFree) { "not_free" } else { "failed" });
    give_back(cx, &name).await?;
    Ok(row)
}

/// Releases a lock at the server as often as the statement took it.
async fn give_back(cx: &mut CallContext<'_>, name: &Name) -> Result<(), CloseReason> {
    let sql = format!("SELECT RELEASE_LOCK({})", name.expression(cx.flavour()));
    for _ in 0..MOST_TIMES {
        match cx.question_row(sql.as_bytes()).await?.as_deref() {
            Some([Some(value)]) if value == b"1" => {}
            Some([_]) => return Ok(()),
            _ => break,
        }
    }
    Err(CloseReason::Broken("the server's lock could not be given back"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::handle::Acquired;
    use crate::frontend::locks::fakes::{PROXY, Stage, error, key, row, run};
    use crate::frontend::observe::row_update::UntoldStatement;
    use crate::lock::name::plain;
    use crate::protocol::frame::put_frame;
    use crate::types::Flavour;

    fn name(text: &str) -> Name {
        plain(text.as_bytes(), Flavour::MySql).expect("a plain name")
    }

    /// The response to a GET_LOCK that gave this digit.
    fn response(digit: u8) -> Vec<u8> {
        let definition = b"\x03def\0\0\0\x01x\0\x0c\x2d\0\x01\0\0\0\x08\x81\0\0\0\0";
        let mut out = Vec::new();
        for (seq, packet) in (1..).zip([&[1][..], definition, &[1, digit], b"\xfe\0\0\x02\0\0\0"]) {
            put_frame(&mut out, seq, packet);
        }
        out
    }

    /// Settles a GET_LOCK of mine that gave this.
    fn claims(stage: &mut Stage, digit: u8) -> Result<(), CloseReason> {
        let mut held = HeldBack::new(true);
        assert!(held.feed(&response(digit)).is_empty());
        let need = RowUpdate::Claim(name("a"), TRY);
        let unsettled = PendingRowUpdate { need, held: Some(held), ..PendingRowUpdate::unasked() };
        run(settle_rows(&mut stage.cx(), unsettled))
    }

    fn settle(stage: &mut Stage, need: RowUpdate) -> Result<(), CloseReason> {
        let mut held = HeldBack::new(true);
        assert!(held.feed(&response(b'1')).is_empty());
        let unsettled = PendingRowUpdate { need, held: Some(held), ..PendingRowUpdate::unasked() };
        run(settle_rows(&mut stage.cx(), unsettled))
    }

    const TRY: Timeout = Timeout::Once;

    fn given_back(stage: &mut Stage) {
        stage.answers("SELECT RELEASE_LOCK", row(&[Some("1")]));
        stage.answers("SELECT RELEASE_LOCK", row(&[Some("0")]));
    }

    #[test]
    fn the_client_gets_the_answer_when_the_row_is_written() {
        let mut stage = Stage::new(Flavour::MySql);
        stage.grants(5);
        settle(&mut stage, RowUpdate::Claim(name("a"), TRY)).expect("a live session");
        assert_eq!(stage.server.client, response(b'1'));
        assert_eq!(stage.cx().locks.ledger().held().grants(), [(key("a"), 5)]);
        // Again: it is counted, and released once only at the end.
        settle(&mut stage, RowUpdate::Claim(name("a"), TRY)).expect("a live session");
        for released in [&[][..], &["a".to_owned()]] {
            settle(&mut stage, RowUpdate::Release(name("a"))).expect("a live session");
            assert_eq!(stage.locks.released, released);
        }
    }

    #[test]
    fn where_rows_may_be_late_the_client_gets_the_answer_at_once() {
        for known in [true, false] {
            let mut stage = Stage::new(Flavour::MySql);
            (stage.locks.late, stage.locks.confirmed) = (true, known);
            claims(&mut stage, b'1').expect("a live session");
            assert_eq!(stage.server.client, response(b'1'));
            assert!(stage.locks.confirmed, "the server was asked in which run it is");
            let cx = stage.cx();
            assert!(cx.locks.ledger().held().late_since(&key("a")).is_some());
            assert!(cx.locks.ledger().depends_on(PROXY), "a lost lease ends it");
            // Taken twice, it is held until the second release, and there is nothing to write.
            claims(&mut stage, b'1').expect("a live session");
            for held in [true, false] {
                settle(&mut stage, RowUpdate::Release(name("a"))).expect("a live session");
                assert_eq!(stage.cx().locks.ledger().held().contains(&key("a")), held);
            }
            assert!(stage.locks.released.is_empty() && stage.locks.cancelled == 0);
        }
    }

    #[test]
    fn a_row_is_late_only_for_a_lock_that_the_server_has_granted_and_beside_native_errors() {
        // A DO does not tell; a client that is to have an error waits for the row.
        for (decision, need) in
            [("native", RowUpdate::Read(Vec::new())), ("error", RowUpdate::Claim(name("a"), TRY))]
        {
            let mut stage = Stage::with(Flavour::MySql, |raw| {
                raw.on_store_error = Some(decision.to_owned());
            });
            stage.locks.late = true;
            stage.locks.native.push_back(vec![name("a")]);
            stage.grants(5);
            settle(&mut stage, need).expect("a live session");
            assert_eq!(stage.cx().locks.ledger().held().grants(), [(key("a"), 5)], "{decision}");
        }
        let mut stage = Stage::new(Flavour::MySql);
        stage.locks.late = true;
        stage.locks.outcomes.push_back(Acquired::Unproven);
        stage.locks.native.push_back(Vec::new());
        claims(&mut stage, b'0').expect("a live session");
        assert!(stage.cx().locks.ledger().held().is_empty());
    }

    #[test]
    fn late_rows_are_written_before_a_command_that_reads_them() {
        let mut stage = Stage::new(Flavour::MySql);
        (stage.locks.late, stage.locks.confirmed) = (true, true);
        claims(&mut stage, b'1').expect("a live session");
        stage.grants(7);
        run(settle_rows(&mut stage.cx(), PendingRowUpdate::late())).expect("a live session");
        assert_eq!(stage.cx().locks.ledger().held().grants(), [(key("a"), 7)]);
        assert_eq!(stage.server.client, response(b'1'), "nothing more is said");
    }

    #[test]
    fn a_lock_held_by_rows_alone_is_given_back_and_answered_with_zero() {
        let mut stage = Stage::new(Flavour::MySql);
        stage.locks.outcomes.push_back(Acquired::NotFree);
        // The statement may have taken it more than once.
        for answer in ["1", "1", "0"] {
            let sql = "SELECT RELEASE_LOCK(CONVERT(x'61' USING utf8mb4))";
            stage.answers(sql, row(&[Some(answer)]));
        }
        settle(&mut stage, RowUpdate::Claim(name("a"), TRY)).expect("a live session");
        assert_eq!(stage.server.client, response(b'0'));
        assert!(stage.is_over() && stage.cx().locks.ledger().held().is_empty());
    }

    #[test]
    fn a_row_that_cannot_be_written_is_an_error_or_left_out() {
        for (decision, protects, code) in
            [("error", true, Some(1105)), ("native", true, None), ("native", false, Some(1105))]
        {
            let mut stage = Stage::with(Flavour::MySql, |raw| {
                raw.on_store_error = Some(decision.to_owned());
            });
            stage.locks.protects = protects;
            stage.locks.outcomes.push_back(Acquired::Failed("read-only".to_owned()));
            if code.is_some() {
                given_back(&mut stage);
            }
            settle(&mut stage, RowUpdate::Claim(name("a"), TRY)).expect("a live session");
            assert_eq!(stage.error_code(), code, "{decision}");
            assert_eq!(stage.server.client == response(b'1'), code.is_none());
            assert!(stage.is_over() && stage.cx().locks.ledger().held().is_empty());
        }
    }

    #[test]
    fn a_session_has_no_more_locks_than_it_may() {
        let mut stage = Stage::with(Flavour::MySql, |raw| raw.max_session_locks = Some(1));
        stage.holds("one", 1);
        given_back(&mut stage);
        settle(&mut stage, RowUpdate::Claim(name("a"), TRY)).expect("a live session");
        assert_eq!(stage.error_code(), Some(1226));
        assert!(stage.is_over() && stage.cx().locks.ledger().held().len() == 1);
    }

    #[test]
    fn a_lock_that_cannot_be_given_back_ends_the_session() {
        let mut stage = Stage::new(Flavour::MySql);
        stage.locks.outcomes.push_back(Acquired::NotFree);
        stage.answers("SELECT RELEASE_LOCK", error(1399));
        let end = settle(&mut stage, RowUpdate::Claim(name("a"), TRY));
        assert!(matches!(end, Err(CloseReason::Broken(_))));
    }

    #[test]
    fn locks_that_the_response_does_not_tell_are_read_from_the_server() {
        let mut stage = Stage::new(Flavour::MySql);
        stage.holds("gone", 1).holds("kept", 2).grants(3);
        stage.locks.native.push_back(vec![name("kept"), name("new")]);
        settle(&mut stage, RowUpdate::Read(Vec::new())).expect("a live session");
        assert_eq!(stage.server.client, response(b'1'));
        let mut held = stage.cx().locks.ledger().held().grants();
        held.sort_unstable();
        assert_eq!(held, [(key("kept"), 2), (key("new"), 3)]);
        assert_eq!(stage.locks.released, ["gone"]);
        // Only the server knows how often it is held.
        stage.locks.native.push_back(vec![name("kept"), name("new")]);
        settle(&mut stage, RowUpdate::Release(name("new"))).expect("a live session");
        assert_eq!(stage.locks.released, ["gone"]);
        stage.locks.native.push_back(vec![name("kept")]);
        settle(&mut stage, RowUpdate::Release(name("new"))).expect("a live session");
        assert_eq!(stage.locks.released, ["gone", "new"]);
    }

    #[test]
    fn a_lock_that_only_the_server_knows_is_counted() {
        let statement = |calls| UntoldStatement { text: "CALL p()".to_owned(), calls };
        let counted = |stage: &Stage, takes| {
            stage.context.metrics.native_only.with_label_values(&[takes]).get()
        };
        for (calls, takes) in [(true, "yes"), (false, "perhaps")] {
            let mut stage = Stage::new(Flavour::MariaDb);
            for lists in [true, false] {
                stage.locks.lists = lists;
                stage.locks.native.push_back(Vec::new());
                let untold = Some(statement(calls));
                run(read(&mut stage.cx(), Vec::new(), untold, AnswerEnd::HeldBack, PATIENCE))
                    .expect("a live session");
                assert_eq!(counted(&stage, takes), u64::from(!lists), "{takes}");
            }
        }
    }

    #[test]
    fn a_response_that_does_not_tell_is_an_error_if_the_server_cannot_be_asked() {
        for (answer, unread) in [(AnswerEnd::HeldBack, true), (AnswerEnd::Given, false)] {
            let mut stage = Stage::new(Flavour::MySql);
            stage.locks.protects = false;
            let row = run(read(&mut stage.cx(), Vec::new(), None, answer, Duration::ZERO));
            assert_eq!(matches!(row, Ok(Row::Unread(_))), unread);
        }
        // The server's lock protects, and the row follows.
        let mut stage = Stage::new(Flavour::MySql);
        let asked = vec![name("a")];
        let row = run(read(&mut stage.cx(), asked, None, AnswerEnd::HeldBack, Duration::ZERO));
        assert!(matches!(row, Ok(Row::Kept)) && !stage.cx().locks.ledger().holds_nothing());
        // Of one that perhaps has nothing to do with locks the server's answer is better than none.
        let mut stage = Stage::new(Flavour::MySql);
        settle(&mut stage, RowUpdate::Unknown).expect("a live session");
        assert_eq!(stage.server.client, response(b'1'));
    }

    #[test]
    fn a_lock_that_the_client_knows_of_is_not_given_back_unseen() {
        for outcome in [Acquired::NotFree, Acquired::Failed("read-only".to_owned())] {
            let mut stage = Stage::new(Flavour::MySql);
            stage.locks.native.push_back(vec![name("found")]);
            stage.locks.outcomes.push_back(outcome);
            let unsettled = PendingRowUpdate::unasked();
            run(settle_rows(&mut stage.cx(), unsettled)).expect("a live session");
            assert!(stage.server.client.is_empty(), "the client has asked nothing");
            assert!(stage.server.told.is_empty(), "nothing is released at the server");
        }
    }

    #[test]
    fn a_claim_that_is_not_proven_is_looked_into_once() {
        let mut stage = Stage::new(Flavour::MySql);
        stage.locks.outcomes.push_back(Acquired::Unproven);
        stage.locks.native.push_back(Vec::new());
        claims(&mut stage, b'0').expect("a live session");
        assert_eq!(stage.server.client, response(b'0'), "the server's answer");
        assert!(stage.cx().locks.ledger().held().is_empty() && stage.locks.native.is_empty());
    }

    #[test]
    fn a_lock_that_the_server_has_freed_is_not_reported_as_granted() {
        for draining in [true, false] {
            let mut stage = Stage::new(Flavour::MySql);
            stage.locks.draining = draining;
            stage.locks.outcomes.push_back(Acquired::Unproven);
            stage.locks.native.push_back(Vec::new());
            let end = claims(&mut stage, b'1').expect_err("it has ended");
            assert_eq!(matches!(end, CloseReason::Drained), draining, "{end:?}");
            assert!(stage.server.client.is_empty());
        }
    }

    #[test]
    fn a_session_that_is_closed_next_gets_no_lock() {
        for in_transaction in [true, false] {
            let mut stage = Stage::new(Flavour::MySql);
            stage.grants(5);
            stage.locks.draining = true;
            stage.server.say(u16::from(in_transaction) * Status::IN_TRANS);
            match claims(&mut stage, b'1') {
                Ok(()) => assert!(in_transaction && stage.server.client == response(b'1')),
                Err(end) => assert!(!in_transaction && matches!(end, CloseReason::Drained)),
            }
        }
    }

    #[test]
    fn a_lock_whose_row_cannot_be_written_is_claimed_later() {
        let mut stage = Stage::new(Flavour::MariaDb);
        stage.locks.lists = false;
        stage.locks.outcomes.push_back(Acquired::Failed("a backup".to_owned()));
        claims(&mut stage, b'1').expect("a live session");
        assert_eq!(stage.server.client, response(b'1'));
        assert!(!stage.cx().locks.ledger().holds_nothing());
        stage.grants(5).locks.native.push_back(vec![name("a")]);
        settle(&mut stage, RowUpdate::Unknown).expect("a live session");
        assert_eq!(stage.cx().locks.ledger().held().grants(), [(key("a"), 5)]);
        // Released before that, it is not claimed.
        stage.locks.outcomes.push_back(Acquired::Failed("a backup".to_owned()));
        settle(&mut stage, RowUpdate::Claim(name("b"), TRY)).expect("a live session");
        stage.locks.native.push_back(vec![name("a")]);
        settle(&mut stage, RowUpdate::Release(name("b"))).expect("a live session");
        assert!(stage.cx().locks.ledger().without_row().is_empty());
    }

    #[test]
    fn a_claim_waits_no_longer_than_the_client() {
        let mut stage = Stage::new(Flavour::MySql);
        stage.locks.protects = false;
        given_back(&mut stage);
        let wait = Timeout::Wait(Duration::from_millis(5));
        settle(&mut stage, RowUpdate::Claim(name("a"), wait)).expect("a live session");
        assert_eq!((stage.locks.cancelled, &stage.server.client), (1, &response(b'0')));
    }
}
