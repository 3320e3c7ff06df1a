//! All metrics of a cluster: one table, in which each metric is a field, its name and its help.

use prometheus::{Gauge, Histogram, IntCounter, IntCounterVec, IntGauge, IntGaugeVec, Registry};

use super::labels::CallOutcome;
use super::named::NamedLocks;
use super::observed::Observed;
use super::register::{SECONDS, SHORT, counter, counter_vec, gauge, gauge_vec, histogram};
use crate::lock::function::Function;

metrics! {
    // The process.
    pub certificate_end: IntGaugeVec = gauge_vec(
        "certificate_end_seconds",
        "End of validity of the certificate in a setting, in seconds since 1970: the first end in a chain, the last of several authorities.",
        &["setting"]
    );
    pub server_info: IntGaugeVec = gauge_vec("server_info", "Flavour of the server, and the mode, always 1.", &["flavour", "mode"]);
    pub limits: IntCounterVec = counter_vec(
        "limits_met_total",
        "Requests refused because a limit was reached, by the limit's key in the configuration.",
        &["limit"]
    );
    pub protocol_errors: IntCounterVec = counter_vec(
        "protocol_errors_total",
        "Answers of servers that cannot be followed, by the command: the session is closed.",
        &["command"]
    );

    pub panics: IntCounter = counter("panics_total", "Faults of the proxy itself, each of which has ended a session.");
    pub unlocked_memory: IntCounter = counter(
        "password_memory_unlocked_total", "Blocks of memory for learned passwords that the system did not lock, so that they may be written to swap."
    );
    pub given_wrong: IntCounter = counter("given_passwords_wrong_total", "Passwords in [[users]] that turned out to be wrong.");

    // Sessions.
    pub sessions: IntGauge = gauge("sessions", "Client sessions open now.");
    pub sessions_total: IntCounter = counter("sessions_total", "Client sessions accepted.");
    pub sessions_closed: IntCounterVec = counter_vec(
        "sessions_closed_total",
        "Client sessions that the proxy refused or ended itself, by reason.",
        &["reason"]
    );
    pub commands: IntCounterVec = counter_vec(
        "commands_total",
        "Commands received from clients.",
        &["command"]
    );
    pub bytes_to_server: IntCounter = counter(
        "relayed_to_server_bytes_total", "Bytes relayed from clients to the server."
    );
    pub bytes_to_client: IntCounter = counter(
        "relayed_to_client_bytes_total", "Bytes relayed from the server to clients."
    );

    // Connections to the server that sessions share.
    pub pool_open: IntGauge = gauge(
        "pool_connections", "Connections to the server that sessions share, open now."
    );
    pub pool_free: IntGauge = gauge(
        "pool_free_connections", "Shared connections to the server that no session has."
    );
    pub pool_waits: IntCounter = counter(
        "pool_waits_total", "Times that a session had to wait for a shared connection to the server."
    );
    pub pool_timeouts: IntCounter = counter(
        "pool_timeouts_total", "Statements that got error 1040 because no shared connection was free in time."
    );
    pub pool_moves: IntCounterVec = counter_vec(
        "pool_moves_total",
        "Times that a shared connection got a session's state, by what was sent.",
        &["sent"]
    );
    pub pool_audits: IntCounterVec = counter_vec(
        "pool_audits_total",
        "Times that the server was asked what a session has left on its connection, by what it has found.",
        &["found"]
    );
    pub pool_lost: IntCounterVec = counter_vec(
        "pool_lost_total",
        "Shared connections that ended while a session had one, by what happened to the session.",
        &["outcome"]
    );
    pub errands_cut: IntCounterVec = counter_vec(
        "errands_cut_total", "Waits for a session's server that an event of the session has ended, by what was waited for.", &["errand"]
    );
    pub sessions_lost: IntCounterVec = counter_vec(
        "sessions_lost_total", "Sessions that ended with their shared connection, by why they could not go on.", &["reason"]
    );
    pub logins: IntCounterVec = counter_vec(
        "logins_total",
        "Logins that were accepted, by who has judged them.",
        &["judge"]
    );
    pub pool_statements: IntGauge = gauge(
        "pool_statements",
        "Prepared statements that sessions keep, to prepare them again on another connection."
    );
    pub pool_statements_again: IntCounter = counter(
        "pool_statements_again_total", "Times that a prepared statement was prepared again on another connection."
    );
    pub pool_statements_refused: IntCounter = counter(
        "pool_statements_refused_total", "Prepared statements that the server refused to prepare again."
    );
    pub pool_statements_tied: IntCounter = counter(
        "pool_statements_tied_total",
        "Prepared statements that could not be kept, so that their session keeps its connection."
    );
    pub pinned_sessions: IntGaugeVec = gauge_vec(
        "pinned_sessions",
        "Sessions that keep their connection to the server between transactions, by reason.",
        &["reason"]
    );

    // Statements with lock calls.
    calls: IntCounterVec = counter_vec(
        "lock_calls_total",
        "Lock function calls, by function and outcome.",
        &["function", "outcome"]
    );
    pub unsupported: IntCounterVec = counter_vec(
        "lock_statements_unsupported_total",
        "Statements with a lock call in a form that is not covered, by what was done with them.",
        &["decision"]
    );
    pub definitions: IntCounter = counter(
        "lock_definitions_total",
        "Statements that define a stored program or view with a lock call inside, passed to the server."
    );

    // Rows of the server's own locks, in mode coexist.
    pub claims: IntCounterVec = counter_vec(
        "claims_total",
        "Locks that the server granted in mode coexist, by the result for their rows.",
        &["result"]
    );
    pub late_rows: IntGauge = gauge(
        "late_rows", "1 while rows of locks may be written after the client has its answer (row_delay), in mode coexist."
    );
    pub native_only: IntCounterVec = counter_vec(
        "native_only_statements_total",
        "Statements whose locks only the server may know, because it does not list its own, by whether they call GET_LOCK themselves.",
        &["takes_lock"]
    );
    pub native_reads: IntCounter = counter(
        "native_reads_total", "Times that the server was asked which of its own locks a session holds, because a statement's text does not tell."
    );
    pub native_reads_failed: IntCounter =
        counter("native_reads_failed_total", "Failed readings of the server's own locks of a session.");

    // Locks and waits.
    pub wait_seconds: Histogram = histogram(
        "lock_wait_seconds",
        "Time clients waited in GET_LOCK.",
        &SECONDS
    );
    pub hold_seconds: Histogram = histogram(
        "lock_hold_seconds",
        "Time locks were held.",
        &SECONDS
    );
    pub longest_hold: Gauge = gauge(
        "lock_longest_hold_seconds",
        "Age of the oldest held lock, 0 if none is held."
    );
    pub longest_wait: Gauge = gauge(
        "lock_longest_wait_seconds",
        "Duration of the longest current wait, 0 if no session waits."
    );
    pub held: IntGauge = gauge("locks_held", "Locks held by sessions of this proxy.");
    pub waiting: IntGauge = gauge(
        "locks_waiting", "Sessions of this proxy that wait in GET_LOCK."
    );
    pub gates: IntGauge = gauge(
        "gates", "Waits that are shown to the server, each at a lock of the server's own."
    );
    pub gate_failures: IntCounter = counter(
        "gate_failures_total", "Waits that could not be shown to the server, or no longer."
    );
    pub deadlocks: IntCounterVec = counter_vec(
        "deadlocks_total",
        "Deadlocks that ended a wait, by where they were found.",
        &["found"]
    );
    pub fenced_sessions: IntCounter = counter(
        "fenced_sessions_total", "Sessions closed because their locks were no longer certain."
    );
    pub fenced_commits: IntCounterVec = counter_vec(
        "fenced_commits_total",
        "Commits of sessions that hold locks, by the result of the question whether the locks are still theirs.",
        &["result"]
    );
    pub suspended_sessions: IntGauge = gauge(
        "suspended_sessions", "Sessions that hold locks and wait until the lease is renewed."
    );
    pub suspensions: IntCounterVec = counter_vec(
        "suspensions_total",
        "Times that sessions with locks were suspended, by the end of the suspension.",
        &["result"]
    );
    pub lost_rows: IntCounter = counter(
        "lost_rows_total",
        "Held locks whose rows were deleted or changed by others; their sessions were closed."
    );

    // The lease, and other proxies.
    pub lease_seconds: Gauge = gauge("lease_seconds", "Length of the lease, as configured.");
    pub lease_age_seconds: Gauge =
        gauge("lease_age_seconds", "Time since the last acknowledged renewal was sent.");
    pub lease_good: IntGauge = gauge("lease_good", "1 while the lease allows new grants.");
    pub epoch: IntGauge = gauge("epoch", "The epoch that was joined last.");
    pub grace_seconds: Gauge = gauge("grace_seconds", "Time until the epoch's grace ends.");
    pub failover_lossless: IntGauge = gauge(
        "failover_lossless",
        "1 while a failover loses nothing that was acknowledged: the servers are one cluster, or each has all of it."
    );
    pub witness_up: IntGaugeVec = gauge_vec(
        "witness_up",
        "1 while a failover candidate executes grants and renewals in time; they count only when each has.",
        &["backend"]
    );
    pub witness_seconds: Histogram = histogram(
        "witness_seconds",
        "Time until all failover candidates had executed the grants of a batch.",
        &SECONDS[..SHORT]
    );
    pub failovers: IntCounter = counter("failovers_total", "Times that another epoch was joined.");
    pub failover_locks: IntCounterVec =
        counter_vec("failover_locks_total", "Locks held at a failover, by result.", &["result"]);
    pub failover_seconds: Gauge =
        gauge("failover_seconds", "Time between the renewals around the last failover.");
    pub renewal_seconds: Histogram =
        histogram("lease_renewal_seconds", "Time a lease renewal took.", &SECONDS[..SHORT]);
    pub live_peers: IntGauge = gauge("live_peers", "Other proxies on the same lock schema that hold a lease.");
    pub takeovers: IntCounter = counter("takeovers_total", "Dead proxies whose locks this proxy freed.");
    pub stuck: IntGaugeVec = gauge_vec(
        "stuck_ends",
        "Dead proxies, and ended sessions, whose locks stay held until an operator acts, mostly because the store account lacks a right.",
        &["of"]
    );
    pub ghosts: IntCounter = counter(
        "ghost_rows_total",
        "Freed lock rows that named this proxy but none of its sessions."
    );
    pub rings: IntCounterVec = counter_vec(
        "rings_total",
        "Waiting proxies that were notified of a free lock, by result.",
        &["result"]
    );
    pub unproven: IntCounter = counter(
        "unproven_claims_total",
        "Claims of locks that the server no longer held for the session."
    );
    pub differences: IntCounter = counter(
        "native_differences_total", "Locks that the server held, or no longer held, for a session whose rows said otherwise."
    );
    pub direct_locks: IntGauge = gauge(
        "direct_locks", "The server's own locks that are held now by clients that do not come through a proxy."
    );
    pub direct_locks_seen: IntCounter = counter(
        "direct_locks_seen_total", "The server's own locks that were seen at clients that do not come through a proxy."
    );
    pub granted_in_memory: IntCounter = counter(
        "granted_in_memory_total", "Locks granted without a write, since this proxy owns their names."
    );
    pub owned_names: IntGauge = gauge(
        "owned_names", "Lock names that this proxy keeps for its sessions (keep_names)."
    );
    pub given_back: IntCounter = counter(
        "names_given_back_total", "Kept lock names that were given back, since no session had used them for keep_names."
    );
    pub recalls: IntCounterVec = counter_vec(
        "name_recalls_total",
        "Questions for lock names that another proxy owns: sent to it, or received here.",
        &["way"]
    );
    pub yields: IntCounter = counter(
        "yields_total",
        "Locks left to a waiting proxy although sessions of this proxy waited too."
    );

    // The servers.
    pub backend_up: IntGauge = gauge(
        "backend_up", "1 if clients can log in at the server, according to the last connection."
    );
    pub server_up: IntGaugeVec = gauge_vec(
        "server_up", "1 if the server answers, of several in `backend`.", &["backend"]
    );
    pub server_writer: IntGaugeVec = gauge_vec(
        "server_writer", "1 for the server that sessions and lock tables follow, of several.", &["backend"]
    );
    pub server_replica: IntGaugeVec = gauge_vec(
        "server_replica", "1 for a server that listeners to replicas lead to.", &["backend"]
    );
    pub replica_sessions: IntGaugeVec = gauge_vec(
        "replica_sessions", "Connections for clients of listeners to replicas.", &["backend"]
    );
    pub writer_changes: IntCounter = counter(
        "writer_changes_total", "Changes of the writer to another server."
    );
    pub switchover_state: IntGauge = gauge(
        "switchover_state",
        "1 while new statements wait for a planned switch of the primary, 2 from the moment no transaction is open, otherwise 0."
    );
    pub switchovers: IntCounterVec = counter_vec(
        "switchovers_total",
        "Times that new statements waited for a planned switch, by why they went on.",
        &["end"]
    );
    pub held_statements: IntGauge =
        gauge("held_statements", "Statements that wait for a planned switch now.");
    pub writer_rivals: IntGauge = gauge("writer_rivals", "Other servers that take writes too.");
    pub store_up: IntGauge =
        gauge("store_up", "1 if the last renewal of the lease, or registration, succeeded.");
    pub store_unwritable: IntGauge =
        gauge("store_unwritable", "1 while the lock tables can be read, not written.");
    pub store_foreign: IntGaugeVec = gauge_vec(
        "store_foreign",
        "1 while the server that answers is not the one whose locks are kept, has an earlier epoch, or may not be that of the sessions.",
        &["reason"]
    );
    pub store_rights: IntGaugeVec = gauge_vec(
        "store_rights",
        "1 if the store account has this right, checked once a lease. Without kill a dead proxy's locks wait until the server ends its sessions; without process they stay held.",
        &["right"]
    );
    pub batch_seconds: Histogram = histogram(
        "store_batch_seconds",
        "Time a batch of lock changes took at the store.",
        &SECONDS[..SHORT]
    );
    pub batch_keys: Histogram = histogram(
        "store_batch_keys",
        "Lock names changed in one batch.",
        &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0]
    );
    pub store_errors: IntCounterVec = counter_vec(
        "store_errors_total",
        "Failed statements on the lock store, by kind.",
        &["kind"]
    );
    pub rows_collected: IntCounter = counter(
        "rows_collected_total",
        "Rows of long unused locks that this proxy deleted."
    );
    pub history_failures: IntCounter = counter(
        "history_failures_total",
        "Failed attempts to write into the table lock_history; the rows wait in memory."
    );
    pub history_lost: IntCounter = counter(
        "history_lost_total",
        "Holds that the table lock_history lacks: they were forgotten before they could be written."
    );
}

