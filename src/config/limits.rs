//! Settings that have a least and a most: times and numbers.

use std::ops::RangeInclusive;
use std::time::Duration;

use rustix::process::{Resource, getrlimit};

use super::error::WrongValue;
use super::raw::Raw;
use crate::lock::lease::MIN_TTL;

/// Open files beside those of clients.
const BESIDE: u64 = 100;
/// The least time for a connection, whatever the server.
const BLINK: Duration = Duration::from_millis(100);
const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_hours(1);
const MONTH: Duration = Duration::from_hours(30 * 24);

/// The holds that have ended and are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HistoryLimits {
    /// In memory.
    pub holds: usize,
    /// Rows in the table `lock_history`; 0: none is written.
    pub rows: u64,
}

/// All limits of the settings.
pub(super) struct Limits {
    pub(super) lease: Duration,
    pub(super) collect_after: Duration,
    pub(super) connect_timeout: Duration,
    pub(super) writer_wait: Duration,
    pub(super) switchover_hold: Duration,
    pub(super) login_timeout: Duration,
    pub(super) drain_timeout: Duration,
    pub(super) workers: usize,
    pub(super) max_connections: usize,
    pub(super) max_session_locks: usize,
    pub(super) history: HistoryLimits,
    pub(super) keep_names: Duration,
    pub(super) row_delay: Duration,
}

/// Reads them; or the key of one that is outside, and the bounds.
pub(super) fn read(raw: &Raw) -> Result<Limits, WrongValue> {
    let clients = raw.max_connections.unwrap_or(0);
    let locks = raw.max_session_locks.unwrap_or(10_000);
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    let (connect, login) = (raw.connect_timeout.as_deref(), raw.login_timeout.as_deref());
    let (collect, drain) = (raw.collect_after.as_deref(), raw.drain_timeout.as_deref());
    Ok(Limits {
        lease: time("lease", raw.lease.as_deref(), "30s", MIN_TTL..=HOUR)?,
        collect_after: time("collect_after", collect, "10m", SECOND..=24 * HOUR)?,
        connect_timeout: time("connect_timeout", connect, "5s", BLINK..=HOUR)?,
        writer_wait: time("writer_wait", raw.writer_wait.as_deref(), "30s", Duration::ZERO..=HOUR)?,
        switchover_hold: hold(raw.switchover_hold.as_deref())?,
        login_timeout: time("login_timeout", login, "10s", BLINK..=HOUR)?,
        drain_timeout: time("drain_timeout", drain, "30s", Duration::ZERO..=MONTH)?,
        workers: match number("workers", raw.workers.unwrap_or(0), 0..=256)? {
            0 => cores(),
            given => given,
        },
        max_connections: match number("max_connections", clients, 0..=1_000_000)? {
            0 => default_connections(),
            given => given,
        },
        max_session_locks: number("max_session_locks", locks, 1..=1_000_000)?,
        history: history(raw)?,
        keep_names: keep_names(raw)?,
        row_delay: time("row_delay", raw.row_delay.as_deref(), "25ms", Duration::ZERO..=SECOND)?,
    })
}

/// As many clients as the limit of open files has room for, and not more than this.
const CONNECTIONS: usize = 10_000;

/// The number of clients, if it is not given: 10,000, or less where the limit of open files has no room for them.
pub fn default_connections() -> usize {
    let most = getrlimit(Resource::Nofile).maximum;
    let room = most.map(|files| files.saturating_sub(BESIDE) / 2);
    room.and_then(|room| usize::try_from(room).ok()).unwrap_or(CONNECTIONS).clamp(1, CONNECTIONS)
}

/// Open files that so many clients need: two each, and store connections, pages and logs.
pub fn files_for(connections: usize) -> u64 {
    2 * connections as u64 + BESIDE
}

/// The holds that are remembered, and those that are written: they wait in memory.
fn history(raw: &Raw) -> Result<HistoryLimits, WrongValue> {
    let holds = number("history", raw.history.unwrap_or(4000), 0..=100_000)?;
    let rows = number("history_rows", raw.history_rows.unwrap_or(0), 0..=1_000_000)?;
    if rows > 0 && holds < 100 {
        return Err((
            "history_rows",
            "rows are written from memory: history must be 100 or more".to_owned(),
        ));
    }
    Ok(HistoryLimits { holds, rows: rows as u64 })
}

/// How long names are kept.
fn keep_names(raw: &Raw) -> Result<Duration, WrongValue> {
    time("keep_names", raw.keep_names.as_deref(), "0s", Duration::ZERO..=Duration::from_mins(1))
}

/// How long statements may wait for a planned switch of the primary.
pub(super) fn hold(given: Option<&str>) -> Result<Duration, WrongValue> {
    time("switchover_hold", given, "10s", BLINK..=Duration::from_mins(1))
}

pub(super) fn time(
    key: &'static str,
    given: Option<&str>,
    default: &str,
    within: RangeInclusive<Duration>,
) -> Result<Duration, WrongValue> {
    let text = given.unwrap_or(default);
    let value = humantime::parse_duration(text).map_err(|_| {
        (key, format!("{text:?} is no duration; give for example 30s, 500ms or 2m"))
    })?;
    if within.contains(&value) {
        return Ok(value);
    }
    let (least, most) = within.into_inner();
    let [value, least, most] = [value, least, most].map(humantime::format_duration);
    Err((key, format!("{value} is outside {least} to {most}")))
}

pub(super) fn number(
    key: &'static str,
    value: usize,
    within: RangeInclusive<usize>,
) -> Result<usize, WrongValue> {
    if within.contains(&value) {
        return Ok(value);
    }
    let (least, most) = within.into_inner();
    Err((key, format!("{value} is outside {least} to {most}")))
}
