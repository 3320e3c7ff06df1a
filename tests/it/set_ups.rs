//! Set-ups that must be refused: two servers for one, and a proxy that is its own server.

use std::fs;

use lockstead_support::Launch;
use lockstead_support::http::page;
use lockstead_support::launch::{Ready, lasting_port};

use crate::cli::text;
use crate::launch::{program, run};
use crate::link::Link;
use crate::own_server::OwnServer;
use crate::proxy::fresh_schema;
use crate::script::{Flavour, Server};
use crate::session::{Session, account};
use crate::stage::{eventually, on_both};
use crate::wire::Client;

on_both! {
    backend_and_store_on_two_servers_are_refused
    nothing_is_granted_before_backend_and_store_are_known_to_be_one_server
    an_account_that_cannot_log_in_at_backend_is_told_from_another_server
    a_proxy_that_is_its_own_backend_is_refused
    a_proxy_that_leads_to_itself_says_so
    proxies_in_a_ring_say_so
    a_proxy_in_front_of_another_serves
}

/// An account for lock tables, dropped with this.
struct Keeper {
    server: Server,
    schema: String,
}

impl Keeper {
    fn create(server: &Server, limits: &str) -> Self {
        let schema = fresh_schema();
        let mut root = server.root();
        root.run(&format!("CREATE USER {schema} IDENTIFIED BY 'pw'{limits}"));
        root.run(&format!("GRANT ALL ON {schema}.* TO {schema}"));
        Self { server: server.clone(), schema }
    }

    fn may(&self, right: &str) {
        self.server.root().run(&format!("GRANT {right} ON *.* TO {}", self.schema));
    }

    fn store(&self) -> String {
        let Self { server, schema } = self;
        // A server that has seen the account asks for no more than a proof.
        server.warm_up(schema, "pw");
        format!("mysql://{schema}:pw@{}:{}/{schema}", server.host, server.port)
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        let mut root = self.server.root();
        root.run(&format!("DROP USER {}", self.schema));
        root.run(&format!("DROP DATABASE IF EXISTS {}", self.schema));
    }
}

fn at(port: u16) -> String {
    format!("127.0.0.1:{port}")
}

/// A proxy at this port, which need not be ready.
fn start(port: u16, backend: &str, store: &str, extra: &[&str]) -> lockstead_support::Proxy {
    Launch::by(|| program(&[]))
        .on_port(port)
        .with_pages()
        .until(Ready::AtOnce)
        .arguments(&["--backend", backend, "--store", store, "--create-schema"])
        .arguments(&["--workers", "1", "--state-dir", "off", "--connect-timeout", "4s"])
        .arguments(extra)
        .start()
        .expect("a proxy")
}

/// Exit status and log of a proxy, when it has ended and said why.
fn ended(mut proxy: lockstead_support::Proxy, why: &str) -> (Option<i32>, String) {
    let status = eventually("the start is refused", || proxy.ended());
    eventually(why, || proxy.log().contains(why).then_some(()));
    (status.code(), proxy.log())
}

fn open_files(proxy: &lockstead_support::Proxy) -> usize {
    fs::read_dir(format!("/proc/{}/fd", proxy.pid())).map_or(0, Iterator::count)
}

fn backend_and_store_on_two_servers_are_refused(server: &Server) {
    let keeper = Keeper::create(server, "");
    keeper.may("PROCESS");
    let store = keeper.store();
    for flavour in [Flavour::MySql, Flavour::MariaDb] {
        // The account is not there.
        let other = OwnServer::start(flavour, &[]);
        let backend = at(other.server.port);
        for mode in ["durable", "coexist"] {
            let proxy = start(lasting_port(), &backend, &store, &["--mode", mode]);
            let (status, log) = ended(proxy, "is another server");
            assert_eq!(status, Some(1), "{log}");
            assert!(log.contains("same address"), "{log}");
            let place = ["check", "--backend", &backend, "--store", &store, "--mode", mode];
            let output = run(&[&place[..], &["--state-dir", "off"]].concat());
            assert!(text(&output).contains("is another server"), "{}", text(&output));
            assert_eq!(output.status.code(), Some(1));
        }
    }
}

fn nothing_is_granted_before_backend_and_store_are_known_to_be_one_server(server: &Server) {
    let keeper = Keeper::create(server, "");
    let (store, link) = (keeper.store(), Link::to(server.port));
    link.stall();
    let proxy = start(lasting_port(), &at(link.port()), &store, &["--mode", "durable"]);
    let unready = eventually("it says why it is not ready", || {
        page(proxy.http(), "/readyz").filter(|page| page.contains("cannot check whether"))
    });
    assert!(unready.contains("no grants"), "{unready}");
    let foreign = "lockstead_store_foreign{reason=\"unchecked\"}";
    assert!(proxy.metric(foreign) >= 1.0 && proxy.metric("lockstead_lease_good") < 1.0);
    let place = ["check", "--backend", &at(link.port()), "--store", &store, "--mode", "durable"];
    let output = run(&[&place[..], &["--state-dir", "off", "--connect-timeout", "1s"]].concat());
    assert!(text(&output).contains("cannot check whether"), "{}", text(&output));
    assert_eq!(output.status.code(), Some(1));
    link.heal();
    eventually("it grants", || (proxy.metric("lockstead_lease_good") >= 1.0).then_some(()));
    assert!(proxy.metric(foreign) < 1.0);
    Session::at(proxy.port()).lock("l");
}

