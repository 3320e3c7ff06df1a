#!/usr/bin/env python3
"""Writes the dashboards beside it: grafana/generate.py [--check]

--check compares instead, and fails if one is not as it would be written.
"""

import json
import pathlib
import re
import sys

sys.dont_write_bytecode = True

from panels import NO_YES, YES_NO, dashboard, graph, stat, states, steps, table

BY = 'instance=~"$instance", cluster=~"$cluster"'
WHO = "{{instance}} {{cluster}}"
EACH = "by (instance, cluster)"


def m(name, *labels):
    """A metric of the chosen proxies, of which some by labels: `outcome=failed`."""
    more = [re.sub(r"^(\w+)(=~|!=|=)(.*)$", r'\1\2"\3"', label) for label in labels]
    return f"lockstead_{name}{{{', '.join([BY, *more])}}}"


def rate(name, *labels):
    return f"rate({m(name, *labels)}[$__rate_interval])"


def quantiles(name):
    """What half, nearly all and all but one in a hundred took at most."""
    return [
        (f"histogram_quantile({q}, sum by (le) ({rate(name + '_bucket')}))", f"{100 * q:.0f} %")
        for q in (0.5, 0.95, 0.99)
    ]


def top(selected):
    """The ten locks with most of it."""
    return f"topk(10, sum by (lock) ({selected}))"


def mean(name):
    return f"sum {EACH} ({rate(name + '_sum')}) / sum {EACH} ({rate(name + '_count')})"


def p99(name):
    return f"histogram_quantile(0.99, sum by (le) (increase({m(name + '_bucket')}[$__range])))"


OVERVIEW = [
    (None, 4, [
        stat("Proxies that answer", 'sum(up{job="lockstead", instance=~"$instance"})', "short",
             "Proxies whose metrics Prometheus could read at the last scrape.",
             [{"color": "red", "value": None}, {"color": "green", "value": 1}]),
        stat("Proxies that do not", 'count(up{job="lockstead", instance=~"$instance"} == 0) or vector(0)', "short",
             "Known to Prometheus, but not read at the last scrape. See LocksteadDown in the runbook.", steps(bad=1)),
        stat("Grant no locks", f"count({m('lease_good')} == 0) or vector(0)", "short",
             "Proxies without a good lease: starting, in jeopardy, or before another server. GET_LOCK waits there.",
             steps(bad=1)),
        stat("Primary reached", f"min({m('store_up')})", "bool_yes_no",
             "Whether the last renewal of every proxy's lease succeeded.",
             [{"color": "red", "value": None}, {"color": "green", "value": 1}], YES_NO),
        stat("Alerts firing", 'count(ALERTS{alertname=~"Lockstead.*", alertstate="firing", instance=~"$instance|"}) '
             "or vector(0)", "short",
             "Firing alerts of config/alerts.yml, if Prometheus has these rules. The runbook has a section for each.",
             steps(bad=1)),
        stat("Sessions fenced", f"sum(increase({m('fenced_sessions_total')}[$__range]))", "short",
             "Sessions closed in the time shown because their locks could no longer be vouched for.", steps(bad=1)),
    ]),
    (None, 4, [
        stat("Sessions", f"sum({m('sessions')})", "short", "Client sessions open now.", steps(base="blue")),
        stat("Locks held", f"sum({m('locks_held')})", "short", "Locks held now through these proxies.",
             steps(base="blue")),
        stat("Waiting", f"sum({m('locks_waiting')})", "short", "Sessions that wait in GET_LOCK now.",
             steps(base="blue")),
        stat("Longest wait now", f"max({m('lock_longest_wait_seconds')})", "s",
             "For how long the session has waited that waits longest. Finished waits are in the quantiles.",
             steps(60, 600)),
        stat("Longest hold now", f"max({m('lock_longest_hold_seconds')})", "s",
             "For how long the lock has been held that is held longest. held_locks names its holder.",
             steps(600, 3600)),
        stat("Wait, 99 %", p99("lock_wait_seconds"), "s",
             "What 99 of 100 waits in GET_LOCK in the time shown took at most, those without contention included.",
             steps(1, 10)),
    ]),
    (None, 8, [
        graph("Lock calls", [(f"sum by (function) ({rate('lock_calls_total')})", "{{function}}")], "ops",
              "Calls of the five lock functions a second.", stacked=True),
        graph("Waits in GET_LOCK", quantiles("lock_wait_seconds"), "s",
              "How long finished waits took: half of them, 95 and 99 of 100. More on the dashboard Locks.",
              steps(1, 10)),
        graph("Held and waiting",
              [(f"sum({m('locks_held')})", "held"), (f"sum({m('locks_waiting')})", "waiting")], "short",
              "Locks held, and sessions that wait for one. Many waiters over few locks is contention."),
    ]),
    (None, 8, [
        graph("Age of the lease", [(f"{m('lease_age_seconds')} / {m('lease_seconds')}", WHO)], "percentunit",
              """Time since the last renewal, as a share of the lease. Near 0 all is well; from a half on nothing is
              granted, shortly before the whole lock-holding sessions are closed.""", steps(0.33, 0.5)),
        graph("Failures", [
            (f"sum by (kind) ({rate('store_errors_total')})", "store: {{kind}}"),
            (f"sum({rate('sessions_closed_total', 'reason=~server_unreachable|broken|fenced')})", "sessions closed"),
            (f"sum({rate('lock_calls_total', 'outcome=failed')})", "lock calls failed"),
            (f"sum({rate('limits_met_total')})", "limits met"),
            (f"sum({rate('protocol_errors_total')})", "answers that cannot be followed"),
            (f"sum({rate('panics_total')})", "faults of the proxy"),
        ], "ops", """What went wrong, a second: statements on the lock tables, sessions that the proxy ended, calls,
              what was refused because of a limit, and answers of servers that nobody can follow."""),
        table("Builds and servers",
              f"max by (instance, cluster, version) ({m('build_info')}) * on (instance, cluster) "
              f"group_left (flavour) max by (instance, cluster, flavour) ({m('server_info')})",
              """Version of each proxy and the kind of server behind it. Different versions for long are a
              forgotten upgrade."""),
    ]),
]

