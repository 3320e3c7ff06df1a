//! IS_FREE_LOCK and IS_USED_LOCK of a name that depends on a row: the server compares the name with
//! all that are held when the statement begins.

use super::rewrite::{Edit, Edits, Which, spliced};
use super::statement::{CallStatement, Flow};
use crate::engine::io::held_locks::HeldLock;
use crate::frontend::link::close_reason::CloseReason;
use crate::frontend::locks::call_context::CallContext;
use crate::frontend::locks::unsupported::refuse_unsupported;
use crate::lock::codes;
use crate::lock::function::Function;
use crate::sql::expression::composite::Call;
use crate::types::Flavour;

/// More held locks are not compared: each is a comparison in each row.
const MOST: usize = 1000;
/// Bytes of comparisons in one statement; servers take packets of 16 MiB by default.
const MAX_SIZE: usize = 512 * 1024;

/// Puts comparisons in the places of `calls`.
pub(crate) async fn look_by_row(
    cx: &mut CallContext<'_>,
    statement: &CallStatement<'_>,
    calls: &[&Call],
    edits: &mut Edits,
) -> Result<Flow, CloseReason> {
    if calls.is_empty() {
        return Ok(Flow::Continue);
    }
    if cx.context.replicas.is_some() {
        refuse_unsupported(cx, "a lock's name from a column")?;
        return Ok(Flow::Answered);
    }
    let held = match cx.locks.census().await {
        Ok(Some(held)) if held.len() <= MOST => held,
        Ok(_) => {
            refuse_unsupported(cx, "a lock's name from a column while so many locks are held")?;
            return Ok(Flow::Answered);
        }
        Err(why) => {
            cx.refuse(&codes::store_failed(&why))?;
            return Ok(Flow::Answered);
        }
    };
    cx.check_lease().await?;
    let mut size = 0;
    for call in calls {
        let Some(name) = call.arguments.first() else { continue };
        let name = spliced(statement.text, name.span.clone(), edits, Which::Trial);
        let expression = comparison(cx.flavour(), call.function, &name, &held);
        size += expression.len();
        if size > MAX_SIZE {
            refuse_unsupported(cx, "so many lock names from columns while so many locks are held")?;
            return Ok(Flow::Answered);
        }
        edits.push(Edit::everywhere(call.span.clone(), expression));
    }
    Ok(Flow::Continue)
}

/// What a call comes to, as the server can compute it. Of names that nobody holds, and of those that
/// are none, it says itself what it says: it has no such locks of its own.
fn comparison(flavour: Flavour, function: Function, name: &[u8], held: &[HeldLock]) -> Vec<u8> {
    let native = [function.name().as_bytes(), b"(", name, b")"].concat();
    if held.is_empty() {
        return native;
    }
    let (before, after): (&[u8], &[u8]) = match flavour {
        Flavour::MySql => (b"LOWER(CONVERT(", b" USING utf8mb4) COLLATE utf8mb4_general_ci)"),
        Flavour::MariaDb => (b"(", b")"),
    };
    let used = function == Function::IsUsedLock;
    let mut case =
        [b"CASE SUBSTRING_INDEX(CAST(", before, name, after, b" AS BINARY),x'00',1)"].concat();
    for HeldLock { key, conn, .. } in held {
        let holder = if used { conn.0 } else { 1 };
        case.extend_from_slice(
            format!(" WHEN x'{}' THEN {holder}", hex::encode(key.folded())).as_bytes(),
        );
    }
    case.extend_from_slice(b" END");
    let unused: &[u8] = match flavour {
        Flavour::MySql => b"(NULL AND 0)",
        Flavour::MariaDb => b"0",
    };
    match (used, flavour) {
        (true, Flavour::MySql) => {
            [b"IFNULL(CAST(", case.as_slice(), b" AS UNSIGNED),", &native, b")"].concat()
        }
        (true, Flavour::MariaDb) => [b"IFNULL(", case.as_slice(), b",", &native, b")"].concat(),
        (false, _) => {
            [b"IF((", case.as_slice(), b") IS NOT NULL,", unused, b",", &native, b")"].concat()
        }
    }
}
