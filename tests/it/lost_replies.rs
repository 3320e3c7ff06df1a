//! The store's reply to a change is lost, with its connection: the change was made, and the proxy
//! finds that out instead of guessing.

use std::net::Ipv4Addr;

use crate::launch::Launched;
use crate::link::Link;
use crate::proxy::fresh_schema;
use crate::script::Server;
use crate::session::Session;
use crate::stage::on_both;

on_both! {
    a_lock_whose_grant_got_no_reply_is_held
    a_lock_whose_release_got_no_reply_is_free
    a_lock_whose_hand_over_got_no_reply_has_its_new_holder
    many_changes_without_a_reply_are_not_lost
}

/// A proxy, the network to its store, and the schema there.
struct Stage {
    proxy: Launched,
    link: Link,
    server: Server,
    schema: String,
}

impl Stage {
    fn set(server: &Server) -> Self {
        let schema = fresh_schema();
        let link = Link::start(server.port, Ipv4Addr::LOCALHOST);
        let backend = format!("127.0.0.1:{}", server.port);
        let store = format!("mysql://root:rootpw@127.0.0.1:{}/{schema}", link.port());
        let proxy = Launched::start(&backend, &store, &["--create-schema", "--lease", "10m"]);
        Self { proxy, link, server: server.clone(), schema }
    }

    fn session(&self) -> Session {
        Session::at(self.proxy.port)
    }

    /// Who holds a lock, by connection id.
    fn holder(&self, name: &str) -> Vec<String> {
        let sql =
            "SELECT connection_id FROM {}.held_locks WHERE name='".replace("{}", &self.schema);
        self.server.root().column(&format!("{sql}{name}'"))
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.server.root().run(&format!("DROP DATABASE {}", self.schema));
        }
    }
}

fn a_lock_whose_grant_got_no_reply_is_held(server: &Server) {
    let stage = Stage::set(server);
    // A name that is new, and one that has a row; without and with patience.
    for timeout in ["0", "0", "600", "600"] {
        let mut session = stage.session();
        stage.link.lose_the_reply_to(b"Lname");
        let got = session.value(&format!("SELECT GET_LOCK('name', {timeout})"));
        assert_eq!(got.as_deref(), Some("1"));
        assert!(stage.link.has_lost_it());
        assert_eq!(stage.holder("name"), [session.id().to_string()]);
        session.unlock("name");
        assert_eq!(stage.holder("name"), [""; 0]);
    }
}

fn a_lock_whose_release_got_no_reply_is_free(server: &Server) {
    let stage = Stage::set(server);
    let mut session = stage.session();
    session.lock("name");
    stage.link.lose_the_reply_to(b"Lname");
    session.unlock("name");
    assert!(stage.link.has_lost_it());
    assert_eq!(stage.holder("name"), [""; 0]);
    session.lock("name");
    session.unlock("name");
}

fn a_lock_whose_hand_over_got_no_reply_has_its_new_holder(server: &Server) {
    let stage = Stage::set(server);
    let mut holder = stage.session();
    let mut waiter = stage.session();
    holder.lock("name");
    waiter.ask_for("name");
    // The one thread of the relay has seen the waiter's request before these.
    for _ in 0..2 {
        assert!(!holder.is_free("name"));
    }
    stage.link.lose_the_reply_to(b"Lname");
    holder.unlock("name");
    waiter.gets_it();
    assert!(stage.link.has_lost_it());
    assert_eq!(stage.holder("name"), [waiter.id().to_string()]);
    waiter.unlock("name");
}

fn many_changes_without_a_reply_are_not_lost(server: &Server) {
    let stage = Stage::set(server);
    let mut sessions: Vec<Session> = (0..20).map(|_| stage.session()).collect();
    for round in 0..6 {
        stage.link.lose_the_reply_to(b"Lname");
        for (n, session) in sessions.iter_mut().enumerate() {
            session.send(&format!("SELECT GET_LOCK('name {n}', {})", round % 2));
        }
        for (n, session) in sessions.iter_mut().enumerate() {
            assert_eq!(session.reply().as_deref(), Some("1"), "round {round}, session {n}");
            assert_eq!(stage.holder(&format!("name {n}")), [session.id().to_string()]);
        }
        stage.link.lose_the_reply_to(b"Lname");
        for (n, session) in sessions.iter_mut().enumerate() {
            session.send(&format!("SELECT RELEASE_LOCK('name {n}')"));
        }
        for session in &mut sessions {
            session.gets_it();
        }
        assert!(stage.link.has_lost_it());
    }
    let sql = format!("SELECT name FROM {}.held_locks", stage.schema);
    assert!(server.root().column(&sql).is_empty());
}
