//! Commits with a question before them, of sessions that share connections.

use super::ground::Ground;
use crate::script::Server;
use crate::session::Session;
use crate::stage::on_both;
use crate::wire::Account;
use crate::wire::capability::{DEFAULT, DEPRECATE_EOF};

on_both! {
    a_setting_that_is_reported_late_outlives_a_fenced_commit
}

/// The report comes with the next response that can hold one, and that is not the session's own.
fn a_setting_that_is_reported_late_outlives_a_fenced_commit(server: &Server) {
    let ground = Ground::new(server, 1, &[]);
    let mut root = ground.server().root();
    let (schema, name) = (&ground.proxy.schema, &ground.tenant.name);
    root.run(&format!("GRANT SELECT (k,tok,holder) ON {schema}.locks TO {name}"));
    let function = format!("{}.f", ground.tenant.database.name);
    root.run(&format!(
        "CREATE FUNCTION {function}() RETURNS INT NO SQL BEGIN SET div_precision_increment=7; RETURN 1; END"
    ));
    let old = Account { capabilities: DEFAULT & !DEPRECATE_EOF, ..ground.tenant.account.clone() };
    let (mut session, mut other) = (Session::of(ground.proxy.port, &old), ground.session());
    ground.until_none_is_surplus();
    session.lock("k");
    session.run("BEGIN");
    session.run(&format!("SELECT {function}()"));
    session.run("COMMIT");
    let fenced = ground.proxy.metric("lockstead_fenced_commits_total{result=\"fenced\"}");
    assert_eq!(fenced.to_string(), "1");
    other.run("DO 1");
    assert_eq!(session.value("SELECT @@div_precision_increment").as_deref(), Some("7"));
    session.unlock("k");
}
