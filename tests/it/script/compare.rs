//! The verdict: are two transcripts of one script equal, and if not, where not.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::Flavour;
use super::canon::{Canon, canon, pace};
use super::expand::Names;
use super::run::{Entry, Reply, Transcript};
use crate::wire::render;

/// What a comparison that found no difference covered.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Equal {
    pub(crate) steps: usize,
    /// Documented differences, which were as documented.
    pub(crate) differences: usize,
}

/// How much of two transcripts is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Compared {
    /// All.
    Whole,
    /// Of logins not how the password was proved; and of EOFs not whether something has changed, as MariaDB says
    /// there, too.
    WithoutProofs,
}

/// Equal, or the first difference with both renderings.
pub(crate) fn compare(
    direct: &Transcript,
    proxied: &Transcript,
    flavour: Flavour,
    names: &Names,
    how: Compared,
) -> Result<Equal, String> {
    let mut equal = Equal::default();
    for (left, right) in direct.entries.iter().zip(&proxied.entries) {
        let mut canons = (canon(left, direct, flavour), canon(right, proxied, flavour));
        if how == Compared::WithoutProofs {
            canons.0.forget_proofs();
            canons.1.forget_proofs();
        }
        let same = canons.0 == canons.1;
        let instead = right.step.instead.as_ref();
        // A session's first step has a login in front of it.
        if let (Some(instead), Some(said)) = (instead, summary(right, proxied)) {
            let instead = render::bytes(&names.expand(instead, &BTreeMap::new()));
            if said != instead || same {
                let whole = difference(left, right, &canons.0, &canons.1);
                return Err(format!("not the documented difference, which is {instead}\n{whole}"));
            }
            equal.differences += 1;
        } else if same {
            equal.steps += 1;
        } else {
            return Err(difference(left, right, &canons.0, &canons.1));
        }
    }
    if direct.entries.len() == proxied.entries.len() {
        Ok(equal)
    } else {
        Err(format!("{} steps, then {}", direct.entries.len(), proxied.entries.len()))
    }
}

/// Checks what the script says about the server itself; all that is wrong, a line each. `of_own`: the sessions were the
/// tests' own client. Others may count the rows that they find, or get no OUT parameters.
pub(crate) fn unexpected(
    direct: &Transcript,
    flavour: Flavour,
    names: &Names,
    of_own: bool,
) -> Vec<String> {
    let mut out = Vec::new();
    for entry in &direct.entries {
        let at = format!("line {}: {}", entry.step.line, entry.step.text);
        if entry.timed_out() {
            out.push(format!("{at}\n   timed out"));
        }
        let Some(response) = entry.response() else {
            continue;
        };
        if let Some(expected) = entry.step.expect.as_ref().filter(|_| of_own) {
            let said = summary(entry, direct).unwrap_or_default();
            let expected = render::bytes(&names.expand(expected, &BTreeMap::new()));
            if said != expected {
                let shown = render::response(response);
                out.push(format!("{at}\n   expected {expected}, {flavour:?} says {said}\n{shown}"));
            }
        }
        if let Some(expected) = entry.step.expected_ms {
            let due = if expected == 0 { "at once" } else { "after the wait" };
            let was = pace(response, &entry.step, expected);
            if was != due {
                out.push(format!("{at}\n   expected {due}, came {was}: {:?}", response.took));
            }
        }
    }
    out
}

/// What an entry's response says.
fn summary(entry: &Entry, transcript: &Transcript) -> Option<String> {
    let said = render::summary(entry.response()?);
    Some(if entry.shows_ids { with_names(&said, transcript) } else { said })
}

/// A summary in which the values that are connection ids are the sessions' names.
pub(crate) fn with_names(said: &str, direct: &Transcript) -> String {
    let named = |value: &str| {
        // After the last value a count of warnings may stand.
        let (word, rest) = value.split_at(value.find(' ').unwrap_or(value.len()));
        let is = |(.., id): &&(String, usize, u32)| word == id.to_string();
        let connection = direct.connections.iter().find(is);
        connection.map_or_else(|| value.to_owned(), |(name, ..)| format!("<{name}>{rest}"))
    };
    let row = |row: &str| row.split(" | ").map(named).collect::<Vec<_>>().join(" | ");
    said.split("; ").map(row).collect::<Vec<_>>().join("; ")
}

/// The whole run in words, for the author of a script.
pub(crate) fn shown_whole(transcript: &Transcript) -> String {
    transcript.entries.iter().fold(String::new(), |mut out, entry| {
        let summary = entry.response().map(render::summary).unwrap_or_default();
        let _ = write!(out, "{}\n= {summary}\n{}", entry.step.text, shown(entry));
        out
    })
}

fn difference(left: &Entry, right: &Entry, a: &Canon, b: &Canon) -> String {
    let mut out = format!("line {}: {}\n", left.step.line, left.step.text);
    if let Some(i) =
        (0..a.packets.len().max(b.packets.len())).find(|i| a.packets.get(*i) != b.packets.get(*i))
    {
        let _ = writeln!(out, "first difference in packet {i} of the reply");
    }
    if a.pace != b.pace || a.blocked != b.blocked || a.end != b.end {
        let _ = writeln!(
            out,
            "pace {:?} / {:?}, blocked {:?} / {:?}, end {:?} / {:?}",
            a.pace, b.pace, a.blocked, b.blocked, a.end, b.end
        );
    }
    let _ = write!(out, "direct:\n{}through the proxy:\n{}", shown(left), shown(right));
    out
}

fn shown(entry: &Entry) -> String {
    match &entry.reply {
        Reply::Response(response) => render::response(response),
        Reply::Login(login) => {
            let mut out = format!("  {:?}\n", login.greeting);
            for packet in &login.packets {
                let _ = writeln!(out, "  [{}] {}", packet.sequence(), render::decoded(packet, &[]));
            }
            let _ = writeln!(out, "  agreed {:032b}, {:?}", login.capabilities, login.end);
            out
        }
        Reply::Sent(blocked) => format!("  sent, waiting: {blocked:?}\n"),
    }
}
