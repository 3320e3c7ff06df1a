//! Statements with lock calls that are recognised and not covered: refused, or run by the server as
//! they are. Each shape of them is logged once.

use super::call_context::CallContext;
use crate::config::Unsupported;
use crate::frontend::link::close_reason::CloseReason;
use crate::frontend::shared::context::Context;
use crate::frontend::shared::shapes::{News, SHOWN};
use crate::frontend::state::identity::Identity;
use crate::lock::codes;
use crate::protocol::command::Command;
use crate::protocol::frame::HEADER;
use crate::protocol::reply::ErrorReply;
use crate::sql::lexer::dialect::Dialect;
use crate::sql::report::digest_text::normalise;

/// Why a call is refused of which the server alone knows the name or the timeout.
pub(crate) const UNJUDGED: &str = "a lock name or timeout of this type";

/// What happens to a statement that is not covered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Decision {
    /// The server runs it.
    Native,
    /// The client gets an error.
    Refused,
}

/// Why each call is refused in a session at a replica.
const AT_REPLICA: &str = "a lock call at a replica (role = \"replica\")";

/// Why a statement is refused, and what its client is told: where the session is at a replica, that counts alone.
pub(crate) fn refusal<'a>(
    context: &Context,
    what: &'a str,
    error: fn(&str) -> ErrorReply,
) -> (&'a str, ErrorReply) {
    if context.replicas.is_some() {
        return (AT_REPLICA, codes::at_replica());
    }
    (what, error(what))
}

/// Has the server run the current command, which it refuses.
pub(crate) fn run_as_it_is(cx: &mut CallContext<'_>) -> Result<(), CloseReason> {
    let packet = cx.command.take_packet();
    cx.forward(&packet)
}

/// Answers a statement that is not covered, of which nothing is carried out.
pub(crate) fn refuse_unsupported(cx: &mut CallContext<'_>, what: &str) -> Result<(), CloseReason> {
    let packet = cx.command.take_packet();
    let text = cx.command.take_text();
    let native = runs_uncovered(cx.context) && !packet.is_empty();
    let decision = if native { Decision::Native } else { Decision::Refused };
    let (what, error) = refusal(cx.context, what, codes::unsupported);
    note_unsupported(cx, what, &text, decision);
    if let Some(command) = packet.get(HEADER) {
        cx.count(Command(*command));
    }
    if native { cx.forward(&packet) } else { cx.refuse(&error) }
}

/// Refuses a statement of which some calls are carried out.
pub(crate) fn refuse_midway(cx: &mut CallContext<'_>, what: &str) -> Result<(), CloseReason> {
    let text = cx.command.take_text();
    let (what, error) = refusal(cx.context, what, codes::unsupported_midway);
    note_unsupported(cx, what, &text, Decision::Refused);
    cx.refuse(&error)
}

/// Whether the server may run what is not covered.
pub(crate) fn runs_uncovered(context: &Context) -> bool {
    // A replica's own locks exclude nobody at the writer.
    context.config.unsupported == Unsupported::Native && context.replicas.is_none()
}

/// Counts and logs a statement that is not covered.
pub(crate) fn note_unsupported(cx: &CallContext<'_>, what: &str, text: &[u8], decision: Decision) {
    note_uncovered(cx.context, cx.identity, cx.dialect(), what, text, decision);
}

/// Counts and logs a statement that is not covered, where no command is answered.
pub(crate) fn note_uncovered(
    context: &Context,
    identity: &Identity,
    dialect: Dialect,
    what: &str,
    text: &[u8],
    decision: Decision,
) {
    let decision = match decision {
        Decision::Native => "native",
        Decision::Refused => "refused",
    };
    context.metrics.unsupported.with_label_values(&[decision]).inc();
    let statement = normalise(text, dialect, SHOWN);
    let news = context.shapes.note_shape(what, &statement);
    if news != News::Known {
        tracing::warn!(
            connection = %identity.connection(),
            owner = %identity.owner_text(),
            why = what,
            statement,
            decision,
            "a statement with a lock call is not covered; statements of this shape are not logged again"
        );
    }
    if news == News::Last {
        tracing::warn!(
            "too many different statements are not covered: further ones are only counted"
        );
    }
}

#[cfg(test)]
mod tests {
    use prometheus::IntGauge;

    use super::super::fakes::Stage;
    use super::*;
    use crate::config::HostPort;
    use crate::protocol::packet;
    use crate::servers::replicas::Replicas;
    use crate::types::Flavour;

    const TEXT: &[u8] = b"SELECT f(GET_LOCK('a', 1))";

    fn stage(unsupported: Option<&str>) -> Stage {
        let mut stage =
            Stage::with(Flavour::MySql, |raw| raw.unsupported = unsupported.map(str::to_owned));
        let packet = packet::command(&[&[3], TEXT]);
        stage.command.keep(&packet, TEXT);
        stage
    }

    fn counted(stage: &Stage, decision: &str) -> u64 {
        stage.context.metrics.unsupported.with_label_values(&[decision]).get()
    }

    #[test]
    fn a_statement_that_is_not_covered_is_refused_and_counted() {
        let mut stage = stage(None);
        refuse_unsupported(&mut stage.cx(), "a reason").expect("the session goes on");
        assert_eq!(stage.error_code(), Some(1235));
        assert!(stage.server.told.is_empty(), "the server does not see it");
        assert_eq!((counted(&stage, "refused"), counted(&stage, "native")), (1, 0));
    }

    #[test]
    fn the_server_runs_it_where_the_settings_say_so() {
        let mut stage = stage(Some("native"));
        refuse_unsupported(&mut stage.cx(), "a reason").expect("the session goes on");
        assert!(stage.server.client.is_empty());
        assert_eq!(stage.server.told, ["forward: SELECT f(GET_LOCK('a', 1))"]);
        assert_eq!((counted(&stage, "refused"), counted(&stage, "native")), (0, 1));
    }

    #[test]
    fn at_a_replica_the_server_runs_no_call_whatever_the_settings_say() {
        let mut stage = stage(Some("native"));
        let gauge = |_: &HostPort| IntGauge::new("sessions", "of a test").expect("a gauge");
        stage.context.replicas = Some(Replicas::of(stage.context.reach.writer(), gauge));
        refuse_unsupported(&mut stage.cx(), "a reason").expect("the session goes on");
        assert_eq!(stage.error_code(), Some(1290));
        assert!(stage.server.told.is_empty());
        assert_eq!((counted(&stage, "refused"), counted(&stage, "native")), (1, 0));
    }

    #[test]
    fn nothing_is_run_by_the_server_after_some_of_it_was_carried_out() {
        let mut stage = stage(Some("native"));
        refuse_midway(&mut stage.cx(), "a reason").expect("the session goes on");
        assert_eq!(stage.error_code(), Some(1235));
        let mut stage = self::stage(Some("native"));
        stage.command.drop_packet();
        refuse_unsupported(&mut stage.cx(), "a reason").expect("the session goes on");
        assert_eq!(stage.error_code(), Some(1235));
        assert!(stage.server.told.is_empty());
    }
}