LOCKS = [
    ("Contention", 8, [
        graph("Waiting sessions", [(f"sum {EACH} ({m('locks_waiting')})", WHO)], "short",
              "Sessions that wait in GET_LOCK now, by proxy.", stacked=True),
        graph("Not free", [(f"sum({rate('lock_calls_total', 'function=get_lock', 'outcome=zero')}) / "
                            f"sum({rate('lock_calls_total', 'function=get_lock')})", "of GET_LOCK")],
              "percentunit", "Share of GET_LOCK calls whose timeout ended first: they answered 0.", steps(0.1, 0.5)),
        graph("Deadlocks", [(f"sum by (found) ({rate('deadlocks_total')})", "{{found}}")], "ops",
              """Waits given up to end a circle of waits: found inside one proxy (here), over several (across), or by the
              server. The application takes locks in different orders.""", steps(bad=1)),
    ]),
    ("Waits", 8, [
        graph("Time of waits", quantiles("lock_wait_seconds"), "s",
              "How long waits in GET_LOCK took that have ended, however they did.", steps(1, 10)),
        graph("Longest wait now", [(f"max {EACH} ({m('lock_longest_wait_seconds')})", WHO)], "s",
              "For how long the session has waited that waits longest. It is in no quantile before its end.",
              steps(60, 600)),
        graph("Waits a second", [(f"sum {EACH} ({rate('lock_wait_seconds_count')})", WHO)], "ops",
              "GET_LOCK calls that were ready to wait, finished in a second."),
    ]),
    ("Holds", 8, [
        graph("Time of holds", quantiles("lock_hold_seconds"), "s", "How long locks were held that were released.",
              steps(600, 3600)),
        graph("Longest hold now", [(f"max {EACH} ({m('lock_longest_hold_seconds')})", WHO)], "s",
              "For how long the lock has been held that is held longest. held_locks names its holder.",
              steps(600, 3600)),
        graph("Locks held", [(f"sum {EACH} ({m('locks_held')})", WHO)], "short", "Locks held now, by proxy.",
              stacked=True),
    ]),
    ("By name (those that metrics_locks names)", 8, [
        graph("Grants by name", [(top(rate("named_lock_grants_total")), "{{lock}}")], "ops",
              "The ten locks granted most often. The series … is the rest beyond 200 names."),
        graph("Waiting by name", [(top(rate("named_lock_wait_seconds_total")), "{{lock}}")], "short",
              """The ten locks waited for most: how many sessions waited for each on average, of those that got it. It
              rises when the waits end.""", steps(10)),
        graph("Time of holds by name", [(
            f"topk(10, sum by (lock) ({rate('named_lock_hold_seconds_total')}) / "
            f"sum by (lock) ({rate('named_lock_grants_total')}))", "{{lock}}")], "s",
            "The ten locks with the longest holds: average, updated at the release.", steps(600, 3600)),
        graph("Held now by name", [(top(m("named_locks_held")), "{{lock}}")], "short",
              "Which of these locks are held now; more than 1 is the series …, or several clusters."),
    ]),
    ("Outcomes", 8, [
        graph("GET_LOCK", [(f"sum by (outcome) ({rate('lock_calls_total', 'function=get_lock')})", "{{outcome}}")],
              "ops", """one: granted. zero: not free in time. null: an argument was. native: left to the server.
              ended: KILL QUERY, a time limit or a deadlock. failed: the store did. untold: the response does not show
              it.""", stacked=True),
        graph("Other functions",
              [(f"sum by (function, outcome) ({rate('lock_calls_total', 'function!=get_lock')}) > 0",
                "{{function}}: {{outcome}}")],
              "ops", "Outcomes of the other four functions. zero of release_lock: another session has the lock."),
        graph("Not covered", [
            (f"sum by (decision) ({rate('lock_statements_unsupported_total')})", "statements {{decision}}"),
            (f"sum({rate('lock_definitions_total')})", "definitions passed"),
        ], "ops", """Statements whose lock calls are not made durable: refused with error 1235, run by the server
              (native), or stored programs defined with calls inside.""", steps(warn=0.1)),
    ]),
    ("Proxies beside direct clients (mode = coexist)", 8, [
        graph("Rows of locks that the server granted", [(f"sum by (result) ({rate('claims_total')})", "{{result}}")],
              "ops", """claimed: the lock has its row. not_free: a session of a durable proxy holds it. failed: the row could
              not be written; in both cases the server's lock was given back. native: the lock has no row.""",
              stacked=True),
        graph("Rows that follow their locks", [
            (f"min {EACH} ({m('late_rows')})", WHO + " may be late"),
            (f"sum {EACH} ({rate('claims_total', 'result=later')})", WHO + " locks a second"),
        ], "short", """1: the client has its answer at once, and the row is written when the lock has been held for row_delay. 0: the
              row is written first, for example beside a proxy in mode durable."""),
        graph("Direct clients", [
            (f"max {EACH} ({m('direct_locks')})", WHO + " hold now"),
            (f"sum {EACH} (increase({m('direct_locks_seen_total')}[$__rate_interval]))", WHO + " new"),
        ], "short", """Locks of clients that connect to the server directly; lockstead locks names them. In mode durable
              these locks exclude nobody.""", steps(warn=1)),
        graph("Locks that only the server knows", [
            (f"sum by (takes_lock) ({rate('native_only_statements_total')})", "takes a lock: {{takes_lock}}"),
        ], "ops", """Statements whose locks have no row, because the server does not list its own. The log names each
              shape, and the remedy.""", steps(warn=0.01)),
        graph("Rows and server apart", [
            (f"sum({rate('native_differences_total')})", "found by the sweep"),
            (f"sum({rate('unproven_claims_total')})", "claims without the server's lock"),
            (f"sum({rate('native_reads_total')})", "reads"),
            (f"sum({rate('native_reads_failed_total')})", "reads failed"),
        ], "ops", """Locks that routines took or released, found a second later; claims of locks that the server no longer
              held; and failed attempts to read which locks a session holds."""),
    ]),
    ("Proxies that observe (mode = observe)", 8, [
        graph("Statements seen", [(f"sum by (verdict) ({rate('observed_statements_total')})", "{{verdict}}")], "ops",
              "Statements with lock calls, by what Lockstead would do with them.", stacked=True),
        graph("Not seen", [
            (f"sum by (of) ({rate('observed_overflow_total')})", "without a place: {{of}}"),
            (f"sum by (reason) ({rate('observed_missed_total')})", "missed: {{reason}}"),
        ], "ops", "Missing from the report: names or statements beyond its size, and events that could not be observed."),
    ]),
]

