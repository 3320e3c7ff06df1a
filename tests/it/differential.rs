//! Every script, sent to the server directly and through the proxy: the answers must be equal.
//!
//! `LOCKSTEAD_DIFF_SELF=1` compares the server with itself, which proves the scripts
//! deterministic. `LOCKSTEAD_DIFF_EXTRA` holds further arguments for the proxy, so that the same
//! scripts run again in other modes. `LOCKSTEAD_WRAP=tls,zlib` wraps the connections of both sides. `LOCKSTEAD_DIFF_SHOW=1` prints what the server says itself.

use crate::proxy::Proxy;
use crate::script::action::Options;
use crate::script::compare::{shown_whole, unexpected};
use crate::script::expand::Names;
use crate::script::{Flavour, Runner, Script, Server, compare};
use crate::wire::wrap::Wrap;

/// With compression, servers hang up without the last words that are compared here; and packing so
/// large a file takes so long in a debug build that the server calls the statement slow.
const NOT_COMPRESSED: [&str; 3] = ["lifecycle", "big_packets", "infile"];

/// Runs one script in all its variants.
fn check(name: &str, text: &str, flavour: Flavour) {
    let wrap = Wrap::from_env();
    if (wrap.zlib || wrap.zstd) && NOT_COMPRESSED.contains(&name) {
        return;
    }
    let extra = std::env::var("LOCKSTEAD_DIFF_EXTRA").unwrap_or_default();
    let extra: Vec<&str> = extra.split_whitespace().collect();
    check_with(name, text, flavour, &extra);
}

/// Runs one script in all its variants with a proxy started with `extra` arguments.
pub(crate) fn check_with(name: &str, text: &str, flavour: Flavour, extra: &[&str]) {
    let server = Server::from_env(flavour);
    let itself = std::env::var("LOCKSTEAD_DIFF_SELF").is_ok_and(|v| v == "1");
    let proxy = (!itself).then(|| Proxy::start(&server.url, extra));
    check_against(name, text, flavour, proxy.as_ref());
}

/// Runs one script in all its variants; without a proxy the server is compared with itself.
pub(crate) fn check_against(name: &str, text: &str, flavour: Flavour, proxy: Option<&Proxy>) {
    check_at(&Server::from_env(flavour), name, text, flavour, proxy);
}

/// The same at a server of the test's own.
pub(crate) fn check_at(
    server: &Server,
    name: &str,
    text: &str,
    flavour: Flavour,
    proxy: Option<&Proxy>,
) {
    let script = Script::parse(name, text, flavour);
    let mut variants = vec![("as it is".to_owned(), Options::default())];
    variants.extend(script.matrix.iter().cloned());
    for (words, variant) in &variants {
        let names = Names::fresh();
        let runner = Runner { server, script: &script, variant, names: &names };
        let once = || {
            let direct = runner.run(server.port, &mut server.root());
            if std::env::var("LOCKSTEAD_DIFF_SHOW").is_ok_and(|v| v == "1") {
                println!("{name} ({words}) on {flavour:?}\n{}", shown_whole(&direct));
            }
            let wrong = unexpected(&direct, flavour, &names);
            if !wrong.is_empty() {
                return Err(format!("{flavour:?} itself is not as expected\n{}", wrong.join("\n")));
            }
            let port = proxy.map_or(server.port, |proxy| proxy.port);
            let proxied = runner.run(port, &mut server.root());
            compare(&direct, &proxied, flavour, &names)
        };
        // A busy machine delays a reply now and then, a wrong wait is there every time.
        let mut result = once();
        for _ in 0..3 {
            if matches!(&result, Err(e) if e.contains("pace Some") || e.contains(", came ")) {
                result = once();
            }
        }
        match result {
            Ok(equal) => println!(
                "{name} ({words}): {} steps equal, {} documented differences",
                equal.steps, equal.differences
            ),
            Err(difference) => panic!("{name} ({words}) on {flavour:?}: {difference}"),
        }
    }
}

macro_rules! scripts {
    ($($module:ident: $flavour:expr => $($script:ident)*;)*) => {$(
        mod $module {
            $(#[test]
            fn $script() {
                let text = include_str!(concat!("scripts/", stringify!($script), ".sql"));
                super::check(stringify!($script), text, $flavour);
            })*
        }
    )*};
}

scripts! {
    mysql: crate::script::Flavour::MySql =>
        applications assignments assignments_settings calls_in_writes calls_left_out calls_with_tables clauses computed_hashes computed_names evaluation_counts
        expressions operators order_in_clauses order_in_operators several_calls several_statements subqueries
        named_statements named_texts shows larger_cursors differences corpus statements_wait names_by_row prepared_statements arguments attributes big_packets cache_metadata charsets column_names commands comments cursors deadlocks diagnostics infile kill_query
        lifecycle listing lock_cursors logins long_columns many mentions names_emoji names_folding names_lenient names_length names_literals
        no_metadata one_statement ordinary prepared prepared_long prepared_texts prepared_timeouts resolve_errors select_limit several_results shapes
        forms bound_limits bound_numbers failing_timeouts many_calls strict_writes pieces smoke sql_modes temporal time_limits timeouts_long timeouts_numbers timeouts_special timeouts_strings
        trackers transactions values versioned wait_states wait_trackers waits;
    mariadb: crate::script::Flavour::MariaDb =>
        applications assignments assignments_settings calls_in_writes calls_left_out calls_with_tables clauses computed_hashes computed_names evaluation_counts
        expressions operators order_in_clauses order_in_operators several_calls several_statements subqueries
        set_statement shows named_immediate named_statements named_texts larger_cursors differences corpus statements_wait names_by_row prepared_statements arguments big_packets cache_metadata charsets column_names commands comments cursors deadlocks diagnostics infile kill_query lifecycle listing lock_cursors
        logins many mentions names_emoji names_folding names_lenient names_length names_literals one_statement ordinary
        prepared prepared_long prepared_texts prepared_timeouts resolve_errors select_limit several_results shapes smoke sql_modes
        forms bound_limits bound_numbers failing_timeouts many_calls strict_writes pieces killed_rows temporal time_limits timeouts_long timeouts_numbers timeouts_special timeouts_strings trackers transactions
        values versioned wait_states wait_trackers waits;
}

