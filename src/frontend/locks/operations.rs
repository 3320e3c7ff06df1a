//! What a lock call does: it takes, releases, or looks.

use std::time::Duration;

use tokio::time::timeout;

use super::arguments::{Given, Judged, judge_name, judge_timeout};
use super::call_context::CallContext;
use super::ended_wait::EndedWait;
use super::visible_wait::{WaitStatement, Waited};
use super::wait::wait_for;
use crate::clock;
use crate::engine::handle::{Acquired, Look};
use crate::frontend::link::close_reason::CloseReason;
use crate::frontend::shared::context::Context;
use crate::lock::codes;
use crate::lock::function::Function;
use crate::lock::held::{Release, Taken};
use crate::lock::name::{Key, Name};
use crate::lock::timeout::Timeout;
use crate::metrics::CallOutcome;
use crate::protocol::reply::ErrorReply;
use crate::store::identity::ident_expression;

/// How long the client of a RELEASE_LOCK waits for its row.
const RELEASED: Duration = Duration::from_secs(1);

/// The holder of a lock.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Holder {
    /// Nobody.
    None,
    /// This connection.
    Connection(u64),
    /// The lock tables did not say, for this reason.
    Unknown(String),
}

/// What RELEASE_LOCK came to.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Released {
    /// One acquisition was given back.
    Mine,
    /// The session does not hold the lock.
    NotMine(Holder),
}

/// What came of a call.
pub(crate) enum CallResult {
    /// A value, and the expressions whose warnings the server must repeat.
    Value(Option<u64>, Vec<Vec<u8>>),
    /// A value, and expressions that end the statement with an error.
    Fails(Option<u64>, Vec<Vec<u8>>),
    /// The statement goes to the server unchanged.
    Native,
    /// The server's answer to a wait is the answer.
    Said(CallOutcome, Vec<u8>),
    /// The wait ended its statement.
    EndedWait(EndedWait),
    /// A name or timeout that nobody can judge.
    Unsupported,
    /// An error.
    Error(ErrorReply),
}

/// Does what a call asks.
pub(crate) async fn make_call(
    cx: &mut CallContext<'_>,
    shown: &WaitStatement<'_>,
    given: Vec<Given>,
) -> Result<CallResult, CloseReason> {
    let function = shown.call.bare.function;
    let outcome = evaluate_call(cx, shown, given).await?;
    let label = match &outcome {
        CallResult::Value(Some(0), _) | CallResult::Fails(Some(0), _) => CallOutcome::Zero,
        CallResult::Value(Some(_), _) | CallResult::Fails(Some(_), _) => CallOutcome::One,
        // A wait for a lock that has a name answers NULL if it was ended.
        CallResult::Value(None, _) | CallResult::Fails(None, _)
            if function == Function::GetLock =>
        {
            CallOutcome::Ended
        }
        CallResult::Value(None, _) | CallResult::Fails(None, _) => CallOutcome::Null,
        CallResult::Native => CallOutcome::Native,
        CallResult::Said(outcome, _) => *outcome,
        CallResult::EndedWait(_) => CallOutcome::Ended,
        CallResult::Unsupported => CallOutcome::Unsupported,
        CallResult::Error(_) => CallOutcome::Failed,
    };
    cx.context.metrics.call(function, label);
    Ok(outcome)
}

