//! The comparison must be able to fail: each pair of scripts differs in one detail only.

use libtest_mimic::{Failed, Trial};

use crate::script::accounts::Accounts;
use crate::script::action::Options;
use crate::script::compare::Compared;
use crate::script::{Flavour, Runner, Script, Server, compare};
use crate::wire::library::OWN;
use crate::wire::wrap::Wrap;

const PAIRS: [(&str, &str, &str); 10] = [
    ("another_value", "a: SELECT 1", "a: SELECT 2"),
    ("another_column_type", "a: SELECT 1 AS x", "a: SELECT '1' AS x"),
    ("another_column_name", "a: SELECT 1 AS x", "a: SELECT 1 AS y"),
    ("null_for_zero", "a: SELECT 0 AS x", "a: SELECT NULL AS x"),
    ("another_status_flag", "a: DO 1\na: SELECT 1", "a: BEGIN\na: SELECT 1"),
    ("another_warning_count", "a: SELECT 1/1 AS x", "a: SELECT 1/0 AS x"),
    ("another_error_text", "a: SELECT nosuch", "a: SELECT nosuch2"),
    (
        "another_session_s_id",
        "b: SELECT 1\na: SELECT CONNECTION_ID()\nb: SELECT 1\n",
        "b: SELECT 1\na: SELECT $ID(b) AS `CONNECTION_ID()`\nb: SELECT 1\n",
    ),
    ("an_answer_at_once_for_a_wait", "a~400: DO SLEEP(0.5)", "a~400: DO SLEEP(0.0)"),
    ("a_packet_more", "a: SELECT 1", "a: SELECT 1 UNION ALL SELECT 1"),
];

/// A test for each pair.
pub(crate) fn trials() -> impl Iterator<Item = Trial> {
    PAIRS.into_iter().map(|(what, one, other)| {
        Trial::test(format!("differential::comparison_sees::{what}"), move || differ(one, other))
    })
}

fn differ(one: &str, other: &str) -> Result<(), Failed> {
    let flavour = Flavour::MySql;
    let server = Server::from_env(flavour);
    let accounts = Accounts::create(&server);
    let names = &accounts.names;
    let run = |text: &str| {
        let script = Script::parse("a pair", text, flavour);
        let variant = Options::default();
        let wrap = Wrap::default();
        let (script, variant, library) = (&script, &variant, &OWN);
        let runner = Runner { server: &server, script, variant, names, wrap, library, flavour };
        runner.run(server.port, &mut server.root())
    };
    let (left, again, right) = (run(one), run(one), run(other));
    compare(&left, &again, flavour, names, Compared::Whole)?;
    match compare(&left, &right, flavour, names, Compared::Whole) {
        Ok(_) => Err("they are taken for equal".into()),
        Err(_) => Ok(()),
    }
}
