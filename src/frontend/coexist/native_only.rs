//! Statements of which only the server knows the locks, where it does not list them.

use crate::frontend::locks::call_context::CallContext;
use crate::frontend::observe::row_update::UntoldStatement;
use crate::frontend::shared::shapes::News;

/// Why the server's list does not help.
const NO_NAME: &str = "the server's list does not have the name of every lock of this session";

/// Counts a statement whose locks are perhaps the server's alone; each shape is logged once.
pub(super) fn note_native_only(
    cx: &CallContext<'_>,
    statement: &UntoldStatement,
    unlisted: Option<&'static str>,
) {
    let UntoldStatement { text, calls } = statement;
    let takes = if *calls { "yes" } else { "perhaps" };
    cx.context.metrics.native_only.with_label_values(&[takes]).inc();
    if cx.context.shapes.note_shape("native only", text) != News::Known {
        tracing::warn!(
            connection = %cx.identity.connection(),
            owner = %cx.identity.owner_text(),
            statement = text,
            takes_lock = takes,
            why = unlisted.unwrap_or(NO_NAME),
            "only the server knows which locks this statement takes: they have no rows; statements of this shape are not logged again"
        );
    }
}
