//! Advice for the move from one mode to the next, for `lockstead check` and `lockstead doctor`: what the server, the
//! lock tables and a running proxy tell.

use std::path::Path;

use super::ask::ask_at;
use crate::config::{ClusterPlan, Config, FencedCommit, HostPort, Mode, StoreUrl};
use crate::engine::io::gatekeeper::PREFIX;
use crate::lock::name::{Key, shown};
use crate::store::connection::{StoreConnection, StoreError};
use crate::store::overview::ProxyInfo;
use crate::store::user_locks::{UserLock, UserLocks};

/// Proxies that are looked at.
const MOST: usize = 1000;
/// The state of one that lives.
const LIVE: u8 = 1;
/// Metrics of a running proxy, with or without labels.
const DIRECT: &str = "lockstead_direct_locks_seen_total";
const NATIVE_ONLY: &str = "lockstead_native_only_statements_total";
const FENCED: &str = "lockstead_fenced_commits_total";

/// Something to know before the next step.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Remark {
    /// Whether something has to be done; if not, it is only good to know.
    pub(super) problem: bool,
    /// A name that stays as it is.
    pub(super) code: &'static str,
    pub(super) text: String,
    pub(super) advice: String,
}

/// What there is to know of a cluster. A server or a proxy that does not answer tells nothing: that is reported
/// elsewhere.
pub(super) async fn remarks(config: &Config, cluster: Option<&str>) -> Vec<Remark> {
    let mut remarks = Vec::new();
    if let Some(store) = &config.store
        && let Ok(ServerSight { unlisted, direct, proxies }) = inspect(config, store).await
    {
        remarks.extend(unlisted.filter(|_| config.mode != Mode::Durable).map(not_listed));
        remarks.extend(taken_directly(&direct).filter(|_| config.mode == Mode::Durable));
        remarks.extend(mixed(config.mode, &proxies));
    }
    if let Some(socket) = &config.admin.socket
        && config.mode == Mode::Durable
        && config.fenced_commit != FencedCommit::Off
        && let Ok(metrics) = ask_at(socket, "SHOW METRICS").await
    {
        remarks.extend(unfenced(&metrics.texts(), cluster));
    }
    if let Some(socket) = &config.admin.socket
        && let Some(seen) = MoveCounts::ask(socket, cluster).await
    {
        remarks.extend(seen.remark(config.mode));
    }
    remarks
}

/// What the server and the lock tables tell.
struct ServerSight {
    /// Why the server does not list its own locks, if so.
    unlisted: Option<&'static str>,
    /// The server's own locks that have no row.
    direct: Vec<UserLock>,
    /// The proxies on the lock tables.
    proxies: Vec<ProxyInfo>,
}

async fn inspect(config: &Config, store: &StoreUrl) -> Result<ServerSight, StoreError> {
    let mut conn = StoreConnection::open(store, config.connect_timeout).await?;
    let (unlisted, mut direct) = match conn.user_locks(None).await? {
        UserLocks::Listed { locks, .. } => (None, locks),
        UserLocks::Unlisted(why) => (Some(why), Vec::new()),
    };
    direct.retain(|lock| !lock.name.given.starts_with(PREFIX.as_bytes()));
    if !direct.is_empty() {
        let keys: Vec<Key> = direct.iter().map(|lock| lock.name.key.clone()).collect();
        // Where there are no lock tables yet, there are no rows.
        if let Ok((named, own)) = conn.named_holders(&keys).await {
            direct.retain(|UserLock { conn, name }| {
                !own.contains(&conn.0) && !named.contains(&(*conn, name.key.clone()))
            });
        }
    }
    // A proxy that observes may have no lock tables yet.
    let proxies = conn.overview_proxies(MOST).await.unwrap_or_default();
    conn.close().await;
    Ok(ServerSight { unlisted, direct, proxies })
}

/// Commits that were sent though the locks of their session could not be checked.
fn unfenced(metrics: &[Vec<String>], cluster: Option<&str>) -> Option<Remark> {
    let denied = counted(metrics, cluster, FENCED, "result=\"denied\"");
    (denied > 0).then(|| Remark {
        problem: true,
        code: "unfenced",
        text: format!("since its start the running proxy has sent {denied} COMMITs of sessions with locks without the question whether the locks are still theirs: their accounts may not read the rows"),
        advice: "run the output of lockstead grants --application USER@HOST for each account that the log names, or set fenced_commit = \"off\" (docs/how-it-works.md)".to_owned(),
    })
}

