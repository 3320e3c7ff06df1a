//! Checks beside definitions, as data: settings of the server, rights of the account.

use super::report::{Finding, Severity};
use crate::cli::terminal_text::plain;
use crate::store::definitions::Object;
use crate::store::facts::{Facts, GrantLine};
use crate::types::Flavour;

/// Something that a server may be, and what it means.
struct Check {
    severity: Severity,
    code: &'static str,
    found: fn(&Facts) -> bool,
    /// `{fact}` stands for its value.
    text: &'static str,
    advice: &'static str,
}

fn is(facts: &Facts, name: &str, values: &[&str]) -> bool {
    facts.get(name).is_some_and(|v| values.iter().any(|value| v.eq_ignore_ascii_case(value)))
}

fn is_other(facts: &Facts, name: &str, values: &[&str]) -> bool {
    facts.contains_key(name) && !is(facts, name, values)
}

const ON: [&str; 2] = ["ON", "1"];

const CHECKS: [Check; 13] = [
    Check {
        severity: Severity::Problem,
        code: "elsewhere",
        found: |f| f.contains_key("store_server") && f.get("store_server") != f.get("server"),
        text: "the account leads to {server}, the lock tables are on {store_server}: these findings are not about the server that keeps the locks",
        advice: "give --account the host and port of `store`, and run it again",
    },
    Check {
        severity: Severity::Problem,
        code: "store",
        found: |f| f.contains_key("store_error"),
        text: "{store_error}",
        advice: "Lockstead does not start like this; see `lockstead check`",
    },
    Check {
        severity: Severity::Problem,
        code: "engine",
        found: |f| is_other(f, "odd_engines", &[""]),
        text: "lock tables are not in InnoDB: {odd_engines}. Their rows cannot be locked one by one, and a crash may lose them",
        advice: "stop all proxies, ALTER TABLE … ENGINE=InnoDB",
    },
    Check {
        severity: Severity::Problem,
        code: "binlog-format",
        found: |f| is(f, "log_bin", &ON) && is(f, "binlog_format", &["STATEMENT"]),
        text: "binlog_format is STATEMENT, under which lock batches fail with error 1665",
        advice: "SET GLOBAL binlog_format=ROW, and in the server's option file",
    },
    Check {
        severity: Severity::Note,
        code: "binlog-mixed",
        found: |f| is(f, "log_bin", &ON) && is(f, "binlog_format", &["MIXED"]),
        text: "binlog_format is MIXED: lock batches are logged as rows nevertheless, since they run at READ COMMITTED",
        advice: "nothing; ROW would be clearer",
    },
    Check {
        severity: Severity::Problem,
        code: "read-only",
        found: |f| is(f, "read_only", &ON) || is(f, "super_read_only", &ON),
        text: "the server is read-only: a replica, or a primary that was stopped. No lock can be taken here",
        advice: "point `store` to the primary",
    },
    Check {
        severity: Severity::Problem,
        code: "redo-log",
        // MariaDB's 3 is 1 with another order of its syncs.
        found: |f| is_other(f, "innodb_flush_log_at_trx_commit", &["1", "3"]),
        text: "innodb_flush_log_at_trx_commit is {innodb_flush_log_at_trx_commit}: a crash of the server may lose the last locks, and a fencing token may be issued twice",
        advice: "SET GLOBAL innodb_flush_log_at_trx_commit=1, and in the server's option file",
    },
    Check {
        severity: Severity::Problem,
        code: "binlog-sync",
        found: |f| is(f, "log_bin", &ON) && is_other(f, "sync_binlog", &["1"]),
        text: "sync_binlog is {sync_binlog}: a crash of the machine may lose the last locks, and a fencing token may be issued twice",
        advice: "SET GLOBAL sync_binlog=1, and in the server's option file",
    },
    Check {
        severity: Severity::Problem,
        code: "group-multi-primary",
        found: |f| {
            is(f, "group", &["yes"]) && is_other(f, "group_replication_single_primary_mode", &ON)
        },
        text: "the server is in a replication group with several primaries. The server's own locks can be taken on every member at once; Lockstead keeps its locks with one of them, on which all proxies agree only if `backend` lists all members",
        advice: "list all members in `backend` (docs/topologies.md), or SELECT group_replication_switch_to_single_primary_mode()",
    },
    Check {
        severity: Severity::Note,
        code: "group",
        found: |f| is(f, "group", &["yes"]) && is(f, "group_replication_single_primary_mode", &ON),
        text: "the server is in a replication group with one primary. The server's own locks can be taken on every member at once; Lockstead's locks follow to the next primary only if `backend` lists all members",
        advice: "list all members in `backend` (docs/topologies.md)",
    },
    Check {
        severity: Severity::Note,
        code: "galera",
        found: |f| is(f, "wsrep_on", &ON) && is_other(f, "wsrep_provider", &["", "none"]),
        text: "the server is a node of a Galera cluster. The server's own locks can be taken on every node at once; Lockstead keeps its locks with one of them, on which all proxies agree only if `backend` lists all nodes",
        advice: "list all nodes in `backend` (docs/topologies.md)",
    },
    Check {
        severity: Severity::Note,
        code: "event-scheduler",
        found: |f| is(f, "event_scheduler", &ON) && f.contains_key("events"),
        text: "event_scheduler is ON: these events take the server's own locks without any client: {events}",
        advice: "as for the events themselves",
    },
    Check {
        severity: Severity::Note,
        code: "system",
        found: |f| f.contains_key("system"),
        text: "{system} of the server's own objects (schemas sys, mysql) call lock functions for their own purposes",
        advice: "nothing",
    },
];

