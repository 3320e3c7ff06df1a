//! TLS on either leg, and what happens to passwords where one has it and the other has not.

use std::net::Ipv4Addr;
use std::process::{Command, Output};

use crate::launch::{Launched, run};
use crate::link::Link;
use crate::own_server::{OwnServer, flavour_of};
use crate::proxy::{Proxy, fresh_schema};
use crate::script::{Flavour, Server};
use crate::stage::{Database, on_both};
use crate::wire::capability::{LOCAL_FILES, MULTI_STATEMENTS};
use crate::wire::render::summary;
use crate::wire::response::ErrPacket;
use crate::wire::{Account, Client, End, Packet};

on_both! {
    every_plugin_works_over_every_combination_of_legs
    accounts_that_require_tls_are_let_in_as_by_the_server
    a_password_in_clear_is_not_passed_on_without_tls
    the_lock_tables_are_reached_by_tls_as_told
    a_proxy_that_requires_tls_refuses_others_as_the_server_would
    accounts_that_require_a_certificate
    clients_without_a_certificate_are_refused_where_it_is_required
    a_required_certificate_that_none_can_show_lets_nobody_in
    the_server_s_certificate_is_verified_as_told
    a_ca_alone_is_enough_for_a_certificate_without_names
    certificates_are_read_again_without_a_connection_lost
    the_server_is_called_as_the_client_called_the_proxy
    a_divided_packet_over_a_compressed_leg_passes
    results_over_a_compressed_leg_are_numbered_as_by_the_server
    answers_to_files_over_a_compressed_leg_are_numbered_as_by_the_server
}

const PASSWORD: &str = "a-secret-that-is-looked-for";

/// A proxy with a piece of network between it and the server, in which passwords would be seen.
struct Legs {
    proxy: Launched,
    link: Link,
}

impl Legs {
    fn start(server: &Server, extra: &[&str]) -> Self {
        let link = Link::start(server.port, Ipv4Addr::LOCALHOST);
        link.lose_the_reply_to(PASSWORD.as_bytes());
        let store = format!("{}{}", server.url, fresh_schema());
        let extra = [&["--create-schema"], extra].concat();
        let proxy = Launched::start(&format!("127.0.0.1:{}", link.port()), &store, &extra);
        Self { proxy, link }
    }

    fn assert_nothing_was_overheard(&self) {
        assert!(!self.link.has_lost_it(), "a password crossed the leg to the server in clear");
    }
}

fn plugins(server: &Server) -> &'static [&'static str] {
    match flavour_of(server) {
        Flavour::MySql => &["caching_sha2_password", "sha256_password"],
        Flavour::MariaDb => &["mysql_native_password"],
    }
}

/// An account for one test; dropped with it.
struct User {
    name: String,
    server: Server,
}

impl User {
    fn create(server: &Server, plugin: &str, require: &str) -> Self {
        let name = fresh_schema().replace("lockstead_t", "u");
        let how = match flavour_of(server) {
            Flavour::MySql => format!("IDENTIFIED WITH {plugin} BY '{PASSWORD}'"),
            Flavour::MariaDb => format!("IDENTIFIED VIA {plugin} USING PASSWORD('{PASSWORD}')"),
        };
        server.root().run(&format!("CREATE USER {name} {how} REQUIRE {require}"));
        Self { name, server: server.clone() }
    }

    fn account(&self, tls: bool, password: &str) -> Account {
        let mut account = Account::new(&self.name, password);
        account.wrap.tls = tls;
        account
    }
}

impl Drop for User {
    fn drop(&mut self) {
        self.server.root().run(&format!("DROP USER {}", self.name));
    }
}

/// The end of a login, without what numbers and connection ids are in it.
fn told(client: &Client) -> String {
    let last = client.login.packets.last();
    let text = last.map(|p| String::from_utf8_lossy(&p.payload).into_owned()).unwrap_or_default();
    if client.login.succeeded() { "in".to_owned() } else { text }
}

fn log_in(port: u16, account: &Account) -> Client {
    Client::connect("127.0.0.1", port, account).expect("a connection")
}

