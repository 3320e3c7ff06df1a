//! Which of a statement's calls the server evaluates next, and how often.
//!
//! Only the server knows in which order it evaluates an expression, and what it leaves out. So it
//! runs the statement with probes in the places of the calls that are still to be carried out: locks
//! of its own, under random names. The first probe to be evaluated takes one name,
//! and a flag by which all others take another.

use crate::frontend::link::close_reason::CloseReason;
use crate::frontend::locks::call_context::CallContext;
use std::fmt::Write as _;
use std::ops::Range;

use super::rewrite::{Edit, Edits, Which, spliced};
use super::statement::CallStatement;
use crate::lock::function::Function;
use crate::protocol::frame::HEADER;
use crate::protocol::response::Ending;
use crate::sql::expression::composite::{Call, Verb};

/// How the names of probes begin.
pub(crate) const PREFIX: &str = "lockstead_probe_";
/// A statement that evaluates a call more often than this is refused.
pub(crate) const MAX_TIMES: u32 = 16;
/// Attempts to release probes.
const RELEASES: u32 = 4;

/// What a trial has shown.
pub(crate) enum NextCall {
    /// The next call that is evaluated, and how often.
    Call { nth: usize, times: u32 },
    /// None of the first so many is evaluated.
    None(usize),
    /// This error has ended the trial: of another run it says nothing.
    Ended(Vec<u8>),
    /// The trial has warned or failed. Where rows are written, warnings may be errors, and errors none.
    Warned,
}

/// Finds the next of `waiting`, which are in the order of the text. In a `scope`, only that part
/// of the statement is run.
pub(crate) async fn next_call(
    cx: &mut CallContext<'_>,
    statement: &CallStatement<'_>,
    waiting: &[&Call],
    scope: Option<Range<usize>>,
    edits: &Edits,
) -> Result<NextCall, CloseReason> {
    let CallStatement { text, composite, .. } = statement;
    let inside = |call: &&&Call| {
        scope.as_ref().is_none_or(|s| s.start <= call.span.start && call.span.end <= s.end)
    };
    let together = waiting.iter().take_while(inside).count();
    let probes = Probes { base: rand::random() };
    let mut trial = edits.clone();
    for (nth, call) in waiting.iter().enumerate().take(together) {
        let probe = probes.expression(nth, call.function);
        trial.push(Edit {
            span: call.span.clone(),
            last: Vec::new(),
            trial: probe.into(),
            keeps: false,
        });
    }
    let sql = if let Some(span) = scope {
        // LIMIT overrides sql_select_limit.
        let part = spliced(text, span, &trial, Which::Trial);
        [b"SELECT ", part.as_slice(), b" LIMIT 1"].concat()
    } else {
        let into = composite.into.iter().cloned();
        trial.extend(into.map(|(span, _)| Edit::everywhere(span, Vec::new())));
        spliced(text, 0..composite.end, &trial, Which::Trial)
    };
    let reply = cx.ask_for_the_end(&sql).await?;
    let ended = reply.is_interrupted();
    let mut times = vec![0; together];
    let mut first = None;
    let release = probes.release(together);
    for round in 0..=MAX_TIMES {
        let row = release_probes(cx, &release).await?;
        let had = |i: usize| matches!(row.get(i), Some(Some(one)) if *one == b"1");
        for (nth, times) in times.iter_mut().enumerate() {
            first = first.or_else(|| had(1 + 2 * nth).then_some(nth));
            *times += u32::from(had(1 + 2 * nth)) + u32::from(had(2 + 2 * nth));
        }
        if !(0..row.len()).any(had) {
            break;
        }
        if round == MAX_TIMES {
            // The rest belongs to a statement that is refused.
            cx.question(b"DO RELEASE_ALL_LOCKS()").await?;
            times.fill(MAX_TIMES + 1);
        }
    }
    let said = || reply.frames().last().map(|f| f[HEADER..].to_vec()).unwrap_or_default();
    if ended {
        return Ok(NextCall::Ended(said()));
    }
    let warned = match reply.ending {
        Ending::Ok { warnings, .. } => warnings > 0,
        Ending::Err { .. } => first.is_none(),
        Ending::Plain => false,
    };
    if warned && composite.verb == Verb::Change {
        return Ok(NextCall::Warned);
    }
    Ok(match first {
        Some(nth) => NextCall::Call { nth, times: times[nth] },
        // That it failed before any of them says nothing about another run.
        None if reply.is_error() => NextCall::Ended(said()),
        None => NextCall::None(together),
    })
}

/// Releases the probes, and tells which there were. A KILL QUERY for the trial may come late: not
/// to know what was evaluated would be to make up an answer.
async fn release_probes(
    cx: &mut CallContext<'_>,
    release: &str,
) -> Result<Vec<Option<Vec<u8>>>, CloseReason> {
    for _ in 0..RELEASES {
        if let Some(row) = cx.question_row(release.as_bytes()).await? {
            return Ok(row);
        }
    }
    Err(CloseReason::Broken("the server does not release the locks of a trial"))
}

/// Names of one trial's locks.
struct Probes {
    base: u64,
}

impl Probes {
    fn name(&self, what: &str) -> String {
        format!("_utf8mb4'{PREFIX}{:016x}_{what}'", self.base)
    }

    /// An expression of the type of a call, never the same as another's.
    fn expression(&self, nth: usize, function: Function) -> String {
        let (flag, first, later) = (
            self.name("flag"),
            self.name(&format!("{nth}_first")),
            self.name(&format!("{nth}_later")),
        );
        let probe =
            format!("GET_LOCK(IF(IS_FREE_LOCK({flag}),{first},{later}),0*GET_LOCK({flag},0))");
        match function {
            Function::GetLock | Function::ReleaseLock | Function::IsFreeLock => probe,
            Function::IsUsedLock => format!("IS_USED_LOCK(CONCAT({},{probe}))", self.name("none")),
            // Never NULL.
            Function::ReleaseAllLocks => format!("IFNULL({probe},0)"),
        }
    }

    /// Releases each lock once: the flag, then both names of each probe.
    fn release(&self, probes: usize) -> String {
        let mut sql = format!("SELECT RELEASE_LOCK({})", self.name("flag"));
        for nth in 0..probes {
            for what in ["first", "later"] {
                let name = self.name(&format!("{nth}_{what}"));
                let _ = write!(sql, ",RELEASE_LOCK({name})");
            }
        }
        sql
    }
}
