//! Whose connections are whose: accounts, their passwords, and what the proxy knows of them.

use std::collections::BTreeMap;

use super::ground::{Ground, Suited, Tenant, pins, pooling, teach};
use crate::script::Server;
use crate::session::Session;
use crate::stage::on_both;
use crate::wire::{Account, Client};

on_both! {
    nothing_is_lent_across_accounts
    a_wrong_password_gets_the_server_s_error
    a_session_of_an_unknown_account_keeps_its_connection_and_works
    a_new_password_counts_for_new_logins
}

fn nothing_is_lent_across_accounts(server: &Server) {
    let suited = Suited::to(server);
    let server = suited.server();
    let tenants = [Tenant::create(server, "one of two"), Tenant::create(server, "another")];
    let proxy = pooling(server, 1, &[]);
    for tenant in &tenants {
        teach(&proxy, &tenant.account);
    }
    let mut sessions: Vec<(&Tenant, Session)> = tenants
        .iter()
        .chain(&tenants)
        .map(|tenant| (tenant, Session::of(proxy.port, &tenant.account)))
        .collect();
    let mut owners: BTreeMap<String, &str> = BTreeMap::new();
    for round in 0..5 {
        for (tenant, session) in &mut sessions {
            let who = session.value("SELECT CONCAT_WS(' ', CURRENT_USER(), DATABASE(), @mine)");
            let mine = if round == 0 { String::new() } else { format!(" {}", session.id()) };
            let expected = format!("{}@% {}{mine}", tenant.name, tenant.database.name);
            assert_eq!(who, Some(expected), "round {round}");
            let mine = format!("SET @mine = {}", session.id());
            session.run(&mine);
            let stranger = tenants.iter().find(|other| other.name != tenant.name).expect("two");
            let table = format!("CREATE TABLE {} (id INT)", stranger.database.table("t"));
            assert_eq!(session.client.query(table.as_bytes()).error(), Some(1142), "{table}");
            // A session keeps its connection as long as it may ask what the error was.
            session.run("SELECT COUNT(*) FROM information_schema.engines");
            for id in tenant.connections() {
                let owner = owners.entry(id.clone()).or_insert(&tenant.name);
                assert_eq!(*owner, tenant.name, "connection {id} was another account's");
            }
        }
    }
}

fn last_packet(port: u16, account: &Account) -> Vec<u8> {
    let client = Client::connect("127.0.0.1", port, account).expect("a connection");
    assert!(!client.login.succeeded(), "{}", account.user);
    client.login.packets.last().expect("an answer").payload.clone()
}

fn a_wrong_password_gets_the_server_s_error(server: &Server) {
    let ground = Ground::new(server, 2, &[]);
    let mut session = ground.session();
    session.lock("k");
    let wrong = Account { password: "another".to_owned(), ..ground.tenant.account.clone() };
    let none = Account { password: String::new(), ..ground.tenant.account.clone() };
    let nobody = Account { user: "nobody_at_all".to_owned(), ..ground.tenant.account.clone() };
    let elsewhere = Account { database: Some("mysql".to_owned()), ..ground.tenant.account.clone() };
    for account in [wrong, none, nobody, elsewhere] {
        let direct = last_packet(ground.server().port, &account);
        let proxied = last_packet(ground.proxy.port, &account);
        let text = String::from_utf8_lossy(&proxied);
        assert_eq!(proxied, direct, "{text}");
        assert!(text.contains("denied"), "{text}");
    }
    // A client that knows it is let in.
    session.unlock("k");
    assert_eq!(ground.session().value("SELECT 7").as_deref(), Some("7"));
    assert_eq!(ground.pins(), [""; 0]);
}

fn a_session_of_an_unknown_account_keeps_its_connection_and_works(server: &Server) {
    let suited = Suited::to(server);
    let tenant = Tenant::create(suited.server(), "not to be learned");
    let settings = ["--learn-passwords", "off", "--idle-keep", "50ms"];
    let proxy = pooling(suited.server(), 1, &settings);
    let mut sessions: Vec<Session> =
        (0..3).map(|_| Session::of(proxy.port, &tenant.account)).collect();
    for round in 0..2 {
        for (n, session) in sessions.iter_mut().enumerate() {
            if round == 0 {
                session.lock(&format!("k{n}"));
                session.run(&format!("SET @x = {n}"));
            }
            assert_eq!(session.value("SELECT @x"), Some(n.to_string()));
            let id = Some(session.id().to_string());
            assert_eq!(session.value(&format!("SELECT IS_USED_LOCK('k{n}')")), id);
        }
    }
    assert_eq!(pins(&proxy), ["{reason=\"auth\"} 3"]);
    assert_eq!(tenant.connections().len(), 3);
    for (n, session) in sessions.iter_mut().enumerate() {
        session.unlock(&format!("k{n}"));
    }
}

fn a_new_password_counts_for_new_logins(server: &Server) {
    // Each login is the server's to judge: tests of other logins are in `logins`.
    let strict = ["--idle-keep", "100ms", "--login-check-ttl", "0s"];
    let mut ground = Ground::new(server, 2, &strict);
    let mut sessions: Vec<Session> = (0..4).map(|_| ground.session()).collect();
    for (n, session) in sessions.iter_mut().enumerate() {
        session.lock(&format!("k{n}"));
        session.run(&format!("SET @x = {n}"));
    }
    ground.until_all_have_left();
    let before = ground.tenant.account.clone();
    ground.tenant.change_password("the second");
    last_packet(ground.proxy.port, &before);
    for (n, session) in sessions.iter_mut().enumerate() {
        assert_eq!(session.value("SELECT @x"), Some(n.to_string()), "an old session");
    }
    ground.session().run("DO 0");
    ground.until_all_have_left();
    ground.kill_connections();
    // Where the proxy has not noticed yet, it does now. The session is refused, and goes on.
    let refused = sessions[0].client.query(b"SELECT @x").error();
    assert!(matches!(refused, None | Some(1429)), "{refused:?}");
    // MariaDB's verifiers are read every ten seconds; the next login is known by them.
    teach(&ground.proxy, &ground.tenant.account);
    ground.until_all_have_left();
    ground.kill_connections();
    last_packet(ground.proxy.port, &before);
    for (n, session) in sessions.iter_mut().enumerate() {
        assert_eq!(session.value("SELECT @x"), Some(n.to_string()), "by the new password");
        session.unlock(&format!("k{n}"));
    }
}
