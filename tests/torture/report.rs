//! The printed report: a summary, and the events around a violation.

use std::fmt::Write as _;
use std::time::Duration;

use crate::check::{Violation, tally};
use crate::fleet::Node;
use crate::history::Events;

/// What a run consisted of.
pub(crate) fn summary(events: &Events) -> String {
    let Events { holds, increments, looks, waits, queues, faults, sessions, .. } = events;
    let waited = waits.iter().filter(|w| w.to.saturating_sub(w.from) > Duration::from_millis(50));
    format!(
        "{} grants checked as intervals ({}), {} GET_LOCKs of which {} waited, {} increments, \
         {} looks, {} queues, {sessions} sessions; faults: {}",
        holds.len(),
        tally(holds.iter().map(|h| h.end)),
        waits.len(),
        waited.count(),
        increments.len(),
        looks.len(),
        queues.len(),
        tally(faults.iter().map(|f| f.kind)),
    )
}

/// A violation, with the events of its key and the faults around it.
pub(crate) fn explain(violation: &Violation, events: &Events) -> String {
    let Violation { rule, key, from, to, what } = violation;
    let around = |a: Duration, b: Duration, margin: u64| {
        let margin = Duration::from_secs(margin);
        a <= *to + margin && b + margin >= *from
    };
    let mut lines: Vec<(Duration, String)> = Vec::new();
    for f in events.faults.iter().filter(|f| around(f.from, f.to, 8)) {
        lines.push((f.from, format!("fault at {:?}: {}, until {:?}", f.proxy, f.detail, f.to)));
    }
    for h in events.holds.iter().filter(|h| h.key == *key && around(h.granted, h.until, 3)) {
        lines.push((
            h.granted,
            format!(
                "session {} (connection {}) at proxy {} is granted token {:?}, certain until {:?}, {}",
                h.session, h.conn, h.proxy, h.token, h.until, h.end
            ),
        ));
    }
    for i in events.increments.iter().filter(|i| i.key == *key && around(i.at, i.at, 3)) {
        let sure = if i.sure { "writes" } else { "may write" };
        lines
            .push((i.at, format!("session {} reads {}, {sure} {}", i.session, i.read, i.read + 1)));
    }
    lines.sort();
    let mut text = format!("VIOLATION of \"{rule}\", key '{key}', {from:?} to {to:?}: {what}");
    for (at, line) in lines {
        let _ = write!(text, "\n  {at:?}: {line}");
    }
    text
}

/// Writes the proxies' logs to files; where they are.
pub(crate) fn keep_logs(nodes: &[Node], title: &str) -> String {
    let name: String = title.chars().filter(char::is_ascii_alphanumeric).collect();
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::create_dir_all(&folder);
    for node in nodes {
        let _ = std::fs::write(folder.join(format!("{}.log", node.number)), node.log());
    }
    folder.display().to_string()
}
