//! The administration at its edges: several clusters, many rows, what clients and operators do beside
//! asking, and proxies that do not answer.

use std::fs::File;
use std::io::Read;
use std::os::unix::net::UnixListener;
use std::process::{Child, Command, Output, Stdio};

use crate::admin::{Desk, Folder, cache};
use crate::cli::text;
use crate::launch::{Launched, program, run};
use crate::link::Link;
use crate::own_server::OwnServer;
use crate::proxy::{free_port, fresh_schema};
use crate::script::{Flavour, Server};
use crate::session::Session;
use crate::stage::{eventually, on_both};

on_both! {
    a_cut_report_says_so_and_counts_are_whole
    clients_ask_what_they_ask_of_servers
    a_command_that_is_too_long_is_answered
    the_audit_has_the_result_of_an_order
    a_proxy_is_found_by_a_file_that_it_will_refuse
    a_store_that_is_gone_is_named_once
    a_proxy_whose_orders_would_reach_another_is_refused
}

/// Two servers whose connections have the same ids, in one proxy.
#[test]
fn an_order_reaches_the_cluster_that_is_meant_or_none() {
    let folder = Folder::new();
    let servers = [(); 2].map(|()| OwnServer::start(Flavour::MariaDb, &[]));
    let ports = [free_port(), free_port()];
    let schema = fresh_schema();
    let mut file =
        format!("http = 'off'\nworkers = 1\nadmin = 'unix:{}'\n", folder.file("s").display());
    for (n, name) in ["one", "two"].into_iter().enumerate() {
        let Server { port, url, .. } = &servers[n].server;
        file.extend([format!(
            "[[cluster]]\nname = '{name}'\nbackend = '127.0.0.1:{port}'\nstore = '{url}{schema}'\n\
             mode = 'durable'\ncreate_schema = true\nstate_dir = 'off'\n\
             [[listener]]\ncluster = '{name}'\nlisten = '127.0.0.1:{}'\n",
            ports[n]
        )]);
    }
    let path = folder.file("both.toml");
    std::fs::write(&path, file).expect("written");
    let log = File::create(folder.file("log")).expect("a file");
    let child = program(&["serve", "--config", &path.display().to_string()])
        .stderr(log)
        .spawn()
        .expect("the proxy starts");
    let _running = Running(child);
    let admin = format!("--admin=unix:{}", folder.file("s").display());
    let ask = |words: &[&str]| run(&[words, &[&admin]].concat());
    eventually("both grant", || {
        let said = text(&ask(&["lease", "--json"]));
        (said.matches("\"grants\": \"yes\"").count() == 2).then_some(())
    });
    let mut sessions = ports.map(Session::at);
    for _ in 0..1000 {
        match sessions[0].id().cmp(&sessions[1].id()) {
            std::cmp::Ordering::Less => sessions[0] = Session::at(ports[0]),
            std::cmp::Ordering::Greater => sessions[1] = Session::at(ports[1]),
            std::cmp::Ordering::Equal => break,
        }
    }
    let id = sessions[0].id();
    assert_eq!(id, sessions[1].id(), "the ids never met");
    for session in &mut sessions {
        session.ask_for("same");
        session.gets_it();
    }
    let id = id.to_string();
    for (words, choice) in
        [(["kill", &id], "CLUSTER 'one'"), (["release", "same"], "Give the CLUSTER")]
    {
        let said = ask(&words);
        assert_eq!(said.status.code(), Some(1), "{}", text(&said));
        for part in ["one", "two", choice] {
            assert!(text(&said).contains(part), "{}", text(&said));
        }
    }
    let said = text(&ask(&["kill", &id, "--cluster", "three"]));
    assert!(said.contains("no cluster \"three\"; there are one, two"), "{said}");
    let both = |sessions: &mut [Session; 2]| {
        sessions.each_mut().map(|s| s.value("SELECT IS_USED_LOCK('same')"))
    };
    assert_eq!(both(&mut sessions), [Some(id.clone()), Some(id.clone())], "nothing was done");
    let said = text(&ask(&["release", "same", "--cluster", "two"]));
    assert!(said.contains("released"), "{said}");
    assert!(sessions[1].last_words().is_some());
    assert_eq!(sessions[0].value("SELECT IS_USED_LOCK('same')"), Some(id.clone()));
    let mut next = Session::at(ports[0]);
    next.ask_for("same");
    let said = ask(&["kill", &id, "--cluster", "one"]);
    assert_eq!((said.status.code(), text(&said).trim()), (Some(0), "done"));
    next.gets_it();
    let log = std::fs::read_to_string(folder.file("log")).expect("a log");
    for told in ["killed root@127.0.0.1 in cluster one", "root@127.0.0.1 in cluster two"] {
        assert!(log.contains(told), "{log}");
    }
}