SESSIONS = [
    ("Sessions", 8, [
        graph("Open sessions", [(f"sum {EACH} ({m('sessions')})", WHO)], "short", "Client sessions open now, by proxy.",
              stacked=True),
        graph("New sessions", [(f"sum {EACH} ({rate('sessions_total')})", WHO)], "ops",
              "Sessions accepted a second. Many, and few open: the application has no pool."),
        graph("Logins", [(f"sum by (judge) ({rate('logins_total')})", "{{judge}}")], "ops",
              """Logins accepted a second, by who has judged them: the server, the server after the client was asked again,
              or the proxy, because one like it was accepted a short time ago.""", stacked=True),
        graph("Certificates", [(f"min by (instance, cluster, setting) ({m('certificate_end_seconds')}) - time()",
                                WHO + " {{setting}}")],
              "s", "For how long the certificates in the settings are still valid; those that a proxy made itself are not shown.",
              [{"color": "red", "value": None}, {"color": "green", "value": 14 * 86400}]),
    ]),
    ("Turned away and ended", 8, [
        graph("Refused or ended by the proxy",
              [(f"sum by (reason) ({rate('sessions_closed_total')}) > 0 or sum({rate('sessions_closed_total')})",
                "{{reason}}")],
              "ops", "Why the proxy turned clients away or closed them. The line without a name is their sum.",
              steps(warn=1)),
        graph("Fenced", [(f"sum {EACH} (increase({m('fenced_sessions_total')}[$__rate_interval]))", WHO)], "short",
              "Sessions closed because their locks could no longer be vouched for.", steps(bad=1)),
        graph("Commits of sessions with locks",
              [(f"sum by (result) ({rate('fenced_commits_total')})", "{{result}}")], "ops",
              """Commits a second, by the answer to the question before them: the locks are the session's own (fenced), they are not (lost: nothing
              was committed), or it could not be asked (denied, failed)."""),
        graph("Suspended", [
            (f"sum {EACH} ({m('suspended_sessions')})", WHO),
            (f"sum by (result) (increase({m('suspensions_total')}[$__rate_interval]))", "ended: {{result}}"),
        ], "short", "Sessions that hold locks and are held back until the lease is renewed, and how such times ended.",
              steps(warn=1)),
        graph("Limits met", [(f"sum by (limit) ({rate('limits_met_total')})", "{{limit}}")], "ops",
              """Refused a second because of max_connections, max_login_rate (clients), max_waiters (waits),
              max_session_locks (locks) or max_session_memory (prepared statements). LocksteadLimitsMet in the runbook says what to do.""", steps(warn=0.01)),
    ]),
    ("Backends", 8, [
        states("Server reached", [(f"max {EACH} ({m('backend_up')})", WHO)],
               "Whether the last connection that was made for a client succeeded. While not, one is tried each second."),
        graph("Server unreachable",
              [(f"sum {EACH} ({rate('sessions_closed_total', 'reason=~server_unreachable|refused_by_server')})", WHO)],
              "ops", "Clients for whom the server could not be reached, or refused the connection.", steps(bad=0.1)),
        table("Kinds of servers", f"max by (instance, cluster, flavour) ({m('server_info')})",
              "The server of each proxy.", hidden=()),
        states("Rights of the store account", [(f"max by (instance, cluster, right) ({m('store_rights')})",
                                                WHO + " {{right}}")],
               """Whether the account may see (process) and end (kill) sessions, which a takeover needs; looked
               at once a lease."""),
    ]),
    ("Connections that sessions share (pooling = transaction)", 8, [
        graph("Shared connections", [
            (f"sum {EACH} ({m('pool_connections')})", WHO + " open"),
            (f"sum {EACH} ({m('pool_free_connections')})", WHO + " free"),
        ], "short", "Connections to the server that sessions share, and those of them that no session has."),
        graph("Pinned sessions",
              [(f"sum by (reason) ({m('pinned_sessions')}) > 0 or sum({m('pinned_sessions')})", "{{reason}}")],
              "short", """Sessions that keep their connection between transactions, by reason. The line without a name is
              their sum. docs/pooling.md explains the reasons."""),
        graph("Waits for a connection", [
            (f"sum {EACH} ({rate('pool_waits_total')})", WHO + " waits"),
            (f"sum {EACH} ({rate('pool_timeouts_total')})", WHO + " error 1040"),
            (f"sum by (cluster, found) ({rate('pool_audits_total')})", "audits: {{found}}"),
        ], "ops", """Sessions that had to wait for a shared connection, and statements that got error 1040 because none was free; and how often
              the server was asked what a session has left on its connection."""),
        graph("Prepared statements", [
            (f"sum {EACH} ({m('pool_statements')})", WHO + " kept"),
            (f"sum {EACH} ({rate('pool_statements_again_total')})", WHO + " prepared again a second"),
            (f"sum {EACH} ({rate('pool_statements_refused_total')})", WHO + " refused a second"),
            (f"sum {EACH} ({rate('pool_statements_tied_total')})", WHO + " not kept a second"),
        ], "short", """Prepared statements that sessions keep, to prepare them again on another connection; and those that could not be kept,
              so that their session keeps its connection."""),
        graph("Connections lost", [
            (f"sum {EACH} ({rate('pool_lost_total')})", WHO + " lost"),
            (f"sum by (instance, cluster, reason) ({rate('sessions_lost_total')})", WHO + " session ended: {{reason}}"),
            (f"sum by (instance, cluster, errand) ({rate('errands_cut_total')}) > 0", WHO + " wait cut: {{errand}}"),
            (f"sum {EACH} ({rate('password_memory_unlocked_total')})", WHO + " memory not locked"),
            (f"sum {EACH} ({rate('given_passwords_wrong_total')})", WHO + " wrong in [[users]]"),
        ], "ops", """Connections that ended while their session did nothing with them; blocks of memory for passwords
              that the system did not lock; and passwords in the configuration that are wrong.""", steps(warn=0.01)),
        graph("Moves", [(f"sum by (instance, cluster, sent) ({rate('pool_moves_total')})", WHO + " {{sent}}")], "ops",
              "Shared connections that got the state of another session, by what was sent."),
    ]),
    ("Traffic", 8, [
        graph("Commands", [(f"sum by (command) ({rate('commands_total')}) > 0", "{{command}}")], "reqps",
              "Commands of the MySQL protocol a second.", stacked=True),
        graph("Relayed", [
            (f"sum({rate('relayed_to_server_bytes_total')})", "to the server"),
            (f"sum({rate('relayed_to_client_bytes_total')})", "to clients"),
        ], "Bps", "Bytes relayed a second, both ways."),
    ]),
    ("Waits as the server shows them", 8, [
        graph("Shown waits", [
            (f"sum({m('gates')})", "locks of the server's own"),
            (f"sum({m('locks_waiting')})", "sessions waiting"),
        ], "short", "Waits are shown in the server's process list by locks of its own, at which KILL QUERY ends them."),
        graph("Waits not shown", [(f"sum {EACH} ({rate('gate_failures_total')})", WHO)], "ops",
              "Waits that could not be shown, or suddenly no longer were. They go on; KILL QUERY does not end them.",
              steps(bad=1)),
    ]),
]