async fn evaluate_call(
    cx: &mut CallContext<'_>,
    shown: &WaitStatement<'_>,
    given: Vec<Given>,
) -> Result<CallResult, CloseReason> {
    let mut given = given.into_iter();
    let Some(first) = given.next() else {
        let count = release_held(cx).await?;
        return Ok(CallResult::Value(Some(count), Vec::new()));
    };
    if cx.context.replicas.is_some() {
        // Rows say which connection of the writer holds a lock, and one of a replica may have the same id.
        return Ok(CallResult::Unsupported);
    }
    let (name, mut pure) = match judge_name(cx, first).await? {
        Judged::Is(name, pure) | Judged::Fails(name, pure) => (name, pure),
        Judged::Native => return Ok(CallResult::Native),
        Judged::Ended(reply) => return Ok(CallResult::Said(CallOutcome::Ended, reply)),
        Judged::Unsupported => return Ok(CallResult::Unsupported),
    };
    match shown.call.bare.function {
        Function::GetLock => {
            let Some(second) = given.next() else {
                return Ok(CallResult::Native);
            };
            let (timeout, fails) = match judge_timeout(cx, second).await? {
                Judged::Is(timeout, more) => {
                    pure.extend(more);
                    (timeout, false)
                }
                Judged::Fails(timeout, more) => {
                    pure.extend(more);
                    (timeout, true)
                }
                Judged::Native => return Ok(CallResult::Native),
                Judged::Ended(reply) => return Ok(CallResult::Said(CallOutcome::Ended, reply)),
                Judged::Unsupported => return Ok(CallResult::Unsupported),
            };
            Ok(match get_lock(cx, name, timeout, shown, pure).await? {
                CallResult::Value(value, pure) if fails => CallResult::Fails(value, pure),
                outcome => outcome,
            })
        }
        Function::ReleaseLock => Ok(match release_lock(cx, name.key).await? {
            Released::Mine => CallResult::Value(Some(1), pure),
            Released::NotMine(holder) => holder.answer(pure, |conn| conn.map(|_| 0)),
        }),
        Function::IsFreeLock => {
            let holder = look_at(cx, name.key).await?;
            Ok(holder.answer(pure, |conn| Some(u64::from(conn.is_none()))))
        }
        Function::IsUsedLock => Ok(look_at(cx, name.key).await?.answer(pure, |conn| conn)),
        Function::ReleaseAllLocks => Ok(CallResult::Native),
    }
}

impl Holder {
    /// What a call answers, where `value` makes the answer of a connection, or nobody.
    fn answer(
        self,
        pure: Vec<Vec<u8>>,
        value: impl FnOnce(Option<u64>) -> Option<u64>,
    ) -> CallResult {
        match self {
            Self::None => CallResult::Value(value(None), pure),
            Self::Connection(conn) => CallResult::Value(value(Some(conn)), pure),
            Self::Unknown(why) => CallResult::Error(codes::store_failed(&why)),
        }
    }
}

async fn get_lock(
    cx: &mut CallContext<'_>,
    name: Name,
    timeout: Timeout,
    shown: &WaitStatement<'_>,
    pure: Vec<Vec<u8>>,
) -> Result<CallResult, CloseReason> {
    if cx.locks.ledger().held().contains(&name.key) {
        cx.check_lease().await?;
        cx.locks.ledger_mut().reenter(&name.key);
        return Ok(CallResult::Value(Some(1), pure));
    }
    if let Some(refusal) = over_limit(cx).or_else(|| over_waiters(cx, &timeout)) {
        return Ok(CallResult::Error(refusal));
    }
    check_server(cx).await?;
    let key = name.key.clone();
    let (value, outcome, said) = match wait_for(cx, name, timeout, shown, &pure).await? {
        Waited::Decided(Acquired::Granted(grant), said) => {
            if let Err(end) = check_server(cx).await {
                cx.locks.release(vec![(key, grant.token)], grant.proxy).await;
                return Err(end);
            }
            cx.enter_grant(key, grant)?;
            cx.check_lease().await?;
            (Some(1), CallOutcome::One, said)
        }
        Waited::Decided(Acquired::NotFree | Acquired::Unproven, said) => {
            (Some(0), CallOutcome::Zero, said)
        }
        Waited::Decided(Acquired::Deadlock, _) => {
            return Ok(CallResult::EndedWait(EndedWait::Deadlock));
        }
        Waited::Interrupted => return Ok(CallResult::EndedWait(EndedWait::Interrupted)),
        Waited::Decided(Acquired::Failed(why), _) => {
            return Ok(CallResult::Error(codes::store_failed(&why)));
        }
        Waited::Null(said) => (None, CallOutcome::Ended, said),
        Waited::Refused(error) => return Ok(CallResult::Said(CallOutcome::Ended, error)),
    };
    Ok(match said {
        Some(reply) => CallResult::Said(outcome, reply),
        None => CallResult::Value(value, pure),
    })
}

/// Why the session may not have one more lock.
pub(crate) fn over_limit(cx: &CallContext<'_>) -> Option<ErrorReply> {
    let most = cx.context.config.max_session_locks;
    let full = cx.locks.ledger().held().len() >= most;
    full.then(|| cx.limit_met("max_session_locks", most as u64))
}