/// A proxy of the test's own, killed with it.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn a_cut_report_says_so_and_counts_are_whole(server: &Server) {
    // Each renewal looks for lock rows whose holder has no live proxy.
    let desk = Desk::with(server, "lease = '1h'\n", &[]);
    let mut holder = Session::at(desk.proxy.port);
    holder.lock("a lock");
    let schema = &desk.proxy.schema;
    let numbers = (1..=6).map(|n| {
        format!("(SELECT 0 d UNION SELECT 1 UNION SELECT 2 UNION SELECT 3 UNION SELECT 4) d{n}")
    });
    let numbers = numbers.collect::<Vec<_>>().join(",");
    server.root().run(&format!(
        "INSERT INTO {schema}.locks (k,tok,holder,sess,conn,name,owner,since) \
         SELECT CONCAT('z',d1.d,d2.d,d3.d,d4.d,d5.d,d6.d),tok,holder,sess,conn,\
         CONCAT('z',d1.d,d2.d,d3.d,d4.d,d5.d,d6.d),owner,since FROM {schema}.locks,{numbers}"
    ));
    // On a busy machine the lock tables may take longer than an answer may.
    let said = eventually("the report has rows of now", || {
        let said = desk.ask(&["locks", "--json"]);
        String::from_utf8_lossy(&said.stderr).contains("only the first 10000").then_some(said)
    });
    let rows: Vec<serde_json::Value> = serde_json::from_slice(&said.stdout).expect("JSON");
    // Beside those that other tests have taken at the server itself.
    let of_rows = |row: &&serde_json::Value| {
        row["name"].as_str().is_some_and(|name| name.starts_with('z') || name == "a lock")
    };
    assert_eq!(rows.iter().filter(of_rows).count(), 10_000);
    let (out, _) = desk.client("mysql", "SHOW LOCKS; SHOW WARNINGS; SHOW LEASE; SHOW WARNINGS");
    assert_eq!(out.matches("Note\t1105\tonly the first 10000").count(), 1);
    let said = desk.ask(&["locks", "--like", "a lock"]);
    assert!(said.stderr.is_empty() && text(&said).contains("a lock"), "{}", text(&said));
}

/// What a client says, and how it ends.
fn client(desk: &Desk, program: &str, words: &[&str]) -> Output {
    Command::new(cache().join("bin").join(program))
        .args(["--no-defaults", "--user=somebody"])
        .arg(format!("--socket={}", desk.folder.file("admin.sock").display()))
        .args(words)
        .output()
        .expect("the client runs")
}

