//! More clients than the proxy may open files for.

use std::net::TcpStream;

use crate::launch::Launched;
use crate::proxy::fresh_schema;
use crate::script::Server;
use crate::session::{Session, account, until_busy};
use crate::stage::eventually;
use crate::wire::Client;

/// Open files that the proxy gets.
const FILES: u32 = 80;

pub(super) fn a_proxy_without_free_files_serves_those_it_has(server: &Server) {
    let backend = format!("{}:{}", server.host, server.port);
    let store = format!("{}/{}", server.url.trim_end_matches('/'), fresh_schema());
    let proxy = Launched::limited(
        &backend,
        &store,
        &["--create-schema", "--max-connections", "10000"],
        FILES,
    );
    assert!(proxy.log().contains("open files"), "nothing is said of the limit");
    let mut sessions: Vec<Session> = (0..4).map(|_| Session::at(proxy.port)).collect();
    sessions[0].lock("held");
    let crowd: Vec<TcpStream> = (0..2 * FILES)
        .map(|_| TcpStream::connect(("127.0.0.1", proxy.port)).expect("the kernel accepts"))
        .collect();
    eventually("the proxy says what it lacks", || {
        let log = proxy.log();
        let says = log.contains("cannot accept a client") && log.contains("Too many open files");
        says.then_some(())
    });
    // Those it has are served, with locks and without.
    for n in 0..20 {
        for session in &mut sessions {
            assert_eq!(session.value("SELECT 1").as_deref(), Some("1"));
            assert!(!session.is_free("held"));
        }
        let name = format!("n{n}");
        sessions[1].lock(&name);
        sessions[2].ask_for(&name);
        until_busy(&mut server.root(), sessions[2].id());
        sessions[1].unlock(&name);
        sessions[2].gets_it();
        sessions[2].unlock(&name);
    }
    drop(crowd);
    // The proxy closes their connections one by one.
    let mut another = eventually("a client is let in again", || {
        let client = Client::connect("127.0.0.1", proxy.port, &account()).ok()?;
        client.login.succeeded().then_some(Session { client })
    });
    assert!(!another.is_free("held"));
    sessions[0].unlock("held");
    assert!(another.is_free("held"));
    let log = proxy.log();
    assert!(!log.contains("panicked"), "a panic:\n{log}");
    assert_eq!(log.matches("cannot accept a client").count(), 1, "said over and over:\n{log}");
}