fn every_plugin_works_over_every_combination_of_legs(server: &Server) {
    for mode in ["match", "off", "required"] {
        let legs = Legs::start(server, &["--backend-tls", mode]);
        for plugin in plugins(server) {
            for tls in [false, true] {
                let case = format!("{plugin} backend_tls={mode} client tls={tls}");
                let user = User::create(server, plugin, "NONE");
                let wrong = user.account(tls, "wrong");
                let refused = told(&log_in(legs.proxy.port, &wrong));
                assert_eq!(refused, told(&log_in(server.port, &wrong)), "{case}");
                assert!(refused.contains("Access denied"), "{case}: {refused}");
                // The first login is in full, the second may be fast.
                let right = user.account(tls, PASSWORD);
                for again in ["first", "second"] {
                    let mut client = log_in(legs.proxy.port, &right);
                    assert_eq!(told(&client), "in", "{case} {again}");
                    changes_user(server, &mut client, plugin, tls, &case);
                }
            }
        }
        if mode == "off" {
            legs.assert_nothing_was_overheard();
        }
    }
}

/// To accounts that the server has not seen yet, and back to one that is refused.
fn changes_user(server: &Server, client: &mut Client, plugin: &str, tls: bool, case: &str) {
    let next = User::create(server, plugin, "NONE");
    let changed = client.change_user(&next.account(tls, PASSWORD));
    assert_eq!(changed.error(), None, "{case}: {}", summary(&changed));
    let who = summary(&client.query(b"SELECT CURRENT_USER()"));
    assert!(who.contains(&next.name), "{case}: {who}");
    let denied = client.change_user(&next.account(tls, "wrong"));
    assert_eq!(denied.error(), Some(1045), "{case}: {}", summary(&denied));
}

fn accounts_that_require_tls_are_let_in_as_by_the_server(server: &Server) {
    let user = User::create(server, plugins(server)[0], "SSL");
    let direct = |tls| told(&log_in(server.port, &user.account(tls, PASSWORD)));
    assert_eq!(direct(true), "in");
    assert!(direct(false).contains("Access denied"));
    for (mode, open) in [("match", None), ("off", Some(false)), ("required", Some(true))] {
        let legs = Legs::start(server, &["--backend-tls", mode]);
        for tls in [false, true] {
            let through = told(&log_in(legs.proxy.port, &user.account(tls, PASSWORD)));
            match open {
                None => assert_eq!(through, direct(tls), "client tls={tls}"),
                Some(true) => assert_eq!(through, "in", "client tls={tls}"),
                Some(false) => assert_eq!(through, direct(false), "client tls={tls}"),
            }
        }
    }
    let legs = Legs::start(server, &["--backend-tls-local", "true"]);
    let local = told(&log_in(legs.proxy.port, &user.account(false, PASSWORD)));
    assert_eq!(local, "in", "a client on this machine counts as encrypted");
}

fn a_password_in_clear_is_not_passed_on_without_tls(server: &Server) {
    let user = User::create(server, plugins(server)[0], "NONE");
    for (mode, tls) in [("match", false), ("off", true), ("required", false)] {
        let legs = Legs::start(server, &["--backend-tls", mode]);
        let mut account = user.account(tls, PASSWORD);
        account.clear_first = true;
        let refused = told(&log_in(legs.proxy.port, &account));
        assert!(refused.contains("mysql_clear_password"), "{mode} tls={tls}: {refused}");
        legs.assert_nothing_was_overheard();
    }
    let legs = Legs::start(server, &[]);
    let mut account = user.account(true, PASSWORD);
    account.clear_first = true;
    let through = told(&log_in(legs.proxy.port, &account));
    assert_eq!(through, told(&log_in(server.port, &account)), "over TLS it is the server's to say");
}

