//! Prometheus metrics: registered once, handed to whoever counts.

mod labels;
pub mod named;
pub mod observed;
mod register;
mod text;

use prometheus::{Gauge, Histogram, IntCounter, IntCounterVec, IntGauge, IntGaugeVec, Registry};

use crate::lock::function::Function;
pub use crate::metrics::labels::CallOutcome;
use crate::metrics::named::Named;
use crate::metrics::observed::Observed;
use crate::metrics::register::{counter, counter_vec, float_gauge, gauge, gauge_vec, histogram};

/// All metrics of a process.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    /// Those of a proxy that observes.
    pub observed: Option<Observed>,
    /// Those of single locks, where some are named.
    pub named: Option<Named>,
    /// Times that a limit of the configuration was met, by its key.
    pub limits: IntCounterVec,
    /// When the certificates end that the settings name, by the setting.
    pub certificate_end: IntGaugeVec,
    /// 1, labelled with the flavour of the server.
    pub server_info: IntGaugeVec,
    /// Open client sessions.
    pub sessions: IntGauge,
    /// Sessions accepted since start.
    pub sessions_total: IntCounter,
    /// Sessions refused or ended by the proxy, by reason.
    pub sessions_closed: IntCounterVec,
    /// Commands by name.
    pub commands: IntCounterVec,
    /// Bytes relayed to the server.
    pub bytes_to_server: IntCounter,
    /// Bytes relayed to clients.
    pub bytes_to_client: IntCounter,
    calls: IntCounterVec,
    /// Statements with a lock call in a form that is not yet covered.
    pub unsupported: IntCounterVec,
    /// Statements that define stored programs with lock calls inside.
    pub definitions: IntCounter,
    /// Time clients waited in GET_LOCK.
    pub wait_seconds: Histogram,
    /// Time locks were held.
    pub hold_seconds: Histogram,
    /// How long the lock that is held longest has been held by now.
    pub longest_hold: Gauge,
    /// How long the session that waits longest has waited by now.
    pub longest_wait: Gauge,
    /// Locks held by sessions of this proxy.
    pub held: IntGauge,
    /// Sessions waiting in GET_LOCK.
    pub waiting: IntGauge,
    /// Waits that are shown to the server.
    pub gates: IntGauge,
    /// Times that a wait could not be shown to the server, or was no longer.
    pub gate_failures: IntCounter,
    /// Length of the lease.
    pub lease_seconds: Gauge,
    /// Age of the last renewal.
    pub lease_age_seconds: Gauge,
    /// 1 while the lease is good for grants.
    pub lease_good: IntGauge,
    /// 1 while clients' connections reach the server.
    pub backend_up: IntGauge,
    /// 1 while renewals reach the server whose locks are kept.
    pub store_up: IntGauge,
    /// 1 while the server that answers is not the one whose locks are kept, by reason.
    pub store_foreign: IntGaugeVec,
    /// 1 for each right that the store account has beyond the tables.
    pub store_rights: IntGaugeVec,
    /// Time a renewal took.
    pub renewal_seconds: Histogram,
    /// Time a batch took.
    pub batch_seconds: Histogram,
    /// Keys in a batch.
    pub batch_keys: Histogram,
    /// Failed store statements by kind.
    pub store_errors: IntCounterVec,
    /// Sessions closed because their locks could no longer be vouched for.
    pub fenced_sessions: IntCounter,
    /// Dead incarnations, earlier ones of this process among them, whose locks this one freed.
    pub takeovers: IntCounter,
    /// Rows of unused locks that were deleted.
    pub rows_collected: IntCounter,
    /// Other proxies whose leases stand.
    pub live_peers: IntGauge,
    /// Rows that named this proxy, and no session of it.
    pub ghosts: IntCounter,
    /// Dead proxies, and ended sessions, that keep their locks because the store account may not see
    /// or end what the server does for them.
    pub stuck: IntGaugeVec,
    /// Held locks whose rows somebody else had deleted or changed.
    pub lost_rows: IntCounter,
    /// Other proxies woken, by result.
    pub rings: IntCounterVec,
    /// Locks left to a waiting proxy though sessions here wait too.
    pub yields: IntCounter,
    /// Deadlocks ended, by where they were found.
    pub deadlocks: IntCounterVec,
}

/// Bounds of histograms, from a loopback commit to a lock that is held for days. They lie above round
/// numbers, since timeouts are round: waits that end with theirs are all just below a bound, and a
/// quantile says so.
const SECONDS: [f64; 30] = [
    0.0006, 0.0012, 0.0025, 0.006, 0.012, 0.025, 0.06, 0.12, 0.25, 0.55, 1.1, 2.1, 3.2, 5.3, 10.5,
    15.5, 21.0, 31.0, 46.0, 63.0, 95.0, 125.0, 185.0, 310.0, 620.0, 930.0, 1850.0, 3700.0,
    22_000.0, 90_000.0,
];
/// Those for what takes seconds only when something is wrong.
const SHORT: usize = 16;