/// Why the session may not wait.
fn over_waiters(cx: &CallContext<'_>, timeout: &Timeout) -> Option<ErrorReply> {
    let Context { config, metrics, .. } = &cx.context;
    let waits = !matches!(timeout, Timeout::Once | Timeout::Refused);
    let waiters = u32::try_from(metrics.waiting.get()).unwrap_or_default();
    let full = waits && config.max_waiters > 0 && waiters >= config.max_waiters;
    full.then(|| cx.limit_met("max_waiters", u64::from(config.max_waiters)))
}

/// A session at another server than the locks cannot have any: its connection id is free
/// there, or belongs to a stranger, and nobody would wait for its end.
pub(crate) async fn check_server(cx: &mut CallContext<'_>) -> Result<(), CloseReason> {
    if cx.server.known_since().is_some_and(|since| cx.locks.trusts(since)) {
        return Ok(());
    }
    let now = clock::now();
    let sql = format!("SELECT {}", ident_expression(cx.flavour()));
    let row = cx.question_row(sql.as_bytes()).await?;
    let home = cx.locks.home();
    if !matches!(row.as_deref(), Some([Some(ident)]) if *ident == home.as_bytes()) {
        return Err(CloseReason::Moved);
    }
    // A change from here on is asked about another time.
    cx.server.note_known(now);
    Ok(())
}

/// RELEASE_LOCK.
async fn release_lock(cx: &mut CallContext<'_>, key: Key) -> Result<Released, CloseReason> {
    match cx.locks.ledger_mut().release(&key) {
        Release::Counted => {
            cx.check_lease().await?;
            Ok(Released::Mine)
        }
        Release::Last(token) => {
            release(cx, vec![(key.clone(), token)]).await?;
            cx.locks.ledger_mut().forget(&key);
            Ok(Released::Mine)
        }
        Release::NotMine | Release::Uncounted => Ok(Released::NotMine(look_at(cx, key).await?)),
    }
}

/// The client gets an error, since the server's connection has ended: it has none of the locks that its command
/// took, and would not release them.
pub(crate) async fn give_back_unanswered(cx: &mut CallContext<'_>) -> Result<(), CloseReason> {
    let locks = cx.locks.ledger_mut().undo();
    if !locks.is_empty() {
        release(cx, locks.clone()).await?;
        for (key, _) in &locks {
            cx.locks.ledger_mut().forget(key);
        }
    }
    Ok(())
}

/// Releases everything; the number of acquisitions there were.
pub(crate) async fn release_held(cx: &mut CallContext<'_>) -> Result<u64, CloseReason> {
    let Taken { acquisitions, locks } = cx.locks.ledger_mut().take_all();
    if !locks.is_empty() {
        release(cx, locks).await?;
    }
    Ok(acquisitions)
}

async fn release(cx: &mut CallContext<'_>, locks: Vec<(Key, u64)>) -> Result<(), CloseReason> {
    let Some(proxy) = cx.locks.ledger().granted_by() else {
        return Ok(());
    };
    // While the tables cannot be written the row is freed later, and nobody has the lock until then.
    let _ = timeout(RELEASED, cx.locks.release(locks, proxy)).await;
    // Released, or lost with the lease: the difference decides what the client hears.
    cx.check_lease_of(proxy).await?;
    // Or lost before, which the engine has said by now.
    while let Some(event) = cx.locks.told_now() {
        cx.handle_event(event)?;
    }
    Ok(())
}

/// Looks at a lock.
async fn look_at(cx: &mut CallContext<'_>, key: Key) -> Result<Holder, CloseReason> {
    if cx.locks.ledger().held().contains(&key) {
        cx.check_lease().await?;
        return Ok(Holder::Connection(cx.identity.connection().0));
    }
    let mut look = cx.locks.look_up(key);
    let look = loop {
        tokio::select! {
            biased;
            look = &mut look => break look,
            // Others may look for this session meanwhile.
            event = cx.locks.next_event() => cx.handle_event(event)?,
        }
    };
    Ok(match look {
        Look::Free => Holder::None,
        Look::Used(conn) => Holder::Connection(conn.0),
        Look::Failed(why) => Holder::Unknown(why),
    })
}