/// Locks that exclude nobody in mode durable.
fn taken_directly(direct: &[UserLock]) -> Option<Remark> {
    let UserLock { conn, name } = direct.first()?;
    let (count, name) = (direct.len(), shown(&name.given));
    Some(Remark {
        problem: true,
        code: "taken-directly",
        text: format!(
            "{count} locks are held at the server itself, such as '{name}' by connection {conn}: in mode durable they exclude no client of a proxy, and no client of a proxy excludes them"
        ),
        advice: "let these clients connect through Lockstead, and look for stored programs that lock; or use mode = \"coexist\" until then (docs/moving-in.md)".to_owned(),
    })
}

fn not_listed(why: &'static str) -> Remark {
    Remark {
        problem: false,
        code: "native-list",
        text: "the server does not list its own locks: in mode coexist, a lock whose name a statement's text does not show has no row, and clients that connect directly are not found".to_owned(),
        advice: why.to_owned(),
    }
}

/// What proxies in differing modes do not do for each other.
fn mixed(mode: Mode, proxies: &[ProxyInfo]) -> Option<Remark> {
    let live = |native: bool| {
        let of = proxies.iter().filter(|p| p.state == LIVE && p.native == native);
        of.map(|p| p.addr.as_str()).collect::<Vec<_>>().join(", ")
    };
    let (durable, coexist) = (live(false), live(true));
    if mode == Mode::Observe && !durable.is_empty() {
        return Some(Remark {
            problem: true,
            code: "mixed-modes",
            text: format!(
                "this configuration observes, and other proxies on these lock tables run in mode durable ({durable}): their locks do not exclude the clients of this one, nor the other way round"
            ),
            advice: "set mode = \"coexist\" here, or change the others to coexist first".to_owned(),
        });
    }
    let both = (!durable.is_empty() || mode == Mode::Durable)
        && (!coexist.is_empty() || mode == Mode::Coexist);
    both.then(|| Remark {
        problem: false,
        code: "mixed-modes",
        text: "proxies in the modes coexist and durable use these lock tables: they exclude each other, but clients that connect directly are not excluded from locks of the proxies in mode durable".to_owned(),
        advice: "let no client connect directly that uses the same locks (docs/moving-in.md)".to_owned(),
    })
}

/// Clusters of one configuration whose modes do not exclude each other at the same server.
pub(super) fn apart(clusters: &[ClusterPlan]) -> Vec<String> {
    let of = |mode| clusters.iter().filter(move |c| c.config().mode == mode);
    let name = |cluster: &ClusterPlan| cluster.name.clone().unwrap_or_default();
    let mut told = Vec::new();
    for observing in of(Mode::Observe) {
        let servers = &observing.config().servers;
        for durable in of(Mode::Durable) {
            let has = |backend: &HostPort| servers.iter().any(|server| server.backend == *backend);
            let mut backends = durable.config().servers.iter().map(|server| &server.backend);
            let Some(backend) = backends.find(|backend| has(backend)) else { continue };
            told.push(format!(
                "clusters {} (observe) and {} (durable) have the same backend {backend}: locks of one do not exclude clients of the other",
                name(observing),
                name(durable)
            ));
        }
    }
    told
}

/// What a running proxy in mode coexist has seen since its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct MoveCounts {
    /// Locks of clients that connect directly.
    direct: u64,
    /// Statements that call GET_LOCK with a name that only the server knows.
    native_only: u64,
    /// Statements that perhaps take such locks.
    perhaps: u64,
}

/// The value of a metric in rows of SHOW METRICS, of the series with this label.
fn counted(metrics: &[Vec<String>], cluster: Option<&str>, name: &str, with: &str) -> u64 {
    let label = cluster.map(|name| format!("cluster=\"{name}\""));
    let mine = |series: &str| {
        let (metric, labels) = series.split_once('{').unwrap_or((series, ""));
        metric == name
            && labels.contains(with)
            && label.as_ref().is_none_or(|label| labels.contains(label))
    };
    let row = metrics.iter().find(|row| row.first().is_some_and(|series| mine(series)));
    row.and_then(|row| row.get(1)?.parse().ok()).unwrap_or_default()
}

