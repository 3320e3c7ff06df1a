//! A start or a login that fails says why, and is counted under its reason.

use std::path::PathBuf;

use rcgen::{CertificateParams, KeyPair};

use crate::cli::text;
use crate::launch::{SERVE, program, run};
use crate::own_server::{OwnServer, flavour_of};
use crate::proxy::{Proxy, free_port, fresh_schema};
use crate::script::{Flavour, Server};
use crate::session::Session;
use crate::stage::{eventually, on_both};
use crate::wire::{Account, Client, Shape};

on_both! {
    a_server_that_takes_small_packets_only_is_refused
    an_unknown_account_of_the_store_is_reported
    a_server_without_room_is_no_failed_login
    the_place_of_the_state_is_reported
    a_proxy_without_a_mode_is_in_coexist
    requirements_that_the_server_lacks_for_a_mode_are_reported
    ends_of_certificates_are_reported
}

/// What a start says that is refused, and its exit status.
fn refused(store: &str, server: &Server) -> (String, Option<i32>) {
    let backend = format!("127.0.0.1:{}", server.port);
    let listen = format!("127.0.0.1:{}", free_port());
    let place = ["--backend", &backend, "--listen", &listen, "--store", store];
    let rest = ["--http", "off", "--state-dir", "off", "--create-schema"];
    let output = run(&[&["serve"][..], &place, &rest].concat());
    (text(&output), output.status.code())
}

fn a_server_that_takes_small_packets_only_is_refused(server: &Server) {
    let own = OwnServer::start(flavour_of(server), &[]);
    let mut root = own.server.root();
    root.run("SET GLOBAL max_allowed_packet = 1024");
    let store = format!("{}{}", own.server.url, fresh_schema());
    let (said, status) = refused(&store, &own.server);
    assert!(said.contains("max_allowed_packet of the server is 1024"), "{said}");
    assert!(said.contains("SET GLOBAL max_allowed_packet"), "{said}");
    assert_eq!(status, Some(1), "it may be another one at the next start: {said}");
    // A proxy that runs says so where its locks are not kept any more.
    root.run("SET GLOBAL max_allowed_packet = 16777216");
    let proxy = Proxy::start(&own.server.url, &["--lease", "3s"]);
    root.run("SET GLOBAL max_allowed_packet = 1024");
    let mut killer = Session::at(own.server.port);
    let others = format!(
        "SELECT CONCAT('KILL ', id) FROM information_schema.processlist \
         WHERE id NOT IN (CONNECTION_ID(), {}) AND command <> 'Daemon'",
        killer.id()
    );
    for statement in root.column(&others) {
        // The connection may be gone by itself.
        killer.send(&statement);
        killer.client.read_response(Shape::Query);
    }
    eventually("it is not ready", || (proxy.metric("lockstead_lease_good") < 1.0).then_some(()));
    eventually("the log says why", || {
        proxy.log().contains("max_allowed_packet of the server is 1024").then_some(())
    });
    root.run("SET GLOBAL max_allowed_packet = 16777216");
    eventually("it is ready again", || (proxy.metric("lockstead_lease_good") >= 1.0).then_some(()));
}

fn an_unknown_account_of_the_store_is_reported(server: &Server) {
    let schema = fresh_schema();
    // MySQL pretends of each that it has one of several methods.
    for user in ["nobody", "somebody", "lockstead_typo", "a", "b", "c", "d", "e"] {
        let store = format!("mysql://{user}:secret@127.0.0.1:{}/{schema}", server.port);
        let (said, status) = refused(&store, server);
        let clear = said.contains("Check user and password in `store`")
            || (said.contains("no such account") && said.contains("Check the user in `store`"));
        assert!(clear && !said.contains("Is the server up"), "{user}: {said}");
        assert!(!said.contains("secret"), "{said}");
        assert_eq!(status, Some(1), "{said}");
    }
    if flavour_of(server) == Flavour::MySql {
        let mut root = server.root();
        root.run(&format!("CREATE USER {schema} IDENTIFIED WITH sha256_password BY 'pw'"));
        let store = format!("mysql://{schema}:pw@127.0.0.1:{}/{schema}", server.port);
        let (said, _) = refused(&store, server);
        root.run(&format!("DROP USER {schema}"));
        assert!(said.contains("IDENTIFIED WITH caching_sha2_password"), "{said}");
        assert!(said.contains("sha256_password, as the server requires"), "{said}");
    }
}

fn a_server_without_room_is_no_failed_login(server: &Server) {
    let own = OwnServer::start(flavour_of(server), &[]);
    let mut root = own.server.root();
    root.run("CREATE USER plain IDENTIFIED BY 'pw'");
    let plain = Account::new("plain", "pw");
    let proxy = Proxy::start(&own.server.url, &[]);
    // The password is known to the server from here on.
    drop(Session::of(own.server.port, &plain));
    drop(Session::of(proxy.port, &plain));
    let closed = |reason: &str| {
        proxy.metric(&format!("lockstead_sessions_closed_total{{reason=\"{reason}\"}}"))
    };
    // MariaDB takes no smaller number than ten.
    let _others: Vec<_> = (0..10).map(|_| Session::at(own.server.port)).collect();
    let status = match flavour_of(server) {
        Flavour::MySql => "performance_schema.global_status",
        Flavour::MariaDb => "information_schema.global_status",
    };
    let open =
        format!("SELECT variable_value FROM {status} WHERE variable_name = 'Threads_connected'");
    eventually("the server has room for nobody but its administrators", || {
        let open = root.column(&open).concat();
        root.run(&format!("SET GLOBAL max_connections = {open}"));
        // One more is greeted, and refused after its password.
        let client = Client::connect("127.0.0.1", proxy.port, &plain).ok()?;
        (!client.login.succeeded()).then_some(())
    });
    eventually("it is counted", || {
        (closed("refused_by_server") + closed("login_failed") > 0.0).then_some(())
    });
    assert!(closed("login_failed").abs() < f64::EPSILON, "no password was wrong");
}

