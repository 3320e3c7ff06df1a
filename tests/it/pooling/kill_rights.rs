//! Who may KILL sessions of other accounts that share their connections, and what the question costs.

use super::ground::{Ground, Tenant, teach};
use super::logins::logins_at;
use crate::own_server::flavour_of;
use crate::script::{Flavour, Server};
use crate::session::Session;
use crate::stage::on_both;

on_both! {
    privileges_give_the_right_as_on_the_server
    a_refused_kill_costs_the_server_no_login
    a_refused_kill_takes_no_connection_from_its_victim
}

fn privileges_give_the_right_as_on_the_server(server: &Server) {
    let ground = Ground::new(server, 4, &["--idle-keep", "50ms"]);
    let create = |password| Tenant::create(ground.server(), password);
    let (by_role, by_super, neither) =
        (create("of a role"), create("of an administrator"), create("of nobody"));
    let mut root = ground.server().root();
    let role = format!("{}_r", by_role.name);
    let (may, of) = match flavour_of(server) {
        Flavour::MySql => ("CONNECTION_ADMIN", "TO"),
        Flavour::MariaDb => ("CONNECTION ADMIN", "FOR"),
    };
    root.run(&format!("CREATE ROLE {role}"));
    root.run(&format!("GRANT {may} ON *.* TO {role}"));
    root.run(&format!("GRANT {role} TO {}", by_role.name));
    root.run(&format!("SET DEFAULT ROLE {role} {of} {}", by_role.name));
    root.run(&format!("GRANT SUPER ON *.* TO {}", by_super.name));
    if flavour_of(server) == Flavour::MySql {
        // By privileges that count for all schemas, a session counts as one of the system's.
        root.run(&format!("GRANT SYSTEM_USER ON *.* TO {}", by_super.name));
        root.run(&format!("GRANT SYSTEM_USER ON *.* TO {}", neither.name));
    }
    let all = [&ground.tenant, &by_role, &by_super, &neither];
    // A connection has the roles of its login.
    for tenant in all {
        teach(&ground.proxy, &tenant.account);
    }
    for (victim, killer) in all.iter().flat_map(|victim| all.iter().map(move |k| (victim, k))) {
        for (before, away) in [("DO 0", true), ("BEGIN", false), ("SET ROLE NONE", true)] {
            let [direct, proxied] = [ground.server().port, ground.proxy.port].map(|port| {
                let mut idle = Session::of(port, &victim.account);
                if !away {
                    idle.run(before);
                }
                if away && port == ground.proxy.port {
                    ground.until_all_have_left();
                }
                let mut busy = Session::of(port, &killer.account);
                if away {
                    busy.run(before);
                }
                let answer = busy.client.query(format!("KILL QUERY {}", idle.id()).as_bytes());
                assert_eq!(idle.value("SELECT 7").as_deref(), Some("7"));
                busy.client.quit();
                idle.client.quit();
                answer.error()
            });
            assert_eq!(proxied, direct, "{} of {}, {before}", killer.name, victim.name);
        }
    }
    root.run(&format!("DROP ROLE {role}"));
}

fn a_refused_kill_costs_the_server_no_login(server: &Server) {
    let ground = Ground::new(server, 1, &["--idle-keep", "50ms"]);
    let stranger = Tenant::create(ground.server(), "of a stranger");
    teach(&ground.proxy, &stranger.account);
    let victim = ground.session();
    let mut other = Session::of(ground.proxy.port, &stranger.account);
    other.run("DO 0");
    ground.until_all_have_left();
    ground.kill_connections();
    let before = logins_at(ground.server(), &ground.tenant);
    for what in ["", "QUERY ", "CONNECTION ", "@zero + "].repeat(5) {
        other.run("SET @zero = 0");
        let text = format!("KILL {what}{}", victim.id());
        assert_eq!(other.client.query(text.as_bytes()).error(), Some(1095), "{text}");
    }
    assert_eq!(logins_at(ground.server(), &ground.tenant), before);
}

fn a_refused_kill_takes_no_connection_from_its_victim(server: &Server) {
    let ground = Ground::new(server, 4, &["--idle-keep", "50ms"]);
    let stranger = Tenant::create(ground.server(), "of a stranger");
    teach(&ground.proxy, &stranger.account);
    let (mut victim, mut other) =
        (ground.session(), Session::of(ground.proxy.port, &stranger.account));
    victim.run("BEGIN");
    let before = ground.tenant.connections();
    let refused = other.client.query(format!("KILL {}", victim.id()).as_bytes());
    assert_eq!(refused.error(), Some(1095));
    other.client.quit();
    victim.run("COMMIT");
    ground.until_all_have_left();
    assert_eq!(ground.tenant.connections(), before, "it works for others");
    assert_eq!(victim.value("SELECT 7").as_deref(), Some("7"));
}
