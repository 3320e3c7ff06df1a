//! The loop of a session that waits for its server: it hears its events meanwhile.

use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use super::owner::{Asked, Locks};
use crate::engine::handle::SessionEvent;
use crate::frontend::link::close_reason::CloseReason;
use crate::frontend::link::errand::Errand;
use crate::frontend::shared::context::Context;

/// How long an errand may go on after its session was killed, or its server was left. A server that runs answers, or
/// sends its last error, well within that time.
const GRACE: Duration = Duration::from_millis(500);

/// Whether the session looks at an event when the errand is over, if it goes on then. Whether its client is still there, it
/// cannot tell now.
fn is_for_later(event: SessionEvent) -> bool {
    use SessionEvent::{GiveBack, Interrupt, Kill, Look, SwitchoverChanged, WriterChanged};
    matches!(event, Kill | Interrupt | GiveBack | WriterChanged | SwitchoverChanged | Look(_))
}

/// Carries out an errand, unless an event ends the session.
pub(crate) async fn attend<T>(
    locks: &mut dyn Locks,
    context: &Context,
    errand: Errand<'_, T>,
) -> Result<T, CloseReason> {
    let attended = attend_or_interrupt(locks, context, errand, || false).await?;
    attended.ok_or(CloseReason::Killed)
}

/// Carries out an errand that needs no grace. KILL QUERY ends it while `idles` is true; the result is `None` then.
pub(crate) async fn attend_or_interrupt<T>(
    locks: &mut dyn Locks,
    context: &Context,
    mut errand: Errand<'_, T>,
    idles: impl Fn() -> bool + Send,
) -> Result<Option<T>, CloseReason> {
    let (mut later, mut end) = (Vec::new(), None);
    // Ends with the errand or the session.
    let reason = loop {
        let event = tokio::select! {
            biased;
            result = errand.work() => {
                for event in later {
                    locks.tell_again(event);
                }
                return result.map(Some);
            }
            event = locks.next_event() => event,
            reason = grace(&mut end) => break reason,
        };
        if event == SessionEvent::Interrupt && idles() {
            return Ok(None);
        }
        if let SessionEvent::Look(question) = event
            && idles()
        {
            locks.present(question);
            continue;
        }
        later.extend(is_for_later(event).then_some(event));
        let reason = match locks.handle_event(event) {
            Ok(Asked::Nothing | Asked::GiveBack | Asked::Look(_)) => continue,
            Ok(Asked::End) => CloseReason::Killed,
            Err(CloseReason::Left) => CloseReason::Left,
            Err(reason) => break reason,
        };
        if idles() {
            break reason;
        }
        end.get_or_insert((Instant::now() + GRACE, reason));
    };
    context.metrics.errands_cut.with_label_values(&[errand.kind().label()]).inc();
    Err(reason)
}

/// Waits until the grace is over. Why the session ends then.
async fn grace(end: &mut Option<(Instant, CloseReason)>) -> CloseReason {
    match end {
        Some((until, _)) => sleep_until(*until).await,
        None => std::future::pending().await,
    }
    end.take().map_or(CloseReason::Killed, |(_, reason)| reason)
}

#[cfg(test)]
mod tests {
    use super::super::fakes::{Stage, run};
    use super::*;
    use crate::frontend::link::errand::ErrandKind;
    use crate::types::Flavour;

    /// An errand of this many milliseconds.
    fn errand(ms: u64) -> Errand<'static, ()> {
        Errand::new(ErrandKind::Question, async move {
            tokio::time::sleep(Duration::from_millis(ms)).await;
            Ok(())
        })
    }

    /// What comes of it, after these events; which are to come again; and how many errands were cut.
    fn attended(
        ms: u64,
        events: &[SessionEvent],
        idles: bool,
    ) -> (Result<Option<()>, CloseReason>, Vec<SessionEvent>, u64) {
        let mut stage = Stage::new(Flavour::MySql);
        stage.locks.events.extend(events);
        let Stage { locks, context, .. } = &mut stage;
        let result = run(attend_or_interrupt(locks, context, errand(ms), || idles));
        let cut = context.metrics.errands_cut.with_label_values(&["question"]).get();
        (result, stage.locks.events.into(), cut)
    }

    #[test]
    fn a_session_that_is_killed_gives_its_server_a_moment() {
        let (result, again, cut) = attended(100, &[SessionEvent::Kill], false);
        assert!(matches!(result, Ok(Some(()))));
        assert_eq!((again, cut), (vec![SessionEvent::Kill], 0));
        let (result, _, cut) = attended(60_000, &[SessionEvent::Kill], false);
        assert!(matches!(result, Err(CloseReason::Killed)));
        assert_eq!(cut, 1);
    }

    #[test]
    fn an_errand_ends_at_once_with_its_session() {
        for (events, idles) in [([SessionEvent::Lost(1)], false), ([SessionEvent::Kill], true)] {
            let (result, _, cut) = attended(100, &events, idles);
            assert!(matches!(result, Err(CloseReason::Lost(_) | CloseReason::Killed)));
            assert_eq!(cut, 1);
        }
    }

    #[test]
    fn events_that_can_wait_come_again() {
        let later = [SessionEvent::GiveBack, SessionEvent::Interrupt, SessionEvent::Look(7)];
        let events = [&later[..], &[SessionEvent::Drain]].concat();
        let (result, again, cut) = attended(50, &events, false);
        assert!(matches!(result, Ok(Some(()))));
        assert_eq!((again, cut), (later.to_vec(), 0));
    }

    #[test]
    fn kill_query_ends_a_wait_for_a_connection() {
        let (result, _, _) = attended(60_000, &[SessionEvent::Interrupt], true);
        assert!(matches!(result, Ok(None)));
    }
}