#[cfg(test)]
mod tests {
    use super::super::bare_call::CallInPacket;
    use super::super::fakes::{CONNECTION, PROXY, Stage, key, row, run};
    use super::super::owner::Locks;
    use super::*;
    use crate::engine::handle::Grant;
    use crate::sql::classify::{Statement, classify};
    use crate::types::{ConnectionId, Flavour};

    /// Runs a bare call, to its value.
    fn call(stage: &mut Stage, text: &str) -> Result<CallResult, CloseReason> {
        let dialect = stage.cx().dialect();
        let Statement::Bare(bare) = classify(text.as_bytes(), dialect) else {
            panic!("no bare call: {text}");
        };
        let given = bare.arguments.iter().map(|a| Given::from_text(a, text.as_bytes())).collect();
        let call = CallInPacket { prefix: b"\x03", text: text.as_bytes(), bare };
        let statement =
            WaitStatement { call: &call, name: None, stale: None, cursor: false, stand_in: false };
        run(make_call(&mut stage.cx(), &statement, given))
    }

    fn value(stage: &mut Stage, text: &str) -> Option<u64> {
        match call(stage, text) {
            Ok(CallResult::Value(value, _)) => value,
            Ok(_) => panic!("no value: {text}"),
            Err(end) => panic!("{text}: {end:?}"),
        }
    }

    #[test]
    fn a_lock_that_is_held_is_taken_again_without_the_engine() {
        let mut stage = Stage::new(Flavour::MySql);
        stage.grants(5);
        assert_eq!(value(&mut stage, "SELECT GET_LOCK('a', 0)"), Some(1));
        assert_eq!(value(&mut stage, "SELECT GET_LOCK('A', 0)"), Some(1), "the same name");
        assert_eq!(value(&mut stage, "SELECT RELEASE_LOCK('a')"), Some(1));
        assert!(stage.locks.released.is_empty(), "it is still held once");
        assert_eq!(value(&mut stage, "SELECT RELEASE_LOCK('a')"), Some(1));
        assert_eq!(stage.locks.released, ["a"]);
        assert!(stage.locks.ledger().held().is_empty());
    }

    #[test]
    fn a_lock_that_is_not_held_is_released_as_its_holder_says() {
        let mut stage = Stage::new(Flavour::MySql);
        stage.locks.looks.extend([
            Look::Used(ConnectionId(9)),
            Look::Free,
            Look::Failed("as scripted".into()),
        ]);
        assert_eq!(value(&mut stage, "SELECT RELEASE_LOCK('a')"), Some(0));
        assert_eq!(value(&mut stage, "SELECT RELEASE_LOCK('a')"), None);
        assert!(matches!(
            call(&mut stage, "SELECT RELEASE_LOCK('a')"),
            Ok(CallResult::Error(error)) if error.message.contains("as scripted")
        ));
    }

    #[test]
    fn holders_are_identified_by_their_connection() {
        let mut stage = Stage::new(Flavour::MariaDb);
        stage.holds("mine", 3).locks.looks.extend([
            Look::Used(ConnectionId(9)),
            Look::Used(ConnectionId(9)),
            Look::Free,
            Look::Free,
        ]);
        assert_eq!(value(&mut stage, "SELECT IS_USED_LOCK('mine')"), Some(CONNECTION));
        assert_eq!(value(&mut stage, "SELECT IS_FREE_LOCK('mine')"), Some(0));
        assert_eq!(value(&mut stage, "SELECT IS_USED_LOCK('other')"), Some(9));
        assert_eq!(value(&mut stage, "SELECT IS_FREE_LOCK('other')"), Some(0));
        assert_eq!(value(&mut stage, "SELECT IS_USED_LOCK('free')"), None);
        assert_eq!(value(&mut stage, "SELECT IS_FREE_LOCK('free')"), Some(1));
    }

    #[test]
    fn all_locks_are_released_with_all_their_acquisitions() {
        let mut stage = Stage::new(Flavour::MySql);
        stage.holds("a", 1).holds("b", 2);
        assert_eq!(value(&mut stage, "SELECT GET_LOCK('b', 0)"), Some(1));
        assert_eq!(value(&mut stage, "SELECT RELEASE_ALL_LOCKS()"), Some(3));
        stage.locks.released.sort();
        assert_eq!(stage.locks.released, ["a", "b"]);
        assert_eq!(value(&mut stage, "SELECT RELEASE_ALL_LOCKS()"), Some(0));
    }

