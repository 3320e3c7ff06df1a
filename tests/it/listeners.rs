//! Where clients connect: several addresses, sockets in the file system, clusters, and what stands
//! between them and the proxy.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::launch::run;
use crate::own_server::{OwnServer, flavour_of};
use crate::proxy::{Proxy, free_port, fresh_schema};
use crate::script::{Flavour, Server};
use crate::session::Session;
use crate::stage::{eventually, on_both};
use crate::wire::render::summary;
use crate::wire::{Account, Client};

on_both! {
    clients_connect_by_any_of_several_addresses
    an_abandoned_socket_is_taken_over_and_one_in_use_is_not
    a_client_s_address_is_that_of_the_proxy_protocol
    a_header_that_is_missing_or_wrong_ends_the_connection
    the_name_given_at_connect_is_the_server_s
    a_unix_socket_is_no_certificate
}

/// A folder of a test's own, removed with it.
struct Folder(PathBuf);

impl Folder {
    fn create() -> Self {
        let path = std::env::temp_dir().join(fresh_schema().replace("lockstead_t", "f"));
        std::fs::create_dir(&path).expect("a folder");
        Self(path)
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).to_string_lossy().into_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The command line client of the server's family.
fn client(server: &Server, place: &[&str], sql: &str) -> String {
    let home = std::env::var("HOME").unwrap_or_default();
    let cache = std::env::var("LOCKSTEAD_CACHE").unwrap_or(format!("{home}/.cache/lockstead"));
    let program = match flavour_of(server) {
        Flavour::MySql => "mysql",
        Flavour::MariaDb => "mariadb",
    };
    let output = Command::new(format!("{cache}/bin/{program}"))
        .args(["--no-defaults", "-BN", "-u", &server.root.user])
        .arg(format!("-p{}", server.root.password))
        .args(place)
        .args(["-e", sql])
        .output();
    text(&output.expect("the client runs"))
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned()
}

fn clients_connect_by_any_of_several_addresses(server: &Server) {
    let folder = Folder::create();
    let (socket, port) = (folder.path("s"), free_port());
    let listen = format!("unix:{socket},[::1]:{port}");
    let schema = fresh_schema();
    let store = format!("{}{schema}", server.url);
    let backend = format!("127.0.0.1:{}", server.port);
    let arguments =
        ["serve", "--workers", "1", "--http", "off", "--state-dir", "off", "--create-schema"];
    let place = ["--listen", &listen, "--backend", &backend, "--store", &store];
    let mut child = crate::launch::program(&[&arguments[..], &place].concat())
        .stderr(std::process::Stdio::null())
        .spawn()
        .expect("the proxy starts");
    let sql = "SELECT CONCAT('lock ', GET_LOCK('here', 5)), \
               (SELECT 1 FROM DUAL WHERE CONNECTION_ID()=IS_USED_LOCK('here'))";
    eventually("the socket is there", || Path::new(&socket).exists().then_some(()));
    eventually("a client gets in by the socket", || {
        client(server, &["--socket", &socket, "--protocol=SOCKET"], sql)
            .contains("lock 1")
            .then_some(())
    });
    let said = client(server, &["-h", "::1", "-P", &port.to_string()], sql);
    assert!(said.contains("lock 1"), "{said}");
    // An account that the server's cache does not know: the client sends its password in clear
    // over the socket, and the proxy does not over the network.
    let user = fresh_schema().replace("lockstead_t", "u");
    server.root().run(&format!("CREATE USER {user} IDENTIFIED BY 'a-secret'"));
    let mut known = server.clone();
    known.root = Account::new(&user, "a-secret");
    let said = client(&known, &["--socket", &socket, "--protocol=SOCKET"], "SELECT CURRENT_USER()");
    assert!(said.contains(&format!("{user}@%")), "{said}");
    server.root().run(&format!("DROP USER {user}"));
    let _ = Command::new("kill").arg(child.id().to_string()).status();
    assert!(child.wait().expect("it ends").success());
    assert!(!Path::new(&socket).exists(), "the socket is left behind");
    server.root().run(&format!("DROP DATABASE {schema}"));
}

fn a_unix_socket_is_no_certificate(server: &Server) {
    let folder = Folder::create();
    let socket = folder.path("s");
    let listen = format!("unix:{socket}");
    let schema = fresh_schema();
    let store = format!("{}{schema}", server.url);
    let backend = format!("127.0.0.1:{}", server.port);
    let ca = server.root().column("SELECT @@ssl_ca").concat();
    let arguments = ["serve", "--http", "off", "--state-dir", "off", "--create-schema"];
    let place = ["--listen", &listen, "--backend", &backend, "--store", &store];
    let asks = ["--tls-client-ca", &ca, "--tls-client-cert", "require"];
    let mut child = crate::launch::program(&[&arguments[..], &place, &asks].concat())
        .stderr(std::process::Stdio::null())
        .spawn()
        .expect("the proxy starts");
    eventually("the socket is there", || Path::new(&socket).exists().then_some(()));
    let said = eventually("a client is answered", || {
        let client = Client::connect_unix(Path::new(&socket), &server.root).ok()?;
        let last = client.login.packets.last()?;
        Some(String::from_utf8_lossy(&last.payload).into_owned())
    });
    let _ = child.kill();
    let _ = child.wait();
    assert!(said.contains("tls_client_cert"), "{said}");
    server.root().run(&format!("DROP DATABASE IF EXISTS {schema}"));
}

fn an_abandoned_socket_is_taken_over_and_one_in_use_is_not(server: &Server) {
    let folder = Folder::create();
    let socket = folder.path("s");
    drop(std::os::unix::net::UnixListener::bind(&socket).expect("a socket"));
    let start = || {
        let backend = format!("127.0.0.1:{}", server.port);
        let store = format!("{}{}", server.url, fresh_schema());
        let extra = ["--create-schema", "--listen", &format!("unix:{socket}")];
        let fixed = [
            "serve",
            "--http",
            "off",
            "--state-dir",
            "off",
            "--backend",
            &backend,
            "--store",
            &store,
        ];
        crate::launch::program(&[&fixed[..], &extra].concat())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .expect("the proxy starts")
    };
    let mut first = start();
    let by_socket = ["--socket", &socket, "--protocol=SOCKET"];
    eventually("a client gets in", || {
        client(server, &by_socket, "SELECT 'well'").contains("well").then_some(())
    });
    let second = start().wait_with_output().expect("it ends");
    assert!(text(&second).contains("Is another proxy running there?"), "{}", text(&second));
    assert!(client(server, &by_socket, "SELECT 'well'").contains("well"));
    first.kill().expect("killed");
    first.wait().expect("it ends");
    // No proxy may remove a file that is no socket.
    std::fs::remove_file(&socket).expect("left behind by the kill");
    std::fs::write(&socket, "precious").expect("written");
    let third = start().wait_with_output().expect("it ends");
    assert!(text(&third).contains("cannot listen"), "{}", text(&third));
    assert_eq!(std::fs::read_to_string(&socket).expect("there"), "precious");
}

/// Headers that name 203.0.113.7, port 4711.
fn headers() -> [Vec<u8>; 2] {
    let old = b"PROXY TCP4 203.0.113.7 192.0.2.1 4711 3306\r\n".to_vec();
    let mut new = b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c".to_vec();
    new.extend_from_slice(&[203, 0, 113, 7, 192, 0, 2, 1]);
    new.extend_from_slice(&4711_u16.to_be_bytes());
    new.extend_from_slice(&3306_u16.to_be_bytes());
    [old, new]
}

fn announced(server: &Server, header: &[u8]) -> Account {
    Account { preamble: header.to_vec(), ..server.root.clone() }
}

fn a_client_s_address_is_that_of_the_proxy_protocol(server: &Server) {
    let proxy = Proxy::start(&server.url, &["--proxy-protocol", "10.0.0.0/8,127.0.0.1"]);
    let own = [b"PROXY UNKNOWN\r\n".to_vec(), b"\r\n\r\n\0\r\nQUIT\n\x20\0\0\0".to_vec()];
    let told = headers().map(|h| (h, "203.0.113.7")).into_iter();
    for (header, host) in told.chain(own.map(|h| (h, "127.0.0.1"))) {
        let account = announced(server, &header);
        let mut client = Client::connect("127.0.0.1", proxy.port, &account).expect("a connection");
        assert!(client.login.succeeded(), "{header:?}");
        assert!(summary(&client.query(b"SELECT GET_LOCK('told', 5)")).contains('1'));
        let owner = server.root().column(&format!("SELECT owner FROM {}.held_locks", proxy.schema));
        assert_eq!(owner, [format!("{}@{host}", server.root.user)]);
        client.query(b"DO RELEASE_LOCK('told')");
    }
}

fn a_header_that_is_missing_or_wrong_ends_the_connection(server: &Server) {
    let extra = ["--proxy-protocol", "127.0.0.1", "--login-timeout", "1s"];
    let proxy = Proxy::start(&server.url, &extra);
    let log_in =
        |header: &[u8]| Client::connect("127.0.0.1", proxy.port, &announced(server, header));
    let [old, new] = headers();
    for wrong in [&b""[..], b"GET / HTTP/1.1\r\n\r\n", &old[..20], &[&old[..], b"x"].concat()] {
        let refused = log_in(wrong).map(|c| (c.login.greeting.is_some(), c.login.succeeded()));
        assert!(!matches!(refused, Ok((true, _) | (_, true))), "{wrong:?}");
    }
    assert!(proxy.metric("lockstead_sessions_closed_total{reason=\"no_proxy_header\"}") >= 4.0);
    assert!(log_in(&new).expect("a connection").login.succeeded());
    // From anywhere else a header is no login.
    let proxy = Proxy::start(&server.url, &["--proxy-protocol", "10.0.0.0/8"]);
    let refused = Client::connect("127.0.0.1", proxy.port, &announced(server, &old));
    assert!(refused.is_err() || !refused.is_ok_and(|client| client.login.succeeded()));
    assert!(Session::at(proxy.port).value("SELECT 1").is_some());
}

fn the_name_given_at_connect_is_the_server_s(server: &Server) {
    let proxy = Proxy::start(&server.url, &[]);
    let connect = || Client::connect("127.0.0.1", proxy.port, &server.root).expect("a connection");
    let (mut one, mut other) = (connect(), connect());
    let id = one.connection_id();
    for sql in
        ["SELECT CONNECTION_ID()", "SELECT IF(GET_LOCK('mine',0)=1, IS_USED_LOCK('mine'), 0)"]
    {
        let said = summary(&one.query(sql.as_bytes()));
        assert!(said.contains(&id.to_string()), "{sql}: {said}");
    }
    let lists = format!("SELECT COUNT(*) FROM information_schema.processlist WHERE id={id}");
    eventually("it is listed", || {
        summary(&other.query(lists.as_bytes())).contains('1').then_some(())
    });
    assert_eq!(other.query(format!("KILL {id}").as_bytes()).error(), None);
    eventually("its locks are free", || {
        summary(&other.query(b"SELECT IS_FREE_LOCK('mine')")).contains('1').then_some(())
    });
    let last = one.query(b"SELECT 1");
    assert!(last.error().is_some() || last.packets.is_empty());
}

/// MariaDB alone takes headers.
#[test]
fn a_server_is_told_who_the_client_is() {
    let networks = "--proxy-protocol-networks=127.0.0.1";
    let own = OwnServer::start(Flavour::MariaDb, &[networks]);
    let server = &own.server;
    server.root().run("CREATE USER told@'203.0.113.%' IDENTIFIED BY 'pw'");
    let extra = ["--proxy-protocol", "127.0.0.1", "--backend-proxy-protocol", "true"];
    let proxy = Proxy::start(&server.url, &extra);
    for header in headers() {
        let account = Account { preamble: header, ..Account::new("told", "pw") };
        let mut client = Client::connect("127.0.0.1", proxy.port, &account).expect("a connection");
        assert!(client.login.succeeded());
        let user = summary(&client.query(b"SELECT USER()"));
        assert!(user.contains("told@203.0.113.7"), "{user}");
        assert!(summary(&client.query(b"SELECT GET_LOCK('x', 5)")).contains('1'));
    }
}

/// Two clusters in one process, each with locks of its own.
#[test]
fn clusters_have_nothing_in_common() {
    let folder = Folder::create();
    let servers = [Flavour::MySql, Flavour::MariaDb].map(Server::from_env);
    let ports = [free_port(), free_port(), free_port()];
    let schemas = [fresh_schema(), fresh_schema()];
    let cluster = |n: usize, name: &str, schema: &str| {
        let Server { port, url, .. } = &servers[n];
        format!(
            "[[cluster]]\nname = '{name}'\nbackend = '127.0.0.1:{port}'\nstore = '{url}{schema}'\n\
             mode = 'durable'\ncreate_schema = true\nstate_dir = 'off'\n"
        )
    };
    let listener = |n: usize, name: &str| {
        format!("[[listener]]\ncluster = '{name}'\nlisten = '127.0.0.1:{}'\n", ports[n])
    };
    let http = format!("http = '127.0.0.1:{}'\nworkers = 1\n", ports[2]);
    let both = [
        http.clone(),
        cluster(0, "my", &schemas[0]),
        cluster(1, "maria", &schemas[1]),
        listener(0, "my"),
        listener(1, "maria"),
    ];
    let path = folder.path("both.toml");
    std::fs::write(&path, both.concat()).expect("written");
    let mut child = crate::launch::program(&["serve", "--config", &path])
        .stderr(std::process::Stdio::null())
        .spawn()
        .expect("the proxy starts");
    let page = |path: &str| crate::proxy::page(ports[2], path);
    let ready =
        eventually("both are ready", || Some(page("/readyz")?).filter(|p| p.contains("200 OK")));
    assert!(ready.contains("my: ok") && ready.contains("maria: ok"), "{ready}");
    let mut sessions = [Session::at(ports[0]), Session::at(ports[1])];
    for session in &mut sessions {
        assert_eq!(session.value("SELECT GET_LOCK('same', 0)").as_deref(), Some("1"));
    }
    for (n, name) in ["my", "maria"].into_iter().enumerate() {
        let held =
            servers[n].root().column(&format!("SELECT COUNT(*) FROM {}.held_locks", schemas[n]));
        assert_eq!(held, ["1"]);
        let metrics = page("/metrics").expect("a page");
        assert!(
            metrics.contains(&format!("lockstead_sessions{{cluster=\"{name}\"}} 1")),
            "{metrics}"
        );
    }
    drop(sessions);
    let _ = Command::new("kill").arg(child.id().to_string()).status();
    assert!(child.wait().expect("it ends").success());
    // One schema for two clusters would be two engines on one set of rows.
    let twice = [
        "http = 'off'\n".to_owned(),
        cluster(0, "one", &schemas[0]),
        cluster(0, "two", &schemas[0]),
        listener(0, "one"),
        listener(1, "two"),
    ];
    std::fs::write(&path, twice.concat()).expect("written");
    let refused = run(&["serve", "--config", &path]);
    assert!(text(&refused).contains("one and two have the same lock schema"), "{}", text(&refused));
    // A store on another server than its cluster's.
    let crossed = cluster(0, "my", &schemas[0]).replace(&servers[0].url, &servers[1].url);
    let crossed = ["http = 'off'\n".to_owned(), crossed, listener(0, "my")];
    std::fs::write(&path, crossed.concat()).expect("written");
    let refused = run(&["serve", "--config", &path]);
    assert!(text(&refused).contains("is another server"), "{}", text(&refused));
    let checked = run(&["check", "--config", &path]);
    assert!(!checked.status.success() && text(&checked).contains("cluster         my"));
    for (server, schema) in servers.iter().zip(&schemas) {
        server.root().run(&format!("DROP DATABASE IF EXISTS {schema}"));
    }
}