fn clients_ask_what_they_ask_of_servers(server: &Server) {
    let desk = Desk::with(server, "", &[]);
    let mut session = Session::at(desk.proxy.port);
    session.lock("名\u{85}");
    let said = text(&desk.ask(&["locks", "--json"]));
    assert!(said.contains("名\\u0085"), "{said}");
    for (program, words, says) in [
        ("mysql", &["--commands", "-e", "\\s"][..], "Threads: 1  Questions: "),
        ("mariadb", &["-e", "\\s"], "Threads: 1  Questions: "),
        ("mysqladmin", &["status"], "Threads: 1  Questions: "),
        ("mysqladmin", &["version"], "Server version\t\t8.4.0-lockstead"),
        ("mysqladmin", &["ping"], "mysqld is alive"),
    ] {
        let said = client(&desk, program, words);
        assert!(
            said.status.success() && text(&said).contains(says),
            "{program} {words:?}: {}: {}",
            said.status,
            text(&said)
        );
    }
    let connector = "/* mysql-connector-j-9.1.0 (Revision: x) */SELECT  @@session.auto_increment_increment AS \
        auto_increment_increment, @@character_set_client AS character_set_client, @@character_set_connection AS \
        character_set_connection, @@character_set_results AS character_set_results, @@character_set_server AS \
        character_set_server, @@collation_server AS collation_server, @@collation_connection AS \
        collation_connection, @@init_connect AS init_connect, @@interactive_timeout AS interactive_timeout, \
        @@license AS license, @@lower_case_table_names AS lower_case_table_names, @@max_allowed_packet AS \
        max_allowed_packet, @@net_write_timeout AS net_write_timeout, @@performance_schema AS \
        performance_schema, @@sql_mode AS sql_mode, @@system_time_zone AS system_time_zone, @@time_zone AS \
        time_zone, @@transaction_isolation AS transaction_isolation, @@wait_timeout AS wait_timeout";
    for (sql, says) in [
        (connector, "auto_increment_increment\tcharacter_set_client"),
        ("/* c */ SHOW LEASE", "certain_for_seconds"),
        // The client sends a line that is a comment by itself.
        ("-- c\nSHOW LEASE", "certain_for_seconds"),
        ("# c\nSHOW LEASE;\n-- c", "certain_for_seconds"),
        ("SELECT 1 AS x", "x\n1\n"),
        ("SELECT 1 `x`, CURRENT_USER()", "x\tCURRENT_USER()\n1\tadmin@localhost\n"),
        ("SHOW WARNINGS", ""),
        ("SHOW ERRORS", ""),
        ("SELECT @@session.autocommit", "@@session.autocommit\n1\n"),
    ] {
        let said = client(&desk, "mysql", &["--comments", "--batch", "-e", sql]);
        assert!(said.status.success() && text(&said).contains(says), "{sql}: {}", text(&said));
    }
}

fn a_proxy_whose_orders_would_reach_another_is_refused(server: &Server) {
    let desk = Desk::with(server, "", &[]);
    let state = desk.folder.file("").display().to_string();
    let (port, store) = (server.port, format!("{}{}", server.url, desk.proxy.schema));
    let (listen, backend) = (format!("127.0.0.1:{}", free_port()), format!("127.0.0.1:{port}"));
    let place = ["--listen", &listen, "--backend", &backend, "--store", &store];
    let second =
        program(&[&["serve", "--http", "off", "--state-dir", &state][..], &place].concat())
            .stderr(Stdio::piped())
            .spawn();
    let mut second = Running(second.expect("the program runs"));
    let status = eventually("it ends", || second.0.try_wait().expect("a child"));
    let mut said = String::new();
    second.0.stderr.take().expect("piped").read_to_string(&mut said).expect("text");
    assert_eq!(status.code(), Some(1), "{said}");
    assert!(said.contains("another running process listens for administrators on"), "{said}");
}

fn a_command_that_is_too_long_is_answered(server: &Server) {
    let desk = Desk::with(server, "", &[]);
    let said = desk.ask(&["locks", "--like", &"x".repeat(70_000)]);
    assert_eq!(said.status.code(), Some(1), "{}", text(&said));
    assert!(text(&said).contains("max_allowed_packet"), "{}", text(&said));
    let (_, complaint) = desk.client("mysql", &format!("SHOW LOCKS LIKE '{}'", "x".repeat(70_000)));
    assert!(complaint.contains("ERROR 1153 (08S01)"), "{complaint}");
}

fn the_audit_has_the_result_of_an_order(server: &Server) {
    let desk = Desk::with(server, "", &[]);
    let mut holder = Session::at(desk.proxy.port);
    holder.lock("k");
    let token = holder.value(&format!("SELECT token FROM {}.held_locks", desk.proxy.schema));
    let token = token.expect("a token");
    assert_eq!(desk.rows(&["release", "k"])[0]["result"], "released");
    assert_eq!(desk.rows(&["release", "k"])[0]["result"], "already free");
    std::fs::write(desk.folder.file("settings.toml"), "max_waiters = 7\n").expect("written");
    desk.rows(&["reload"]);
    let reloaded = |l: &str| l.contains("\"RELOAD\"") && l.contains("max_waiters 7, was 0");
    // The log reaches the test on another way than the answers.
    let log = eventually("the log has the order", || {
        Some(desk.proxy.log()).filter(|log| log.lines().any(reloaded))
    });
    let who = rustix::process::geteuid().as_raw();
    for told in [
        format!("result=\"released: token {token}, connection {} of root@127.0.0.1\"", holder.id()),
        "result=\"already free\"".to_owned(),
        format!("connection={} who=\"uid {who}\"", holder.id()),
    ] {
        assert!(log.contains(&told), "{told}: {log}");
    }
}