impl Metrics {
    /// Registers everything, labelled with the cluster's name if it has one.
    pub fn new(cluster: Option<&str>) -> Result<Self, prometheus::Error> {
        let labels = cluster.map(|name| [("cluster".to_owned(), name.to_owned())].into());
        let registry = Registry::new_custom(None, labels)?;
        let version = &["version"];
        let build =
            gauge_vec(&registry, "build_info", "Version of this build, always 1.", version)?;
        build.with_label_values(&[env!("CARGO_PKG_VERSION")]).set(1);
        let metrics = Self::register(&registry)?;
        metrics.start();
        Ok(metrics)
    }

    /// Registers also the metrics of a proxy that observes.
    pub fn observing(cluster: Option<&str>) -> Result<Self, prometheus::Error> {
        let metrics = Self::new(cluster)?;
        let observed = Some(Observed::new(&metrics.registry)?);
        Ok(Self { observed, ..metrics })
    }

    /// Counts a lock call.
    pub fn call(&self, function: Function, outcome: CallOutcome) {
        self.calls.with_label_values(&[function.label(), outcome.label()]).inc();
    }

    /// Adds series of the locks whose names match one of these patterns.
    pub fn naming(mut self, patterns: &[String]) -> Result<Self, prometheus::Error> {
        if !patterns.is_empty() {
            self.named = Some(NamedLocks::new(&self.registry, patterns)?);
        }
        Ok(self)
    }