    #[test]
    fn a_lock_whose_lease_is_over_is_neither_taken_nor_released_in_silence() {
        let mut stage = Stage::new(Flavour::MySql);
        stage.holds("a", 1);
        stage.locks.lease.run_out();
        for text in
            ["SELECT GET_LOCK('a', 0)", "SELECT IS_USED_LOCK('a')", "SELECT RELEASE_LOCK('a')"]
        {
            assert!(matches!(call(&mut stage, text), Err(CloseReason::Fenced)), "{text}");
        }
    }

    #[test]
    fn a_grant_whose_lease_is_over_gets_no_answer() {
        let mut stage = Stage::new(Flavour::MySql);
        stage.grants(1);
        stage.locks.lease.run_out();
        let end = call(&mut stage, "SELECT GET_LOCK('a', 0)");
        assert!(matches!(end, Err(CloseReason::Fenced)));
    }

    #[test]
    fn a_grant_of_another_incarnation_does_not_stand_beside_what_is_held() {
        let mut stage = Stage::new(Flavour::MySql);
        stage.holds("a", 1);
        let grant = Grant { token: 2, proxy: crate::types::ProxyId(PROXY.0 + 1) };
        stage.locks.outcomes.push_back(Acquired::Granted(grant));
        let end = call(&mut stage, "SELECT GET_LOCK('b', 0)");
        assert!(matches!(end, Err(CloseReason::Fenced)));
        assert_eq!(stage.locks.gone, ["b"], "the engine gives it back");
        assert!(!stage.locks.ledger().held().contains(&key("b")));
    }

    #[test]
    fn a_session_at_its_limit_of_locks_gets_an_error() {
        let mut stage = Stage::with(Flavour::MySql, |raw| raw.max_session_locks = Some(1));
        stage.holds("a", 1);
        let Ok(CallResult::Error(error)) = call(&mut stage, "SELECT GET_LOCK('b', 0)") else {
            panic!("no error");
        };
        assert!(error.message.contains("max_session_locks"), "{}", error.message);
        assert_eq!(value(&mut stage, "SELECT GET_LOCK('a', 0)"), Some(1), "it is held");
    }

    #[test]
    fn a_server_that_may_be_another_one_is_asked_who_it_is() {
        let mut stage = Stage::new(Flavour::MySql);
        stage.locks.trusts = false;
        stage.grants(1).answers("SELECT ", row(&[Some("elsewhere")]));
        let end = call(&mut stage, "SELECT GET_LOCK('a', 0)");
        assert!(matches!(end, Err(CloseReason::Moved)) && stage.is_over());
        stage.answers("SELECT ", row(&[Some("home")])).answers("SELECT ", row(&[Some("home")]));
        assert_eq!(value(&mut stage, "SELECT GET_LOCK('a', 0)"), Some(1));
        assert!(stage.is_over(), "before the wait and after it");
    }

    #[test]
    fn how_a_wait_ends_is_what_the_client_gets() {
        let mut stage = Stage::new(Flavour::MySql);
        stage.locks.outcomes.extend([
            Acquired::NotFree,
            Acquired::Deadlock,
            Acquired::Failed("as scripted".into()),
        ]);
        let text = "SELECT GET_LOCK('a', 1)";
        assert_eq!(value(&mut stage, text), Some(0));
        let ended = call(&mut stage, text);
        assert!(matches!(ended, Ok(CallResult::EndedWait(EndedWait::Deadlock))));
        assert!(matches!(call(&mut stage, text), Ok(CallResult::Error(_))));
    }

    #[test]
    fn arguments_that_the_server_refuses_are_its_own() {
        let mut stage = Stage::new(Flavour::MariaDb);
        for text in
            ["SELECT GET_LOCK(NULL, 1)", "SELECT IS_FREE_LOCK(1.5)", "SELECT GET_LOCK('', 1)"]
        {
            assert!(matches!(call(&mut stage, text), Ok(CallResult::Native)), "{text}");
        }
    }
}