impl MoveCounts {
    /// `None` if no proxy answers there, or it runs in another mode.
    async fn ask(socket: &Path, cluster: Option<&str>) -> Option<Self> {
        let settings = ask_at(socket, "SHOW CONFIG").await.ok()?.texts();
        let is_mode = |row: &[String]| {
            row.first().map(String::as_str) == Some(cluster.unwrap_or_default())
                && row.get(1).is_some_and(|key| key == "mode")
                && row.get(2).is_some_and(|mode| mode == "coexist")
        };
        if !settings.iter().any(|row| is_mode(row)) {
            return None;
        }
        let metrics = ask_at(socket, "SHOW METRICS").await.ok()?.texts();
        Some(Self::of(&metrics, cluster))
    }

    /// Reads rows of SHOW METRICS.
    fn of(metrics: &[Vec<String>], cluster: Option<&str>) -> Self {
        let value = |name: &str, with: &str| counted(metrics, cluster, name, with);
        Self {
            direct: value(DIRECT, ""),
            native_only: value(NATIVE_ONLY, "takes_lock=\"yes\""),
            perhaps: value(NATIVE_ONLY, "takes_lock=\"perhaps\""),
        }
    }

    fn remark(self, mode: Mode) -> Option<Remark> {
        let Self { direct, native_only, perhaps } = self;
        (direct + native_only + perhaps > 0).then(|| Remark {
            problem: mode == Mode::Durable,
            code: "not-yet",
            text: format!("mode durable: not yet. Since its start the running proxy has seen {direct} locks of clients that do not come through it, {native_only} statements that lock at the server only, and {perhaps} that perhaps do; in mode durable these would exclude nobody"),
            advice: "`lockstead locks` shows the direct clients, the proxy's log the statements; move them, then restart the proxy in mode coexist and look again (docs/moving-in.md)".to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proxy(native: bool, state: u8) -> ProxyInfo {
        ProxyInfo { id: 1, state, addr: "a:1".to_owned(), ttl_ms: 1, epoch: 1, native }
    }

    #[test]
    fn modes_that_do_not_exclude_each_other_are_reported() {
        let [durable, coexist] = [false, true].map(|native| proxy(native, LIVE));
        let dead = proxy(false, 2);
        for (mode, proxies, told) in [
            (Mode::Observe, vec![durable.clone()], Some(true)),
            (Mode::Observe, vec![coexist.clone(), dead.clone()], None),
            (Mode::Observe, vec![], None),
            (Mode::Coexist, vec![durable.clone()], Some(false)),
            (Mode::Coexist, vec![coexist.clone(), dead], None),
            (Mode::Durable, vec![coexist.clone()], Some(false)),
            (Mode::Durable, vec![durable], None),
        ] {
            let remark = mixed(mode, &proxies);
            assert_eq!(remark.map(|r| r.problem), told, "{mode:?} {proxies:?}");
        }
    }

    #[test]
    fn a_proxy_tells_by_its_metrics_whether_it_is_time() {
        let rows = [
            ("lockstead_direct_locks_seen_total{cluster=\"a\"}", "3"),
            ("lockstead_direct_locks_seen_total{cluster=\"b\"}", "0"),
            ("lockstead_native_only_statements_total{cluster=\"a\",takes_lock=\"perhaps\"}", "2"),
            ("lockstead_native_only_statements_total{cluster=\"a\",takes_lock=\"yes\"}", "1"),
        ];
        let rows = rows.map(|(series, value)| vec![series.to_owned(), value.to_owned()]);
        let seen = MoveCounts::of(&rows, Some("a"));
        assert_eq!(seen, MoveCounts { direct: 3, native_only: 1, perhaps: 2 });
        assert!(
            seen.remark(Mode::Durable).is_some_and(|r| r.problem && r.text.contains("3 locks"))
        );
        assert!(seen.remark(Mode::Coexist).is_some_and(|r| !r.problem));
        assert_eq!(MoveCounts::of(&rows, Some("b")).remark(Mode::Durable), None);
        let one = [vec!["lockstead_direct_locks_seen_total".to_owned(), "7".to_owned()]];
        assert_eq!(MoveCounts::of(&one, None).direct, 7);
    }
}