fn a_proxy_that_requires_tls_refuses_others_as_the_server_would(server: &Server) {
    let proxy = Proxy::start(&server.url, &["--tls", "require"]);
    let mut account = server.root.clone();
    account.wrap.tls = false;
    let refused = log_in(proxy.port, &account);
    let text = told(&refused);
    assert!(text.contains("require_secure_transport=ON"), "{text}");
    account.wrap.tls = true;
    assert_eq!(told(&log_in(proxy.port, &account)), "in");
    let proxy = Proxy::start(&server.url, &["--tls", "off"]);
    let greeting = log_in(proxy.port, &server.root).login.greeting.expect("a greeting");
    assert_eq!(greeting.capabilities & crate::wire::capability::SSL, 0);
}

/// The folder with the certificates of a server that `dev/server.sh` has started.
fn certificates(server: &Server) -> String {
    let ca = server.root().column("SELECT @@ssl_ca").pop().expect("a value");
    ca.strip_suffix("/ca.pem").unwrap_or_else(|| panic!("no CA of the scripts': {ca}")).to_owned()
}

fn the_server_s_certificate_is_verified_as_told(server: &Server) {
    let dir = certificates(server);
    let (good, bad) = (format!("{dir}/ca.pem"), format!("{dir}/client-cert.pem"));
    let backend = |host: &str| format!("{host}:{}", server.port);
    let by_name = backend("localhost");
    for (mode, ca, backend, let_in) in [
        ("verify-ca", &good, &by_name, true),
        ("verify-identity", &good, &by_name, true),
        ("verify-ca", &bad, &by_name, false),
        ("match", &good, &by_name, true),
        ("match", &bad, &by_name, false),
    ] {
        let store = format!("{}{}", server.url, fresh_schema());
        let extra = ["--create-schema", "--backend-tls", mode, "--backend-tls-ca", ca];
        let proxy = Launched::start(backend, &store, &extra);
        let mut account = server.root.clone();
        account.wrap.tls = true;
        let text = told(&log_in(proxy.port, &account));
        if let_in {
            assert_eq!(text, "in", "{mode} {ca}");
        } else {
            assert!(text.contains("no TLS connection"), "{mode} {ca}: {text}");
        }
    }
}

/// As MySQL makes its own: signed by its own CA, and for no name.
fn a_ca_alone_is_enough_for_a_certificate_without_names(server: &Server) {
    let made = Made::new();
    let file = |name: &str| made.file(name);
    let options = [
        format!("--ssl-ca={}", file("ca.pem")),
        format!("--ssl-cert={}", file("nameless-cert.pem")),
        format!("--ssl-key={}", file("nameless-key.pem")),
    ];
    let options = options.each_ref().map(String::as_str);
    let own = OwnServer::start(flavour_of(server), &options);
    let server = &own.server;
    let store = format!("{}{}", server.url, fresh_schema());
    let backend = format!("127.0.0.1:{}", server.port);
    let (ca, other) = (file("ca.pem"), file("client-cert.pem"));
    for (mode, ca, good) in
        [("verify-ca", &ca, true), ("verify-ca", &other, false), ("verify-identity", &ca, false)]
    {
        let place = ["--backend", &backend, "--store", &store, "--backend-tls-ca", ca];
        let ask = |key: &str| {
            text(&run(&[&["check", "--create-schema", key, mode][..], &place].concat()))
        };
        let said = ask("--store-tls");
        assert_eq!(!said.contains("FAILED"), good, "store_tls {mode} {ca}: {said}");
        let said = ask("--backend-tls");
        assert_eq!(!said.contains("FAILED"), good, "backend_tls {mode} {ca}: {said}");
    }
    let extra = ["--create-schema", "--backend-tls", "verify-ca", "--store-tls", "verify-ca"];
    let extra = [&extra[..], &["--backend-tls-ca", &ca]].concat();
    let proxy = Launched::start(&backend, &store, &extra);
    for tls in [false, true] {
        let mut account = server.root.clone();
        account.wrap.tls = tls;
        assert_eq!(told(&log_in(proxy.port, &account)), "in", "client tls={tls}");
    }
}

/// Certificates of a test's own; removed when dropped.
struct Made(std::path::PathBuf);