fn the_place_of_the_state_is_reported(server: &Server) {
    let proxy = Proxy::start(&server.url, &[]);
    let said = "no state directory: `state_dir` is off, or none of STATE_DIRECTORY, XDG_STATE_HOME and HOME is set";
    assert!(proxy.log().contains(said), "{}", proxy.log());
    let dir = Scratch::new();
    let proxy = Proxy::start(&server.url, &["--state-dir", dir.path("state").as_str()]);
    let said = format!("the state directory path={}", dir.path("state"));
    assert!(proxy.log().contains(&said), "{}", proxy.log());
    // Nothing in the environment says where.
    let mut child = program(&[])
        .env_clear()
        .args(["serve", "--http", "off", "--listen", &format!("127.0.0.1:{}", free_port())])
        .args(["--backend", &format!("127.0.0.1:{}", server.port)])
        .args(["--store", &format!("{}{}", server.url, fresh_schema()), "--mode", "durable"])
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("starts");
    // The schema is not there: it ends by itself.
    assert_eq!(child.wait().expect("ends").code(), Some(1));
}

fn a_proxy_without_a_mode_is_in_coexist(server: &Server) {
    let backend = format!("127.0.0.1:{}", server.port);
    let store = format!("{}{}", server.url, fresh_schema());
    let place = ["check", "--backend", &backend, "--store", &store, "--state-dir", "off"];
    let mut check = program(&[&place[..], &["--create-schema"]].concat());
    let output = check.env_remove("LOCKSTEAD_MODE").output().expect("the program runs");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    assert!(text(&output).contains("\nmode            coexist: "), "{}", text(&output));
    for mode in ["coexist", "durable"] {
        let proxy = Proxy::start(&server.url, &["--mode", mode]);
        assert!(proxy.log().contains(&format!("mode=\"{mode}\"")), "{}", proxy.log());
    }
}

fn requirements_that_the_server_lacks_for_a_mode_are_reported(server: &Server) {
    let statement = ["--log-bin=binlog", "--binlog-format=STATEMENT", "--server-id=7"];
    let own = OwnServer::start(flavour_of(server), &statement);
    let backend = format!("127.0.0.1:{}", own.server.port);
    let store = format!("{}{}", own.server.url, fresh_schema());
    let place = ["--backend", &backend, "--store", &store, "--state-dir", "off"];
    let say = |words: &[&str]| run(&[words, &place[..]].concat());
    for mode in ["coexist", "durable"] {
        for command in [&["check"][..], &SERVE] {
            let output = say(&[command, &["--mode", mode]].concat());
            assert_eq!(output.status.code(), Some(1), "{}", text(&output));
            let said = text(&output);
            assert!(said.contains("binlog_format is STATEMENT"), "{said}");
            assert!(said.contains("set it to ROW"), "{said}");
        }
    }
    own.server.root().run("SET GLOBAL binlog_format = ROW");
    let installed = say(&["schema", "install"]);
    assert_eq!(installed.status.code(), Some(0), "{}", text(&installed));
    // MySQL lists its own locks; MariaDB does with a plugin.
    let lacks = |mode: &str| {
        let output = say(&["check", "--mode", mode]);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output));
        text(&output).contains("INSTALL SONAME 'metadata_lock_info'")
    };
    assert_eq!(lacks("coexist"), flavour_of(server) == Flavour::MariaDb);
    assert!(!lacks("durable"));
}

/// A directory that goes with the test.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Self {
        let dir = std::env::temp_dir().join(fresh_schema());
        std::fs::create_dir_all(&dir).expect("a directory");
        Self(dir)
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().expect("a plain path").to_owned()
    }

    /// A certificate that ends in this year, with its key.
    fn certificate(&self, year: i32) {
        let mut params = CertificateParams::new(vec!["localhost".to_owned()]).expect("a name");
        params.not_before = rcgen::date_time_ymd(1999, 1, 1);
        params.not_after = rcgen::date_time_ymd(year, 1, 1);
        let key = KeyPair::generate().expect("a key");
        let certificate = params.self_signed(&key).expect("a certificate");
        for (name, label, der) in [
            ("cert.pem", "CERTIFICATE", certificate.der().to_vec()),
            ("key.pem", "PRIVATE KEY", key.serialize_der()),
        ] {
            std::fs::write(self.0.join(name), pem::encode(&pem::Pem::new(label, der)))
                .expect("put");
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn ends_of_certificates_are_reported(server: &Server) {
    let dir = Scratch::new();
    dir.certificate(2001);
    let (cert, key) = (dir.path("cert.pem"), dir.path("key.pem"));
    let proxy = Proxy::start(&server.url, &["--tls-cert", &cert, "--tls-key", &key]);
    let metric = "lockstead_certificate_end_seconds{setting=\"tls_cert\"}";
    assert!(proxy.log().contains("a certificate has expired"), "{}", proxy.log());
    assert!((proxy.metric(metric) - 978_307_200.0).abs() < 1.0);
    dir.certificate(2098);
    proxy.signal("HUP");
    eventually("the new one is shown", || (proxy.metric(metric) > 4e9).then_some(()));
    assert_eq!(proxy.log().matches("a certificate has expired").count(), 1);
}