impl Metrics {
    /// Registers everything, labelled with the cluster's name if it has one.
    ///
    /// # Panics
    /// Never: names are constants, unique and valid, which a test checks.
    #[expect(clippy::too_many_lines, reason = "one table of all metrics")]
    pub fn new(cluster: Option<&str>) -> Result<Self, prometheus::Error> {
        let labels = cluster.map(|name| [("cluster".to_owned(), name.to_owned())].into());
        let registry = Registry::new_custom(None, labels)?;
        let r = &registry;
        let build = gauge_vec(r, "build_info", "Version of this build, always 1.", &["version"])?;
        build.with_label_values(&[env!("CARGO_PKG_VERSION")]).set(1);
        let metrics = Self {
            certificate_end: gauge_vec(
                r,
                "certificate_end_seconds",
                "When a certificate ends that a setting names, in seconds since 1970; of several, the first.",
                &["setting"],
            )?,
            server_info: gauge_vec(
                r,
                "server_info",
                "Kind of the server behind the proxy, always 1.",
                &["flavour"],
            )?,
            limits: counter_vec(
                r,
                "limits_met_total",
                "Times that a limit was met and something refused, by the key of the configuration.",
                &["limit"],
            )?,
            named: None,
            sessions: gauge(r, "sessions", "Client sessions open now.")?,
            sessions_total: counter(r, "sessions_total", "Client sessions accepted.")?,
            sessions_closed: counter_vec(
                r,
                "sessions_closed_total",
                "Client sessions that the proxy refused or ended itself, by reason.",
                &["reason"],
            )?,
            commands: counter_vec(
                r,
                "commands_total",
                "Commands received from clients.",
                &["command"],
            )?,
            bytes_to_server: counter(
                r,
                "relayed_to_server_bytes_total",
                "Bytes relayed from clients to the server.",
            )?,
            bytes_to_client: counter(
                r,
                "relayed_to_client_bytes_total",
                "Bytes relayed from the server to clients.",
            )?,
            calls: counter_vec(
                r,
                "lock_calls_total",
                "Lock function calls, by function and outcome.",
                &["function", "outcome"],
            )?,
            unsupported: counter_vec(
                r,
                "lock_statements_unsupported_total",
                "Statements with a lock call in a form that is not covered, and what became of them.",
                &["decision"],
            )?,
            definitions: counter(
                r,
                "lock_definitions_total",
                "Statements passed that define a stored program or view with a lock call inside.",
            )?,
            wait_seconds: histogram(
                r,
                "lock_wait_seconds",
                "Time clients waited in GET_LOCK.",
                &SECONDS,
            )?,
            hold_seconds: histogram(r, "lock_hold_seconds", "Time locks were held.", &SECONDS)?,
            longest_hold: float_gauge(
                r,
                "lock_longest_hold_seconds",
                "Time for which the lock held longest by now has been held, 0 without any.",
            )?,
            longest_wait: float_gauge(
                r,
                "lock_longest_wait_seconds",
                "Time for which the session that waits longest by now has waited, 0 without any.",
            )?,
            held: gauge(r, "locks_held", "Locks held by sessions of this proxy.")?,
            waiting: gauge(r, "locks_waiting", "Sessions of this proxy that wait in GET_LOCK.")?,
            gates: gauge(
                r,
                "gates",
                "Locks of the server's own at which sessions of waiting clients wait.",
            )?,
            gate_failures: counter(
                r,
                "gate_failures_total",
                "Times that a wait could not be shown to the server, or suddenly no longer was.",
            )?,
            lease_seconds: float_gauge(r, "lease_seconds", "Length of the lease, as configured.")?,
            lease_age_seconds: float_gauge(
                r,
                "lease_age_seconds",
                "Time since the last renewal that the store acknowledged was sent.",
            )?,
            lease_good: gauge(r, "lease_good", "1 while the lease allows new grants.")?,
            backend_up: gauge(
                r,
                "backend_up",
                "1 if the last connection to the server that was made for a client succeeded.",
            )?,
            store_up: gauge(
                r,
                "store_up",
                "1 if the last renewal of the lease, or registration, succeeded.",
            )?,
            store_foreign: gauge_vec(
                r,
                "store_foreign",
                "1 while another server than the one whose locks are kept answers, or one of an earlier epoch.",
                &["reason"],
            )?,
            store_rights: gauge_vec(
                r,
                "store_rights",
                "1 if the store account has this right, looked at once a lease. Without kill a dead proxy's locks \
                 wait until the server ends its sessions; without process they stay held.",
                &["right"],
            )?,
            renewal_seconds: histogram(
                r,
                "lease_renewal_seconds",
                "Time a lease renewal took.",
                &SECONDS[..SHORT],
            )?,
            batch_seconds: histogram(
                r,
                "store_batch_seconds",
                "Time a batch of lock changes took at the store.",
                &SECONDS[..SHORT],
            )?,
            batch_keys: histogram(
                r,
                "store_batch_keys",
                "Lock names changed in one batch.",
                &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0],
            )?,
            store_errors: counter_vec(
                r,
                "store_errors_total",
                "Failed statements on the lock store, by kind.",
                &["kind"],
            )?,
            fenced_sessions: counter(
                r,
                "fenced_sessions_total",
                "Sessions closed because their locks could no longer be vouched for.",
            )?,
            takeovers: counter(
                r,
                "takeovers_total",
                "Dead proxies whose locks this proxy made free.",
            )?,
            rows_collected: counter(
                r,
                "rows_collected_total",
                "Rows of locks not taken for long that this proxy deleted.",
            )?,
            live_peers: gauge(
                r,
                "live_peers",
                "Other proxies on the same lock schema that hold a lease.",
            )?,
            ghosts: counter(
                r,
                "ghost_rows_total",
                "Lock rows that named this proxy but no session of it, and were freed.",
            )?,
            stuck: gauge_vec(
                r,
                "stuck_ends",
                "Dead proxies, and ended sessions, whose locks stay held until somebody acts, mostly \
                 because the store account lacks a right.",
                &["of"],
            )?,
            lost_rows: counter(
                r,
                "lost_rows_total",
                "Held locks whose rows somebody else had deleted or changed; their sessions were closed.",
            )?,
            rings: counter_vec(
                r,
                "rings_total",
                "Waiting proxies told that a lock is free for them, by result.",
                &["result"],
            )?,
            yields: counter(
                r,
                "yields_total",
                "Locks left to a waiting proxy though sessions of this one waited too.",
            )?,
            deadlocks: counter_vec(
                r,
                "deadlocks_total",
                "Deadlocks of locks that were ended here, by where they were found.",
                &["found"],
            )?,
            registry: registry.clone(),
            observed: None,
        };
        metrics.start();
        Ok(metrics)
    }

    /// Registers those of a proxy that observes.
    pub fn observing(cluster: Option<&str>) -> Result<Self, prometheus::Error> {
        let metrics = Self::new(cluster)?;
        let observed = Some(Observed::new(&metrics.registry)?);
        Ok(Self { observed, ..metrics })
    }

    /// Counts a lock call.
    pub fn call(&self, function: Function, outcome: CallOutcome) {
        self.calls.with_label_values(&[function.label(), outcome.label()]).inc();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(metrics: &Result<Metrics, prometheus::Error>) -> String {
        Metrics::render(metrics.iter())
    }

    #[test]
    fn clusters_share_families_and_have_a_label() {
        let all = ["a", "b"].map(|name| Metrics::new(Some(name)).expect("valid"));
        let text = Metrics::render(all.iter());
        assert_eq!(text.matches("# TYPE lockstead_sessions gauge").count(), 1, "{text}");
        for name in ["a", "b"] {
            assert!(
                text.contains(&format!("lockstead_sessions{{cluster=\"{name}\"}} 0")),
                "{text}"
            );
        }
    }

    #[test]
    fn waits_that_end_with_their_timeout_are_told_by_a_quantile() {
        for timeout in
            [1.0, 2.0, 3.0, 5.0, 10.0, 15.0, 20.0, 30.0, 45.0, 60.0, 120.0, 300.0, 3600.0]
        {
            let waited = timeout + 0.02;
            let above = SECONDS.into_iter().find(|bound| *bound >= waited).expect("a bucket");
            // What a quantile comes to lies in the bucket, the highest ones at its upper end.
            assert!(above < timeout * 1.11, "waits of {timeout} s look like {above} s");
        }
        assert!(SECONDS.is_sorted());
    }

    #[test]
    fn all_metrics_register_and_render() {
        let text = rendered(&Metrics::new(None));
        assert!(text.contains("# HELP lockstead_locks_held Locks held by sessions of this proxy."));
        assert!(text.contains("lockstead_build_info{version="));
        assert!(!text.contains("lockstead_observed_"));
    }

    #[test]
    fn an_observing_proxy_shows_nothing_of_locks_it_does_not_have() {
        let text = rendered(&Metrics::observing(None));
        let limits = "limits_met_total{limit=\"max_connections\"} 0";
        for shown in ["observed_wait_seconds", "lockstead_sessions ", "build_info", limits] {
            assert!(text.contains(shown), "{shown}: {text}");
        }
        for hidden in ["lockstead_lock", "lease_good", "store_", "gates"] {
            assert!(!text.contains(hidden), "{hidden}: {text}");
        }
    }
}