/// Everything that is found.
pub(super) fn settings(facts: &Facts) -> Vec<Finding> {
    let found = CHECKS.iter().filter(|check| (check.found)(facts));
    found
        .map(|check| {
            let fill = |text: String, (name, value): (&String, &String)| {
                text.replace(&format!("{{{name}}}"), value)
            };
            Finding {
                severity: check.severity,
                code: check.code,
                text: plain(&facts.iter().fold(check.text.to_owned(), fill)),
                advice: check.advice.to_owned(),
                object: None,
            }
        })
        .collect()
}

/// Rights without which definitions are not seen.
struct NeededRights {
    code: &'static str,
    what: &'static str,
    kinds: &'static [&'static str],
    /// Any of these suffices; the first is advised. Rights, and on what.
    mysql: &'static [(&'static [&'static str], &'static str)],
    mariadb: &'static [(&'static [&'static str], &'static str)],
}

const NEEDS: [NeededRights; 4] = [
    NeededRights {
        code: "hidden-routines",
        what: "procedures and functions",
        kinds: &["procedure", "function", "package", "package body"],
        mysql: &[(&["SHOW_ROUTINE"], "*.*"), (&["SELECT"], "*.*")],
        mariadb: &[
            (&["SELECT"], "mysql.proc"),
            (&["SELECT"], "mysql.*"),
            (&["SELECT"], "*.*"),
            (&["SHOW CREATE ROUTINE"], "*.*"),
        ],
    },
    NeededRights {
        code: "hidden-triggers",
        what: "triggers",
        kinds: &["trigger"],
        mysql: &[(&["TRIGGER"], "*.*")],
        mariadb: &[(&["TRIGGER"], "*.*")],
    },
    NeededRights {
        code: "hidden-events",
        what: "events",
        kinds: &["event"],
        mysql: &[(&["EVENT"], "*.*")],
        mariadb: &[(&["EVENT"], "*.*")],
    },
    NeededRights {
        code: "hidden-views",
        what: "views",
        kinds: &["view"],
        mysql: &[(&["SELECT", "SHOW VIEW"], "*.*")],
        mariadb: &[(&["SELECT", "SHOW VIEW"], "*.*")],
    },
];