/// Scripts of what the proxy does not cover yet: the server must say what they expect, and say it
/// twice. `LOCKSTEAD_DIFF_LATER=proxy` sends them through the proxy and tells which of them could
/// move up; `LOCKSTEAD_DIFF_ONLY` is a part of the names of those to run.
mod later {
    use super::{Flavour, Proxy, Script, Server, check_against};
    use std::panic::{AssertUnwindSafe, catch_unwind};

    /// The server itself breaks the protocol there.
    const UNREADABLE: &str = "cursor_then_none";

    /// Names and texts, in order.
    fn scripts() -> Vec<(String, String)> {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/scripts/later");
        let only = std::env::var("LOCKSTEAD_DIFF_ONLY").unwrap_or_default();
        let mut scripts: Vec<(String, String)> = std::fs::read_dir(folder)
            .expect("the folder of later scripts")
            .map(|entry| entry.expect("a file").path())
            .map(|path| {
                let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
                (name, std::fs::read_to_string(&path).expect("a script"))
            })
            .filter(|(name, _)| name != UNREADABLE && name.contains(&only))
            .collect();
        scripts.sort();
        scripts
    }

    fn run(flavour: Flavour) {
        let proxied = std::env::var("LOCKSTEAD_DIFF_LATER").is_ok_and(|v| v == "proxy");
        let proxy = proxied.then(|| Proxy::start(&Server::from_env(flavour).url, &[]));
        let mut failed = Vec::new();
        for (name, text) in scripts() {
            if Script::is_for(&text, flavour) {
                let check = || check_against(&name, &text, flavour, proxy.as_ref());
                if catch_unwind(AssertUnwindSafe(check)).is_err() {
                    failed.push(name);
                }
            }
        }
        assert!(failed.is_empty(), "on {flavour:?}: {failed:?}");
    }

    #[test]
    fn mysql() {
        run(Flavour::MySql);
    }

    #[test]
    fn mariadb() {
        run(Flavour::MariaDb);
    }
}

/// The comparison must be able to fail: each pair differs in one detail only.
mod comparison_sees {
    use super::{Flavour, Names, Options, Runner, Script, Server, compare};

    fn differ(one: &str, other: &str) {
        let flavour = Flavour::MySql;
        let server = Server::from_env(flavour);
        let names = Names::fresh();
        let run = |text: &str| {
            let script = Script::parse("a pair", text, flavour);
            let variant = Options::default();
            let runner =
                Runner { server: &server, script: &script, variant: &variant, names: &names };
            runner.run(server.port, &mut server.root())
        };
        let (left, again, right) = (run(one), run(one), run(other));
        compare(&left, &again, flavour, &names).expect("the same script twice is equal");
        let difference = compare(&left, &right, flavour, &names).expect_err("the scripts differ");
        println!("{difference}");
    }

    #[test]
    fn another_value() {
        differ("a: SELECT 1", "a: SELECT 2");
    }

    #[test]
    fn another_column_type() {
        differ("a: SELECT 1 AS x", "a: SELECT '1' AS x");
    }

    #[test]
    fn another_column_name() {
        differ("a: SELECT 1 AS x", "a: SELECT 1 AS y");
    }

    #[test]
    fn null_for_zero() {
        differ("a: SELECT 0 AS x", "a: SELECT NULL AS x");
    }

    #[test]
    fn another_status_flag() {
        differ("a: DO 1\na: SELECT 1", "a: BEGIN\na: SELECT 1");
    }

    #[test]
    fn another_warning_count() {
        differ("a: SELECT 1/1 AS x", "a: SELECT 1/0 AS x");
    }

    #[test]
    fn another_error_text() {
        differ("a: SELECT nosuch", "a: SELECT nosuch2");
    }

    #[test]
    fn another_session_s_id() {
        differ(
            "b: SELECT 1\na: SELECT CONNECTION_ID()\nb: SELECT 1\n",
            "b: SELECT 1\na: SELECT $ID(b) AS `CONNECTION_ID()`\nb: SELECT 1\n",
        );
    }

    #[test]
    fn an_answer_at_once_for_a_wait() {
        differ("a~400: DO SLEEP(0.5)", "a~400: DO SLEEP(0.0)");
    }

    #[test]
    fn a_packet_more() {
        differ("a: SELECT 1", "a: SELECT 1 UNION ALL SELECT 1");
    }
}
