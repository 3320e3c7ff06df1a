//! What administrators are shown of shared connections.

use serde_json::json;

use super::ground::{Suited, Tenant, teach};
use crate::admin::Desk;
use crate::script::Server;
use crate::session::Session;
use crate::stage::{eventually, on_both};

on_both! {
    show_pool_tells_what_each_account_has
}

fn show_pool_tells_what_each_account_has(server: &Server) {
    let suited = Suited::to(server);
    let tenants = ["one", "another"].map(|of| Tenant::create(suited.server(), of));
    let extra =
        ["--pooling", "transaction", "--pool-size", "2", "--idle-keep", "1h", "--pool-wait", "1h"];
    let desk = Desk::of(&suited.server().url, "", &extra);
    for tenant in &tenants {
        teach(&desk.proxy, &tenant.account);
    }
    let port = desk.proxy.port;
    let shown = |tenant: &Tenant| {
        let rows = desk.rows(&["pool"]);
        let row = rows.into_iter().find(|row| row["user"] == json!(tenant.name));
        row.map(|row| {
            assert!(row["listener"].as_str().is_some_and(|at| at.ends_with(&format!(":{port}"))));
            json!([row["connections"], row["free"], row["waiting"], row["pinned"]])
        })
    };
    let until = |tenant: &Tenant, expected: serde_json::Value| {
        eventually("the pool is shown so", || {
            (shown(tenant) == Some(expected.clone())).then_some(())
        });
    };
    let [first, second] = &tenants;
    let mut sessions: Vec<Session> = (0..2).map(|_| Session::of(port, &first.account)).collect();
    sessions[0].run("CREATE TEMPORARY TABLE t (a INT)");
    sessions[1].run("BEGIN");
    until(first, json!([2, 0, 0, "temp_table 1"]));
    // An account that has no connection gets one, whatever others have.
    let mut stranger = Session::of(port, &second.account);
    stranger.run("SELECT 5");
    until(second, json!([1, 0, 0, ""]));
    stranger.client.quit();
    // Another one of an account that has some gives its own back, and waits.
    let mut waiter = Session::of(port, &first.account);
    eventually("both have left", || {
        (desk.proxy.metric("lockstead_pool_connections") <= 2.0).then_some(())
    });
    waiter.send("SELECT 7");
    until(first, json!([2, 0, 1, "temp_table 1"]));
    assert_eq!(sessions[0].client.reset_connection().error(), None);
    assert_eq!(waiter.reply().as_deref(), Some("7"));
    until(first, json!([2, 0, 0, ""]));
    sessions[1].run("COMMIT");
    for mut session in sessions {
        session.client.quit();
    }
    until(first, json!([2, 1, 0, ""]));
}