impl Made {
    fn new() -> Self {
        let dir = std::env::temp_dir().join(fresh_schema());
        let dev = std::env::var("LOCKSTEAD_DEV_DIR").expect("LOCKSTEAD_DEV_DIR");
        let made = Command::new(format!("{dev}/certificates.sh")).arg(&dir).status();
        assert!(made.expect("certificates.sh runs").success());
        Self(dir)
    }

    fn file(&self, name: &str) -> String {
        self.0.join(name).to_string_lossy().into_owned()
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn refused(client: &Client) -> ErrPacket {
    ErrPacket::parse(&client.login.packets.last().expect("an answer").payload)
}

fn clients_without_a_certificate_are_refused_where_it_is_required(server: &Server) {
    let (dir, flavour) = (certificates(server), flavour_of(server));
    let ca = format!("{dir}/ca.pem");
    let plugin = plugins(server)[0];
    let user = User::create(server, plugin, "X509");
    let native = log_in(server.port, &user.account(false, PASSWORD));
    let native = refused(&native).code;
    for extra in [&[][..], &["--backend-tls", "required"], &["--backend-tls", "off"]] {
        let asks = ["--tls-client-ca", &ca, "--tls-client-cert", "require"];
        let proxy = Proxy::start(&server.url, &[&asks[..], extra].concat());
        for tls in [false, true] {
            let mut account = server.root.clone();
            account.wrap.tls = tls;
            let told = refused(&log_in(proxy.port, &account));
            let said = String::from_utf8_lossy(&told.message);
            assert_eq!(told.code, native, "{extra:?} tls={tls}: {said}");
            assert!(said.contains("tls_client_cert"), "{extra:?} tls={tls}: {said}");
        }
        let tls = match flavour {
            Flavour::MySql => "--ssl-mode=REQUIRED",
            Flavour::MariaDb => "--ssl",
        };
        let shows = [
            tls.to_owned(),
            format!("--ssl-cert={dir}/client-cert.pem"),
            format!("--ssl-key={dir}/client-key.pem"),
        ];
        let said = text(&client(flavour, &server.root, proxy.port, &shows));
        assert!(said.contains("got in"), "{extra:?}: {said}");
        // One that another authority has signed is no certificate.
        let another = Made::new();
        let shows = [
            tls.to_owned(),
            format!("--ssl-cert={}", another.file("client-cert.pem")),
            format!("--ssl-key={}", another.file("client-key.pem")),
        ];
        let said = text(&client(flavour, &server.root, proxy.port, &shows));
        assert!(!said.contains("got in"), "{extra:?}: {said}");
    }
}

fn a_required_certificate_that_none_can_show_lets_nobody_in(server: &Server) {
    let ca = format!("{}/ca.pem", certificates(server));
    let off = match flavour_of(server) {
        Flavour::MySql => "--tls-version=",
        Flavour::MariaDb => "--skip-ssl",
    };
    let own = OwnServer::start(flavour_of(server), &[off]);
    let asks = ["--tls-client-ca", &ca, "--tls-client-cert", "require"];
    let proxy = Proxy::start(&own.server.url, &asks);
    let refused = told(&log_in(proxy.port, &own.server.root));
    assert!(refused.contains("tls_client_cert"), "{refused}");
    let ready = proxy.page("/readyz");
    assert!(ready.contains(" 503 ") && ready.contains("clients cannot log in"), "{ready}");
    let off = run(&[
        &["check", "--backend", "h:1", "--store", "mysql://a:b@h/x", "--tls", "off"][..],
        &asks,
    ]
    .concat());
    assert!(text(&off).contains("tls_client_cert"), "{}", text(&off));
}

fn the_lock_tables_are_reached_by_tls_as_told(server: &Server) {
    let dir = certificates(server);
    let (good, bad) = (format!("{dir}/ca.pem"), format!("{dir}/client-cert.pem"));
    let user = User::create(server, plugins(server)[0], "SSL");
    server.root().run(&format!("GRANT ALL ON *.* TO {}", user.name));
    let arguments = |mode: &str, ca: &str| {
        let store = format!("mysql://{}:{PASSWORD}@localhost:{}/", user.name, server.port);
        let store = format!("{store}{}", fresh_schema());
        let fixed = ["--backend", &format!("localhost:{}", server.port), "--state-dir", "off"];
        run(&[
            &["check", "--store", &store, "--store-tls", mode, "--backend-tls-ca", ca],
            &fixed[..],
        ]
        .concat())
    };
    for (mode, ca, reached) in [
        ("off", &good, false),
        ("required", &bad, true),
        ("verify-ca", &good, true),
        ("verify-ca", &bad, false),
        ("verify-identity", &good, true),
    ] {
        let said = text(&arguments(mode, ca));
        // Reached, it lacks the tables.
        assert_eq!(said.contains("schema install"), reached, "{mode} {ca}: {said}");
    }
    let said = text(&arguments("verify-ca", ""));
    assert!(said.contains("backend_tls_ca"), "{said}");
}

fn certificates_are_read_again_without_a_connection_lost(server: &Server) {
    let dir = std::env::temp_dir().join(fresh_schema());
    let dev = std::env::var("LOCKSTEAD_DEV_DIR").expect("LOCKSTEAD_DEV_DIR");
    let make = || {
        let made = Command::new(format!("{dev}/certificates.sh")).arg(&dir).status();
        assert!(made.expect("certificates.sh runs").success());
        let dir = dir.to_string_lossy();
        [format!("{dir}/server-cert.pem"), format!("{dir}/server-key.pem"), format!("{dir}/ca.pem")]
    };
    let [cert, key, ca] = make();
    let proxy = Proxy::start(&server.url, &["--tls-cert", &cert, "--tls-key", &key]);
    let flavour = flavour_of(server);
    let verifies: &[&str] = match flavour {
        Flavour::MySql => &["--ssl-mode=VERIFY_IDENTITY"],
        Flavour::MariaDb => &["--ssl", "--ssl-verify-server-cert"],
    };
    let shown_to = |ca: &str| {
        let mut options: Vec<String> = verifies.iter().map(|&o| o.to_owned()).collect();
        options.push(format!("--ssl-ca={ca}"));
        client(flavour, &server.root, proxy.port, &options)
    };
    let first = std::fs::read(&ca).expect("a CA");
    assert!(text(&shown_to(&ca)).contains("got in"), "{}", text(&shown_to(&ca)));
    let mut account = server.root.clone();
    account.wrap.tls = true;
    let mut open = log_in(proxy.port, &account);
    make();
    let old = format!("{}/old.pem", dir.to_string_lossy());
    std::fs::write(&old, first).expect("written");
    proxy.signal("HUP");
    crate::stage::eventually("the new certificate is shown", || {
        text(&shown_to(&ca)).contains("got in").then_some(())
    });
    assert!(!text(&shown_to(&old)).contains("got in"), "the old one is still shown");
    assert!(summary(&open.query(b"SELECT 'still here'")).contains("still here"));
    // A pair that does not fit changes nothing.
    std::fs::copy(dir.join("client-key.pem"), &key).expect("copied");
    proxy.signal("HUP");
    crate::stage::eventually("it is said", || {
        proxy.log().contains("server-cert.pem").then_some(())
    });
    assert!(text(&shown_to(&ca)).contains("got in"));
    let _ = std::fs::remove_dir_all(&dir);
}

/// MariaDB's server does not report the name that it was called.
fn the_server_is_called_as_the_client_called_the_proxy(server: &Server) {
    if flavour_of(server) == Flavour::MariaDb {
        return;
    }
    let legs = Legs::start(server, &["--backend-tls", "match"]);
    let user = User::create(server, "caching_sha2_password", "SSL");
    let account = user.account(true, PASSWORD);
    let question = "SHOW STATUS LIKE 'Tls_sni_server_name'";
    for option in ["--tls-sni-servername=db.example", "--ssl-mode=REQUIRED"] {
        let ask = |port| {
            let options = ["-N".to_owned(), option.to_owned()];
            text(&ask_by_client(question, Flavour::MySql, &account, port, &options))
        };
        let direct = ask(server.port);
        assert_eq!(ask(legs.proxy.port), direct, "{option}");
        assert_eq!(direct.contains("db.example"), option.contains("db.example"), "{direct}");
    }
}

/// If the proxy has the key of the client's certificate, the server accepts and refuses logins through every
/// combination of legs as it does directly. With another certificate no client gets in.
fn accounts_that_require_a_certificate(server: &Server) {
    let (dir, flavour) = (certificates(server), flavour_of(server));
    let file = |name: &str| format!("{dir}/{name}.pem");
    let shows = |name: Option<&str>| -> Vec<String> {
        let pair =
            |n| [format!("--ssl-cert={dir}/{n}-cert.pem"), format!("--ssl-key={dir}/{n}-key.pem")];
        name.map(pair).into_iter().flatten().collect()
    };
    let plugin = plugins(server)[0];
    let subject = "SUBJECT '/O=Lockstead tests/CN=app'";
    let issuer = "ISSUER '/O=Lockstead tests/CN=authority'";
    let users = ["X509", subject, issuer].map(|require| User::create(server, plugin, require));
    let says = |user: &User, port: u16, tls: bool, shown: Option<&str>| {
        let account = user.account(tls, PASSWORD);
        let tls = match (tls, flavour) {
            (true, Flavour::MySql) => vec!["--ssl-mode=REQUIRED".to_owned()],
            (false, Flavour::MySql) => {
                vec!["--ssl-mode=DISABLED".to_owned(), "--get-server-public-key".to_owned()]
            }
            (true, Flavour::MariaDb) => vec!["--ssl".to_owned()],
            (false, Flavour::MariaDb) => vec!["--skip-ssl".to_owned()],
        };
        let said = text(&client(flavour, &account, port, &[tls, shows(shown)].concat()));
        if said.contains("got in") { "got in".to_owned() } else { said }
    };
    let with_app =
        ["--backend-tls-cert", &file("client-cert"), "--backend-tls-key", &file("client-key")]
            .map(str::to_owned);
    let ca = file("ca");
    for (mode, cert) in
        [("match", "request"), ("match", "require"), ("off", "request"), ("required", "request")]
    {
        let mut extra =
            vec!["--backend-tls", mode, "--tls-client-ca", &ca, "--tls-client-cert", cert];
        extra.extend(with_app.iter().map(String::as_str));
        let proxy = Proxy::start(&server.url, &extra);
        for (user, require) in users.iter().zip(["X509", "SUBJECT", "ISSUER"]) {
            for (tls, shown) in
                [(false, None), (true, None), (true, Some("client")), (true, Some("other"))]
            {
                let case =
                    format!("{require} backend_tls={mode} cert={cert} tls={tls} shown={shown:?}");
                let direct = says(user, server.port, tls, shown);
                let through = says(user, proxy.port, tls, shown);
                let same = through.contains("got in") == direct.contains("got in");
                let refused = !through.contains("got in");
                match (mode, shown) {
                    // The key is not the proxy's, or no leg to the server can show anything.
                    (_, Some("other")) | ("off", _) => assert!(refused, "{case}: {through}"),
                    _ => assert!(same, "{case}: {through} directly {direct}"),
                }
            }
        }
    }
    let asks_nobody = run(&[
        &["serve", "--backend", "h:1", "--store", "mysql://a:b@h/x"],
        &with_app.each_ref().map(String::as_str)[..],
    ]
    .concat());
    assert!(text(&asks_nobody).contains("backend_tls_cert"), "{}", text(&asks_nobody));
}

/// The command line client of a family.
pub(crate) fn client(flavour: Flavour, account: &Account, port: u16, options: &[String]) -> Output {
    ask_by_client("SELECT 'got in'", flavour, account, port, options)
}

fn ask_by_client(
    question: &str,
    flavour: Flavour,
    account: &Account,
    port: u16,
    options: &[String],
) -> Output {
    let home = std::env::var("HOME").unwrap_or_default();
    let cache = std::env::var("LOCKSTEAD_CACHE").unwrap_or(format!("{home}/.cache/lockstead"));
    let program = match flavour {
        Flavour::MySql => "mysql",
        Flavour::MariaDb => "mariadb",
    };
    Command::new(format!("{cache}/bin/{program}"))
        .args(["--no-defaults", "-h", "127.0.0.1", "-P", &port.to_string(), "-u"])
        .arg(&account.user)
        .arg(format!("-p{}", account.password))
        .args(options)
        .args(["-e", question])
        .output()
        .expect("the client runs")
}

pub(crate) fn text(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned()
}

/// The server does not check how the packets in pieces are numbered. Behind a proxy it gets them
/// without pieces, and does.
fn a_divided_packet_over_a_compressed_leg_passes(server: &Server) {
    // MariaDB 10.11.19 refuses one of nearly what it allows by default when it comes compressed.
    let own = OwnServer::start(flavour_of(server), &["--max-allowed-packet=64M"]);
    let server = &own.server;
    let legs = Legs::start(server, &[]);
    let head = "SELECT LENGTH('";
    // With the command's byte a whole frame, so that an empty one follows.
    let text = format!("{head}{}')", "x".repeat(0x00ff_fffe - head.len() - 2));
    let mut account = server.root.clone();
    account.wrap.zlib = true;
    let mut told = [server.port, legs.proxy.port].map(|port| {
        let mut client = log_in(port, &account);
        let long = summary(&client.query(text.as_bytes()));
        [long, summary(&client.query(b"SELECT 'in step'"))]
    });
    let through = std::mem::take(&mut told[1]);
    assert_eq!(through, told[0]);
    assert!(through[0].contains("16777197"), "{}", through[0]);
}

/// A server counts the packets of a further result from the piece that they begin in. Some clients
/// rely on it, and the leg to the server is not compressed.
fn results_over_a_compressed_leg_are_numbered_as_by_the_server(server: &Server) {
    let legs = Legs::start(server, &[]);
    let mut account = server.root.clone();
    account.wrap.zlib = true;
    account.capabilities |= MULTI_STATEMENTS;
    let told = [server.port, legs.proxy.port].map(|port| {
        let mut client = log_in(port, &account);
        let texts =
            ["SELECT 1; SELECT 2; DO 3; SELECT 4", "SELECT 5", "DO 6; SELECT SLEEP(0.2); DO 7"];
        texts.map(|text| {
            let response = client.query(text.as_bytes());
            response.packets.iter().map(Packet::sequence).collect::<Vec<_>>()
        })
    });
    assert_eq!(told[1], told[0]);
    assert!(!told[0][0].is_sorted(), "the server does not restart its count: {:?}", told[0]);
}

/// Results with files in between, which the client counts, too.
fn answers_to_files_over_a_compressed_leg_are_numbered_as_by_the_server(server: &Server) {
    let legs = Legs::start(server, &[]);
    let database = Database::create(server);
    let mut account = server.root.clone();
    account.wrap.zlib = true;
    account.capabilities |= MULTI_STATEMENTS | LOCAL_FILES;
    let table = database.table("t");
    server.root().run(&format!("CREATE TABLE {table} (a TEXT)"));
    let load = format!("LOAD DATA LOCAL INFILE 'f' INTO TABLE {table}");
    let told = [server.port, legs.proxy.port].map(|port| {
        let mut client = log_in(port, &account);
        let asked = client.query(format!("SELECT 1; {load}; {load}; SELECT 2").as_bytes());
        let answers = [client.answer_infile(b"x\n"), client.answer_infile(b"x\ny\n")];
        let [first, last] = &answers;
        assert_eq!(
            (&asked.end, &first.end, &last.end),
            (&End::WantsFile, &End::WantsFile, &End::Complete)
        );
        [&asked, first, last].map(|r| r.packets.iter().map(Packet::sequence).collect::<Vec<_>>())
    });
    assert_eq!(told[1], told[0]);
}
