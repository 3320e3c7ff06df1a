//! Rules of sessions that move are left out one at a time, and a script must notice, though it passes with all rules in
//! force: `differential::mysql::mutants_of_moves`.

use libtest_mimic::{Failed, Trial};

use crate::header::Header;
use crate::own_server::OwnServer;
use crate::pass::Pass;
use crate::proxy::Proxy;
use crate::script::check::{Check, Recorded};
use crate::script::{Flavour, Server};
use crate::wire::library::OWN;

/// Rules, and the scripts in `scripts/pooling` of which one must notice.
const RULES: [(&str, &[&str]); 9] = [
    ("ForgetCollation", &["charsets_of_session", "charsets_of_login"]),
    ("ForgetRole", &["roles"]),
    ("LastReportAlone", &["variables_routines", "several_at_once", "variables_kinds"]),
    ("KeepChangedFlag", &["capabilities", "variables_kinds"]),
    ("InsertIdByReplies", &["insert_ids"]),
    ("FreeInTransaction", &["transactions_begun"]),
    ("LeaveSeveralOn", &["capabilities", "several_at_once"]),
    ("LendAcrossAccounts", &["changes_of_user"]),
    ("ForwardFoundRows", &["counts_found"]),
];

/// One for each server.
pub(crate) fn trials() -> Vec<Trial> {
    let of = |flavour: Flavour| {
        let name = format!("differential::{}::mutants_of_moves", flavour.name());
        Trial::test(name, move || leave_out_each(flavour))
    };
    [Flavour::MySql, Flavour::MariaDb].map(of).into()
}

fn leave_out_each(flavour: Flavour) -> Result<(), Failed> {
    let own =
        Pass::Shuffled.server_options(flavour).map(|options| OwnServer::start(flavour, options));
    let server = own.as_ref().map_or_else(|| Server::from_env(flavour), |own| own.server.clone());
    let unseen: Vec<&str> = RULES
        .iter()
        .filter(|(rule, scripts)| !is_seen(&server, flavour, rule, scripts))
        .map(|(rule, _)| *rule)
        .collect();
    if unseen.is_empty() { Ok(()) } else { Err(format!("nobody notices {unseen:?}").into()) }
}

/// Whether a script's answers differ from the server's without the rule.
fn is_seen(server: &Server, flavour: Flavour, rule: &str, scripts: &[&str]) -> bool {
    let proxy = Proxy::start_mutant(&server.url, rule, &Pass::Shuffled.arguments());
    let wrap = Pass::Shuffled.wrap();
    let check =
        Check { server, flavour, wrap, through: Some(proxy.port), learns: true, library: &OWN };
    scripts.iter().any(|script| {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/scripts/pooling");
        let text = std::fs::read_to_string(format!("{folder}/{script}.sql")).expect("a script");
        let lines: Vec<&str> = Header::lines_for(&text, Pass::Shuffled, flavour).collect();
        let result = check.run(script, &lines.join("\n"), &mut Recorded::default());
        if let Err(told) = &result {
            let line = told.lines().next().unwrap_or_default();
            println!("{rule} on {flavour:?}: {line}");
        }
        result.is_err()
    })
}
