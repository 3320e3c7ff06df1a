//! A statement's text with other expressions in the places of its lock calls.

use crate::frontend::link::close_reason::CloseReason;
use crate::frontend::locks::call_context::CallContext;
use std::ops::Range;

use crate::lock::function::Function;
use crate::sql::expression::composite::{Call, Composite};
use crate::sql::find::words::Back;
use crate::types::Flavour;

/// Expressions for the place of a call.
#[derive(Debug, Clone)]
pub(crate) struct Edit {
    pub span: Range<usize>,
    /// In the statement that the client's answer comes from.
    pub last: Vec<u8>,
    /// In those that are run to see which calls are evaluated.
    pub trial: Vec<u8>,
    /// The parameters in it are still there.
    pub keeps: bool,
}

impl Edit {
    /// Puts one expression into the trials and into the last statement.
    pub(crate) fn everywhere(span: Range<usize>, expression: Vec<u8>) -> Self {
        Self { span, last: expression.clone(), trial: expression, keeps: false }
    }
}

/// Edits of several calls.
pub(crate) type Edits = Vec<Edit>;

/// Which of the expressions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Which {
    Last,
    Trial,
}

/// The edit for a call that is not evaluated.
pub(crate) fn edit_for_nothing(cx: &CallContext<'_>, call: &Call) -> Edit {
    // Were it evaluated nevertheless, it must not look like a lock.
    let value = (call.function == Function::ReleaseAllLocks).then_some(0);
    edit_for(cx, call, value, &[], false)
}

/// The session's id, where the statement asks for that of a shared connection.
pub(crate) fn id_edits(cx: &CallContext<'_>, composite: &Composite) -> Edits {
    if !cx.server.pooled().is_shared() {
        return Edits::new();
    }
    let id = cx.identity.connection();
    let edits = composite.looks_back.iter().filter_map(|(span, back)| {
        // With the types of the function and of the variable on either server: the id has ten digits.
        let expression = match back {
            Back::ConnectionId => format!("CAST({id} AS UNSIGNED)"),
            Back::ThreadId => format!("NULLIF(~~{id},0)"),
            Back::RowCount | Back::FoundRows | Back::Warnings | Back::Errors => return None,
        };
        Some(Edit::everywhere(span.clone(), expression.into_bytes()))
    });
    edits.collect()
}

/// What the statement before has left behind, for one that asks for it: the server must be asked
/// before it is asked anything else.
pub(crate) async fn look_back(
    cx: &mut CallContext<'_>,
    composite: &Composite,
) -> Result<Edits, CloseReason> {
    let results: Vec<_> = composite.looks_back.iter().filter(|(_, back)| !back.is_id()).collect();
    let mut edits = id_edits(cx, composite);
    if cx.server.pooled().is_shared() && !results.is_empty() {
        // Calls that the proxy has answered count, too.
        cx.server.replay_skipped()?;
        cx.settle().await?;
    }
    let (remembered, results): (Vec<_>, Vec<_>) =
        results.into_iter().partition(|(_, back)| cx.server.pooled().remembered(*back).is_some());
    for (span, back) in remembered {
        let value = cx.server.pooled().remembered(*back).unwrap_or(0).to_string();
        edits.push(Edit::everywhere(span.clone(), result_expression(cx, *back, &value)));
    }
    if results.is_empty() {
        return Ok(edits);
    }
    cx.server.replay_skipped()?;
    let names: Vec<&str> = results.iter().map(|(_, back)| back.sql()).collect();
    let question = format!("SELECT {}", names.join(","));
    let row = cx.question_row(question.as_bytes()).await?.unwrap_or_default();
    edits.extend(results.into_iter().zip(row).filter_map(|((span, back), value)| {
        let value = String::from_utf8(value?).ok()?;
        Some(Edit::everywhere(span.clone(), result_expression(cx, *back, &value)))
    }));
    Ok(edits)
}

/// An expression for a result that the statement before has left.
fn result_expression(cx: &CallContext<'_>, back: Back, value: &str) -> Vec<u8> {
    let value = format!("CAST('{value}' AS SIGNED)");
    let warns = back == Back::FoundRows && cx.flavour() == Flavour::MySql;
    // MySQL warns of the function wherever it is named.
    if warns { format!("IF(0,FOUND_ROWS(),{value})").into_bytes() } else { value.into_bytes() }
}

/// The edit for a call that returned `value`; `again` has warnings to repeat.
pub(crate) fn edit_for(
    cx: &CallContext<'_>,
    call: &Call,
    value: Option<u64>,
    again: &[Vec<u8>],
    tables: bool,
) -> Edit {
    let constant = call.function.calm_expression(cx.flavour(), value);
    let evaluated = call.function.value_expression(cx.flavour(), value, again);
    // To MySQL's planner a lock call is a constant, to MariaDB's it is none.
    let (last, trial) = match cx.flavour() {
        Flavour::MySql if tables => {
            (call.function.warning_expression(value, again).unwrap_or(constant.clone()), constant)
        }
        Flavour::MySql => (evaluated, constant),
        // Calls that only look are constants to MariaDB's planner, too.
        Flavour::MariaDb if call.looks() => {
            (if tables { constant.clone() } else { evaluated }, constant)
        }
        Flavour::MariaDb => (evaluated.clone(), evaluated),
    };
    Edit { span: call.span.clone(), last, trial, keeps: false }
}

/// Which of a statement's parameters are left in its last text.
pub(crate) fn kept_parameters(composite: &Composite, edits: &[Edit]) -> Vec<usize> {
    let gone: Vec<_> = edits.iter().filter(|e| !e.keeps).map(|e| e.span.clone()).collect();
    let inside = |at: usize| gone.iter().any(|span| span.contains(&at));
    (0..composite.params.len()).filter(|nth| !inside(composite.params[*nth])).collect()
}

/// Part of a text with expressions in the places of calls.
pub(crate) fn spliced(text: &[u8], range: Range<usize>, edits: &[Edit], which: Which) -> Vec<u8> {
    let inside = |edit: &&Edit| range.start <= edit.span.start && edit.span.end <= range.end;
    let mut edits: Vec<_> = edits.iter().filter(inside).collect();
    edits.sort_unstable_by_key(|edit| (edit.span.start, std::cmp::Reverse(edit.span.end)));
    let mut out = Vec::with_capacity(range.len() + 64);
    let mut at = range.start;
    for Edit { span, last, trial, .. } in edits {
        // In the arguments of a call that has one.
        if span.start < at {
            continue;
        }
        out.extend_from_slice(&text[at..span.start]);
        out.extend_from_slice(if which == Which::Last { last } else { trial });
        at = span.end;
    }
    out.extend_from_slice(&text[at..range.end]);
    out
}
