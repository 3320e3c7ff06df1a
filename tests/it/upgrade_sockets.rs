//! What a new process takes over: sockets in the file system, clusters, listeners that are gone.

use std::process::Command;

use crate::admin::Folder;
use crate::cli::text;
use crate::proxy::{free_port, fresh_schema};
use crate::script::{Flavour, Server};
use crate::session::{Session, account};
use crate::stage::{eventually, on_both};
use crate::upgrade::{Clients, Process};
use crate::upgrade_if_needed::Own;
use crate::wire::Client;

on_both! {
    no_client_of_a_socket_in_the_file_system_is_refused
    nobody_listens_any_longer_where_the_settings_do_not_say_so
    the_first_process_of_a_container_refuses
}

/// Listens where `listen` says, in words of a list; `$` is a folder of its own.
fn listening(server: &Server, listen: &str, sockets: &Folder) -> Own {
    let schema = fresh_schema();
    let listen = listen.replace('$', &sockets.file("").display().to_string());
    let settings = format!(
        "listen = {listen}\nbackend = '{}:{}'\nstore = '{}{schema}'\nlease = '9s'\n",
        server.host, server.port, server.url,
    );
    Own::start_on(vec![(server.clone(), schema)], Own::built, 0, &settings, "")
}

fn upgrade(own: &Own, nth: usize) -> Process {
    let said = own.ask(&["upgrade"]);
    assert!(said.status.success(), "{}", text(&said));
    Process::taken(nth, || own.log())
}

fn no_client_of_a_socket_in_the_file_system_is_refused(server: &Server) {
    let folder = Folder::new();
    let own = listening(server, "'unix:$sock'", &folder);
    let path = folder.file("sock");
    let connect = {
        let path = path.clone();
        move || Client::connect_unix(&path, &account())
    };
    let clients = Clients::start(4, connect.clone());
    let first = upgrade(&own, 1);
    eventually("the old process ends", || own.log().contains("stopped").then_some(()));
    assert!(path.exists(), "the old process has removed it");
    let second = upgrade(&own, 2);
    eventually("the first new process ends", || (!first.is_there()).then_some(()));
    assert!(connect().is_ok_and(|client| client.login.succeeded()));
    clients.end();
    second.signal("TERM");
    eventually("the last one ends", || (!second.is_there()).then_some(()));
    assert!(!path.exists(), "the socket is left behind");
}

fn nobody_listens_any_longer_where_the_settings_do_not_say_so(server: &Server) {
    let folder = Folder::new();
    let (stays, goes) = (free_port(), free_port());
    let list = format!("['127.0.0.1:{stays}', '127.0.0.1:{goes}', 'unix:$sock']");
    let own = listening(server, &list, &folder);
    drop(Session::at(goes));
    let sock = folder.file("sock").display().to_string();
    own.write_changed(&format!(", '127.0.0.1:{goes}', 'unix:{sock}'"), "");
    let _new = upgrade(&own, 1);
    drop(Session::at(stays));
    let refused = |port| std::net::TcpStream::connect(("127.0.0.1", port)).is_err();
    eventually("the old process ends", || own.log().contains("stopped").then_some(()));
    assert!(refused(goes), "somebody listens still");
    assert!(!folder.file("sock").exists(), "the socket is left behind");
}

fn the_first_process_of_a_container_refuses(server: &Server) {
    let own = Own::start(
        server,
        |_| {
            let mut unshare = Command::new("unshare");
            if !rustix::process::geteuid().is_root() {
                unshare.args(["--user", "--map-root-user"]);
            }
            unshare.args(["--pid", "--fork", "--kill-child", env!("CARGO_BIN_EXE_lockstead")]);
            unshare
        },
        "max_connections = 50\n",
    );
    let says = "this is the first process of a container";
    for words in [&["upgrade"][..], &["upgrade", "--if-needed"]] {
        own.write_changed("lease = '9s'", "lease = '12s'\nmax_connections = 49");
        let said = own.ask(words);
        assert_eq!(said.status.code(), Some(1), "{}", text(&said));
        assert!(text(&said).contains(says), "{}", text(&said));
    }
    assert!(!own.log().contains("starting a new process"));
    // Settings that need no restart are reloaded by it, too.
    own.write("max_connections = 48\n");
    let said = own.ask(&["upgrade", "--if-needed"]);
    assert!(text(&said).contains("48, was 49"), "{}", text(&said));
    assert!(Session::at(own.port).is_free("a"));
}

/// Each cluster's sessions and locks stay, and each has a new process's lease.
#[test]
fn all_clusters_are_taken_over() {
    let servers = [Flavour::MySql, Flavour::MariaDb].map(Server::from_env);
    let ports = [free_port(), free_port()];
    let mut settings = Vec::new();
    let mut schemas = Vec::new();
    for (server, port) in servers.iter().zip(ports) {
        let schema = fresh_schema();
        settings.push(format!(
            "[[cluster]]\nname = 'c{port}'\nbackend = '{}:{}'\nstore = '{}{schema}'\n\
             mode = 'durable'\ncreate_schema = true\nstate_dir = 'off'\nlease = '9s'\n\
             [[listener]]\ncluster = 'c{port}'\nlisten = '127.0.0.1:{port}'\n",
            server.host, server.port, server.url,
        ));
        schemas.push((server.clone(), schema));
    }
    let extra = "drain_timeout = '10m'\n";
    let own = Own::start_on(schemas, Own::built, 0, &settings.concat(), extra);
    let mut holders = ports.map(Session::at);
    for holder in &mut holders {
        holder.lock("same");
    }
    let clients =
        ports.map(|port| Clients::start(2, move || Client::connect("127.0.0.1", port, &account())));
    let new = upgrade(&own, 1);
    for (port, holder) in ports.into_iter().zip(&mut holders) {
        let mut late = Session::at(port);
        assert_eq!(late.value("SELECT IS_USED_LOCK('same')"), Some(holder.id().to_string()));
        late.lock("another");
        holder.unlock("same");
        late.lock("same");
    }
    for clients in clients {
        clients.end();
    }
    drop(holders);
    eventually("the old process ends", || own.log().contains("stopped").then_some(()));
    assert!(new.is_there());
    let said = text(&own.ask(&["lease", "--json"]));
    assert!(ports.iter().all(|port| said.contains(&format!("c{port}"))), "{said}");
}