fn an_account_that_cannot_log_in_at_backend_is_told_from_another_server(server: &Server) {
    let limit = " WITH MAX_USER_CONNECTIONS 1";
    let keeper = Keeper::create(server, limit);
    let (store, link) = (keeper.store(), Link::to(server.port));
    let backend = at(link.port());
    // The schema is there, and each look has the only connection of the account.
    server.root().run(&format!("ALTER USER {} WITH MAX_USER_CONNECTIONS 0", keeper.schema));
    let output = run(&["schema", "install", "--backend", &backend, "--store", &store]);
    assert!(output.status.success(), "{}", text(&output));
    server.root().run(&format!("ALTER USER {}{limit}", keeper.schema));
    let check = || {
        let place = ["check", "--backend", &backend, "--store", &store, "--mode", "durable"];
        text(&run(&[&place[..], &["--state-dir", "off"]].concat()))
    };
    let said = check();
    assert!(said.contains("cannot check whether") && said.contains("grant it PROCESS"), "{said}");
    keeper.may("PROCESS");
    let said = check();
    assert!(!said.contains("cannot check") && !said.contains("another server"), "{said}");
}

fn a_proxy_that_is_its_own_backend_is_refused(server: &Server) {
    let schema = fresh_schema();
    let port = lasting_port();
    let store = format!("{}{schema}", server.url);
    let itself = "is this proxy itself";
    let (status, log) = ended(start(port, &format!("localhost:{port}"), &store, &[]), itself);
    assert_eq!(status, Some(2), "{log}");
    assert!(log.contains("`backend`"), "{log}");
    let store = format!("mysql://root:x@127.0.0.1:{port}/{schema}");
    let (_, log) = ended(start(port, &at(server.port), &store, &[]), itself);
    assert!(log.contains("`store`"), "{log}");
    let place = ["check", "--listen", &format!("0.0.0.0:{port}"), "--backend", &at(port)];
    let rest = ["--store", &store, "--state-dir", "off"];
    let output = run(&[&place[..], &rest].concat());
    assert!(text(&output).contains("is this proxy itself"), "{}", text(&output));
    assert_eq!(output.status.code(), Some(1));
}

/// What a client is told by a proxy whose connections come back to it, which stays small meanwhile.
fn is_told_of_the_ring(proxy: &lockstead_support::Proxy) {
    eventually("a client is told why", || {
        let files = open_files(proxy);
        assert!(files < 1000, "{files} files are open");
        let client = Client::connect("127.0.0.1", proxy.port(), &account());
        let packets = client.ok()?.login.packets;
        let said = String::from_utf8_lossy(&packets.last()?.payload).into_owned();
        said.contains("leads back to this proxy").then_some(())
    });
    eventually("it is not ready", || {
        page(proxy.http(), "/readyz")?.contains("leads back to this proxy").then_some(())
    });
    let files = open_files(proxy);
    assert!(files < 1000, "{files} files are open");
}

/// One of them has logged the ring as an error.
fn logs_it(proxies: &[&lockstead_support::Proxy]) {
    let says = |log: String| {
        log.lines().any(|line| line.contains("ERROR") && line.contains("leads back to this proxy"))
    };
    eventually("it is logged", || proxies.iter().any(|proxy| says(proxy.log())).then_some(()));
}

fn a_proxy_that_leads_to_itself_says_so(server: &Server) {
    let (port, schema) = (lasting_port(), fresh_schema());
    let link = Link::to(port);
    let store = format!("{}{schema}", server.url);
    let proxy = start(port, &at(link.port()), &store, &["--mode", "coexist"]);
    is_told_of_the_ring(&proxy);
    logs_it(&[&proxy]);
    // The proxy serves as soon as the address leads to the server.
    link.lead_to(server.port);
    eventually("clients are served", || {
        let client = Client::connect("127.0.0.1", port, &account()).ok()?;
        client.login.succeeded().then_some(())
    });
    drop(proxy);
    server.root().run(&format!("DROP DATABASE {schema}"));
}

fn proxies_in_a_ring_say_so(server: &Server) {
    let (one, other) = (lasting_port(), lasting_port());
    let schema = fresh_schema();
    let store = format!("{}{schema}", server.url);
    let first = start(one, &at(other), &store, &["--mode", "coexist"]);
    eventually("it serves", || first.log().contains("registered").then_some(()));
    let second = start(other, &at(one), &store, &["--mode", "coexist"]);
    eventually("the other serves", || second.log().contains("registered").then_some(()));
    is_told_of_the_ring(&first);
    is_told_of_the_ring(&second);
    // The first that finds out refuses all clients, the other one among them.
    logs_it(&[&first, &second]);
    drop((first, second));
    server.root().run(&format!("DROP DATABASE {schema}"));
}

fn a_proxy_in_front_of_another_serves(server: &Server) {
    let report = std::env::temp_dir().join(fresh_schema()).display().to_string();
    let observing = ["--mode", "observe", "--state-dir", &report];
    let behind = crate::proxy::Proxy::start(&server.url, &observing);
    let schema = fresh_schema();
    let store = format!("{}{schema}", server.url);
    let proxy = start(lasting_port(), &at(behind.port), &store, &["--mode", "durable"]);
    eventually("it serves", || proxy.log().contains("registered").then_some(()));
    let mut session = Session::at(proxy.port());
    session.lock("l");
    session.unlock("l");
    drop((proxy, behind));
    server.root().run(&format!("DROP DATABASE {schema}"));
    fs::remove_dir_all(report).expect("it is there");
}