ENGINE = [
    ("Lease", 8, [
        states("Grants locks", [(f"max {EACH} ({m('lease_good')})", WHO)],
               "Whether the lease allows new grants: not while starting, in jeopardy, or before another server."),
        graph("Age of the lease", [(f"{m('lease_age_seconds')} / {m('lease_seconds')}", WHO)], "percentunit",
              "Time since the last renewal that the store took, as a share of the lease. A half is jeopardy.",
              steps(0.33, 0.5)),
        graph("Time of renewals", quantiles("lease_renewal_seconds"), "s",
              "How long the store took over renewals of the lease.", steps(0.5, 2)),
        graph("Length of the lease", [(f"max {EACH} ({m('lease_seconds')})", WHO)], "s",
              "The lease of each proxy, as configured. Proxies may differ."),
    ]),
    ("Store", 8, [
        states("Primary reached", [(f"max {EACH} ({m('store_up')})", WHO)],
               "Whether the last renewal, or registration, succeeded."),
        states("Lock tables cannot be written", [(f"max {EACH} ({m('store_unwritable')})", WHO)],
               "A backup holds the global read lock, or the server is read-only. The tables can be read.", NO_YES),
        states("Another server answers", [(f"max by (instance, cluster, reason) ({m('store_foreign')})",
                                           WHO + " {{reason}}")],
               "Why the server that answers is not the one whose locks are kept. lockstead adopt moves them.",
               NO_YES),
        graph("Errors", [(f"sum by (kind) ({rate('store_errors_total')})", "{{kind}}")], "ops",
              "Failed statements on the lock tables: no connection, one that broke, or an error of the server's.",
              steps(warn=0.1, bad=1)),
    ]),
    ("Batches", 8, [
        graph("Time of batches", quantiles("store_batch_seconds"), "s",
              "How long batches of lock changes took at the store: a commit, mostly.", steps(0.1, 1)),
        graph("Batches a second", [(f"sum {EACH} ({rate('store_batch_seconds_count')})", WHO)], "ops",
              "Batches that the store took a second."),
        graph("Locks in a batch", [(mean("store_batch_keys"), WHO)], "short",
              "Changes that share one commit, on average. It grows with the load, and with a slow store."),
    ]),
    ("Other proxies", 8, [
        graph("Other proxies seen", [(f"max {EACH} ({m('live_peers')})", WHO)], "short",
              "Other proxies on the same lock tables that hold a lease, as each one sees them."),
        graph("Takeovers", [
            (f"sum {EACH} (increase({m('takeovers_total')}[$__rate_interval]))", WHO),
            (f"sum by (instance, cluster, of) ({m('stuck_ends')})", WHO + " stuck: {{of}}"),
        ], "short", """Dead proxies whose locks were made free; and ends of proxies and sessions whose locks stay held until
              somebody acts.""", steps(warn=1)),
        graph("Hand-overs", [
            (f"sum by (result) ({rate('rings_total')})", "wake-ups: {{result}}"),
            (f"sum({rate('yields_total')})", "left to others"),
        ], "ops", """Locks passed from proxy to proxy: those told that one is free, and those left though sessions here
              wait."""),
        graph("Owned names", [
            (f"sum {EACH} ({rate('granted_in_memory_total')})", WHO + " grants in memory"),
            (f"sum {EACH} ({m('owned_names')})", WHO + " names"),
            (f"sum {EACH} ({rate('names_given_back_total')})", WHO + " given back"),
            (f"sum by (instance, cluster, way) ({rate('name_recalls_total')})", WHO + " asked: {{way}}"),
        ], "short", """Names that a proxy keeps for its sessions (keep_names), grants that needed no write, and questions of other
              proxies for such names."""),
    ]),
    ("Rows", 8, [
        graph("Rows deleted", [(f"sum {EACH} ({rate('rows_collected_total')})", WHO)], "ops",
              "Rows of locks deleted because they were not taken for collect_after."),
        graph("Rows and sessions apart", [
            (f"sum {EACH} (increase({m('ghost_rows_total')}[$__rate_interval]))", WHO + " rows"),
            (f"sum {EACH} (increase({m('lost_rows_total')}[$__rate_interval]))", WHO + " sessions"),
        ],
              "short", """Rows that named a proxy but no session of it, and were freed: changes of unknown outcome. Sessions that were
              closed because somebody had deleted or changed their lock's row.""",
              steps(warn=1)),
    ]),
    ("Past holds", 8, [
        graph("Past holds not written", [
            (f"sum {EACH} (increase({m('history_failures_total')}[$__rate_interval]))", WHO + " failures"),
            (f"sum {EACH} (increase({m('history_lost_total')}[$__rate_interval]))", WHO + " lost"),
        ],
              "short", """With history_rows: failed attempts to write into the table lock_history, and holds that were forgotten before
              they could be written. No lock depends on that.""",
              steps(warn=1)),
    ]),
    ("Other primaries", 8, [
        graph("Writer", [
            (f"max by (instance, cluster, backend) ({m('server_writer')})", WHO + " {{backend}} writer"),
            (f"max by (instance, cluster, backend) ({m('server_up')})", WHO + " {{backend}} up"),
            (f"sum {EACH} (increase({m('writer_changes_total')}[$__rate_interval]))", WHO + " changes"),
            (f"max {EACH} ({m('writer_rivals')})", WHO + " rivals"),
        ], "short", """Servers that take writes, and those that answer, where the configuration lists several; changes of the writer, and
              further servers that take writes."""),
        graph("Replicas", [
            (f"max by (instance, cluster, backend) ({m('server_replica')})", WHO + " {{backend}} replica"),
            (f"sum by (instance, cluster, backend) ({m('replica_sessions')})", WHO + " {{backend}} sessions"),
        ], "short", "With a listener to replicas: the servers that it leads to, and its sessions at each."),
        graph("Planned switch", [
            (f"max {EACH} ({m('switchover_state')})", WHO),
            (f"sum {EACH} ({m('held_statements')})", WHO + " held statements"),
            (f"sum by (instance, cluster, end) (increase({m('switchovers_total')}[$__rate_interval]))",
             WHO + " over: {{end}}"),
        ], "short", """1 while new statements wait for a planned switch, 2 when no transaction is open; statements that wait; and why they
              went on."""),
        graph("Epoch", [(f"max {EACH} ({m('epoch')})", WHO)], "short",
              "The epoch of the lock tables. It grows when another server is the primary."),
        graph("Grace", [
            (f"max {EACH} ({m('grace_seconds')})", WHO),
            (f"max {EACH} ({m('failover_lossless')})", WHO + " lossless"),
        ], "s", "Time until locks are granted in a new epoch; 1 at lossless: it ends when all proxies have followed."),
        graph("Failover candidates", [
            (f"min by (instance, cluster, backend) ({m('witness_up')})", WHO + " {{backend}} up"),
            (f"histogram_quantile(0.99, sum by (le) ({rate('witness_seconds_bucket')}))", "p99"),
        ], "short", "1 for a candidate that executes grants and renewals in time; the time until all had, in seconds."),
        graph("Epochs joined", [
            (f"sum {EACH} (increase({m('failovers_total')}[$__rate_interval]))", WHO + " joined"),
            (f"sum by (instance, cluster, result) (increase({m('failover_locks_total')}[$__rate_interval]))",
             WHO + " {{result}}"),
            (f"max {EACH} ({m('failover_seconds')})", WHO + " time"),
        ], "short", "Epochs that a proxy has joined; locks that it kept, and lost; the time that the last one took."),
    ]),
]

DASHBOARDS = {
    "overview": dashboard("lockstead-overview", "Lockstead: overview", "Is it healthy?", OVERVIEW),
    "locks": dashboard("lockstead-locks", "Lockstead: locks", "Contention, waits, holds and outcomes.", LOCKS),
    "sessions": dashboard("lockstead-sessions", "Lockstead: sessions and backends",
                          "Clients, relayed bytes, and the servers.", SESSIONS),
    "engine": dashboard("lockstead-engine", "Lockstead: engine", "Lease, store, batches and other proxies.", ENGINE),
}


def main():
    folder = pathlib.Path(__file__).parent / "dashboards"
    stale = []
    for name, made in DASHBOARDS.items():
        path, text = folder / f"{name}.json", json.dumps(made, indent=2) + "\n"
        if "--check" not in sys.argv[1:]:
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            stale.append(path.name)
    stale += sorted(p.name for p in folder.iterdir() if p.stem not in DASHBOARDS)
    if stale:
        sys.exit(f"not as grafana/generate.py writes it: {', '.join(stale)}")


if __name__ == "__main__":
    main()