    /// Calls of a function that came to an outcome.
    pub fn counted(&self, function: Function, outcome: CallOutcome) -> u64 {
        self.calls.with_label_values(&[function.label(), outcome.label()]).get()
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
    fn all_metrics_register_and_render() {
        let text = rendered(&Metrics::new(None));
        assert!(text.contains("# HELP lockstead_locks_held Locks held by sessions of this proxy."));
        assert!(text.contains("lockstead_build_info{version="));
        assert!(!text.contains("lockstead_observed_"));
    }

    /// Otherwise only `make test-monitoring` would notice, much later.
    #[test]
    fn every_metric_is_documented_and_on_a_dashboard() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
        let read = |path: &str| std::fs::read_to_string(root.join(path)).expect("a file");
        let page = read("docs/monitoring.md");
        let boards: String = ["overview", "locks", "sessions", "engine"]
            .map(|name| read(&format!("grafana/dashboards/{name}.json")))
            .concat();
        let named = Metrics::new(None).and_then(|metrics| metrics.naming(&["*".to_owned()]));
        let text = rendered(&named) + &rendered(&Metrics::observing(None));
        let kinds = text.lines().filter_map(|line| line.strip_prefix("# TYPE "));
        for name in kinds.filter_map(|kind| kind.split(' ').next()) {
            assert!(page.contains(&format!("`{name}")), "{name} is not in docs/monitoring.md");
            assert!(boards.contains(name), "{name} is on no dashboard");
        }
    }

    #[test]
    fn an_observing_proxy_shows_nothing_of_locks_it_does_not_have() {
        let text = rendered(&Metrics::observing(None));
        let limits = "limits_met_total{limit=\"max_connections\"} 0";
        for shown in ["observed_missed_total", "lock_wait_seconds", "lockstead_sessions ", limits] {
            assert!(text.contains(shown), "{shown}: {text}");
        }
        for hidden in ["lockstead_lock_statements", "lease_good", "store_", "gates"] {
            assert!(!text.contains(hidden), "{hidden}: {text}");
        }
    }
}