fn a_proxy_is_found_by_a_file_that_it_will_refuse(server: &Server) {
    let desk = Desk::with(server, "", &[]);
    let file = desk.folder.file("settings.toml");
    let (path, state) = (file.display().to_string(), desk.folder.file("").display().to_string());
    for broken in ["lease = soon\n", "lease = '1ms'\n", "nonsense = 1\n"] {
        std::fs::write(&file, format!("state_dir = '{state}'\n{broken}")).expect("written");
        let said = run(&["lease", "--config", &path]);
        assert_eq!(said.status.code(), Some(0), "{broken}: {}", text(&said));
        let said = run(&["reload", "--config", &path]);
        assert_eq!(said.status.code(), Some(1), "{broken}: {}", text(&said));
        assert!(text(&said).contains("nothing was changed"), "{}", text(&said));
    }
    let said = run(&["lease", "--config", "/no/such/file.toml"]);
    assert_eq!(said.status.code(), Some(2));
    assert!(text(&said).contains("cannot read /no/such/file.toml"), "{}", text(&said));
}

fn a_store_that_is_gone_is_named_once(server: &Server) {
    let network = Link::start(server.port, std::net::Ipv4Addr::LOCALHOST);
    let (folder, schema) = (Folder::new(), fresh_schema());
    let admin = format!("unix:{}", folder.file("s").display());
    let store = format!("mysql://root:rootpw@127.0.0.1:{}/{schema}", network.port());
    let backend = format!("127.0.0.1:{}", server.port);
    let proxy = Launched::start(&backend, &store, &["--admin", &admin, "--create-schema"]);
    network.lead_to(free_port());
    let said = eventually("the store is missed", || {
        let said = run(&["locks", "--admin", &admin]);
        (said.status.code() == Some(1)).then(|| text(&said))
    });
    let place = format!("127.0.0.1:{}", network.port());
    assert_eq!(said.matches(&place).count(), 1, "{said}");
    assert_eq!(said.matches("cannot connect").count(), 1, "{said}");
    assert!(
        said.contains("Is the server in `store` up?") && !said.contains("Input/output"),
        "{said}"
    );
    drop(proxy);
    server.root().run(&format!("DROP DATABASE {schema}"));
}

#[test]
fn a_proxy_that_hangs_is_told_from_one_that_is_gone() {
    let folder = Folder::new();
    let _silent = UnixListener::bind(folder.file("s")).expect("a socket");
    let said = run(&["locks", &format!("--admin=unix:{}", folder.file("s").display())]);
    assert_eq!(said.status.code(), Some(2), "{}", text(&said));
    assert!(text(&said).contains("does not answer: no answer within 5s"), "{}", text(&said));
}

#[test]
fn without_a_home_the_socket_is_not_known() {
    let said = Command::new(env!("CARGO_BIN_EXE_lockstead")).arg("locks").env_clear().output();
    let said = said.expect("the program runs");
    assert_eq!(said.status.code(), Some(2), "{}", text(&said));
    assert!(text(&said).contains("the socket is not known"), "{}", text(&said));
}

/// What is printed to nobody, and onto a full disk.
#[test]
fn lost_output_is_reported_and_a_closed_pipe_is_no_failure() {
    for words in [
        &["schema", "print"][..],
        &["grants", "--flavour", "mysql"],
        &["completions", "bash"],
        &["man"],
        &["version"],
        &["--help"],
        &["check", "--backend", "127.0.0.1:1", "--store", "mysql://a:b@127.0.0.1:1/c"],
    ] {
        let full = File::options().write(true).open("/dev/full").expect("a full device");
        let said = program(words).stdout(full).output().expect("the program runs");
        let complaint = text(&said);
        assert_eq!(said.status.code(), Some(1), "{words:?}: {complaint}");
        assert!(
            complaint.contains("cannot write the output: No space left"),
            "{words:?}: {complaint}"
        );
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let said = program(words).stdout(writer).output().expect("the program runs");
        assert_eq!(said.status.code(), Some(0), "{words:?}: {}", text(&said));
        assert!(said.stderr.is_empty(), "{words:?}: {}", text(&said));
    }
}