/// Objects that the account cannot see.
pub(super) fn hidden(objects: &[Object], grants: &[GrantLine], flavour: Flavour) -> Vec<Finding> {
    let gives = |right: &str, on: &str| grants.iter().any(|g| g.on == on && g.gives(right));
    let mut findings = Vec::new();
    for need in &NEEDS {
        let ways = match flavour {
            Flavour::MySql => need.mysql,
            Flavour::MariaDb => need.mariadb,
        };
        let whole = ways.iter().any(|(rights, on)| rights.iter().all(|right| gives(right, on)));
        let unseen = |o: &&Object| o.definition.is_none() && need.kinds.contains(&o.kind.as_str());
        let count = objects.iter().filter(unseen).count();
        if whole && count == 0 {
            continue;
        }
        let shown = match count {
            0 => String::new(),
            n => format!(" It cannot see the text of {n}."),
        };
        let listed = if whole { "sees that they exist" } else { "cannot see all of them" };
        let (rights, on) = ways[0];
        findings.push(Finding {
            severity: Severity::Problem,
            code: need.code,
            text: format!("{}: the account {listed}.{shown}", need.what),
            advice: format!(
                "GRANT {} ON {on} to the account, then run the doctor again",
                rights.join(", ")
            ),
            object: None,
        });
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn codes(facts: &[(&str, &str)]) -> Vec<&'static str> {
        let facts = facts.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        settings(&facts).into_iter().map(|f| f.code).collect()
    }

    #[test]
    fn each_setting_is_judged_by_its_value() {
        let single = "group_replication_single_primary_mode";
        for (facts, expected) in [
            (&[][..], &[][..]),
            (&[("log_bin", "ON"), ("binlog_format", "ROW"), ("sync_binlog", "1")], &[]),
            (&[("log_bin", "OFF"), ("binlog_format", "STATEMENT"), ("sync_binlog", "0")], &[]),
            (&[("log_bin", "1"), ("binlog_format", "STATEMENT")], &["binlog-format"]),
            (&[("log_bin", "ON"), ("binlog_format", "MIXED")], &["binlog-mixed"]),
            (&[("log_bin", "ON"), ("sync_binlog", "100")], &["binlog-sync"]),
            (&[("innodb_flush_log_at_trx_commit", "2")], &["redo-log"]),
            (&[("innodb_flush_log_at_trx_commit", "3")], &[]),
            (&[("read_only", "OFF"), ("super_read_only", "ON")], &["read-only"]),
            (&[("group", "yes"), (single, "ON")], &["group"]),
            (&[("group", "yes"), (single, "OFF")], &["group-multi-primary"]),
            (&[(single, "OFF")], &[]),
            (&[("wsrep_on", "ON"), ("wsrep_provider", "/usr/lib/galera.so")], &["galera"]),
            (&[("wsrep_on", "ON"), ("wsrep_provider", "none")], &[]),
            (&[("event_scheduler", "ON")], &[]),
            (&[("event_scheduler", "ON"), ("events", "s.e")], &["event-scheduler"]),
            (&[("event_scheduler", "DISABLED"), ("events", "s.e")], &[]),
            (&[("odd_engines", "")], &[]),
            (&[("odd_engines", "waits (MEMORY)")], &["engine"]),
            (&[("server", "a"), ("store_server", "a")], &[]),
            (&[("server", "a"), ("store_server", "b")], &["elsewhere"]),
        ] {
            assert_eq!(codes(facts), expected, "{facts:?}");
        }
    }

    #[test]
    fn a_text_has_the_value() {
        let facts = [("odd_engines".to_owned(), "waits (MEMORY)".to_owned())].into();
        let text = settings(&facts).remove(0).text;
        assert!(text.contains("in InnoDB: waits (MEMORY)."), "{text}");
    }

    #[test]
    fn hidden_definitions_are_reported_with_the_missing_privilege() {
        let grant = |rights: &[&str], on: &str| GrantLine {
            rights: rights.iter().map(|r| (*r).to_owned()).collect(),
            on: on.to_owned(),
        };
        let all = [grant(&["ALL PRIVILEGES"], "*.*")];
        let proc = [grant(&["SELECT"], "mysql.proc"), grant(&["TRIGGER", "EVENT"], "*.*")];
        let view = Object {
            kind: "view".to_owned(),
            schema: "s".to_owned(),
            name: "v".to_owned(),
            definition: None,
        };
        let told = |objects: &[Object], grants: &[GrantLine], flavour| {
            let all = hidden(objects, grants, flavour);
            all.into_iter().map(|f| (f.code, f.text + " " + &f.advice)).collect::<Vec<_>>()
        };
        assert_eq!(told(&[], &all, Flavour::MySql), []);
        let one = told(&[], &proc, Flavour::MariaDb);
        assert!(one.len() == 1 && one[0].0 == "hidden-views", "{one:?}");
        assert!(one[0].1.contains("GRANT SELECT, SHOW VIEW ON *.*"), "{one:?}");
        let routines = told(&[], &proc, Flavour::MySql).remove(0);
        assert!(routines.1.contains("GRANT SHOW_ROUTINE ON *.*"), "{routines:?}");
        let partial = told(&[view], &all, Flavour::MySql);
        assert!(partial[0].1.contains("the text of 1") && partial.len() == 1, "{partial:?}");
    }
}
