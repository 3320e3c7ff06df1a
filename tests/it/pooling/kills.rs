//! KILL of sessions by their own ids, which the server does not know.

use super::ground::Ground;
use crate::script::Server;
use crate::stage::{eventually, on_both};

on_both! {
    a_killed_session_ends_with_or_without_a_connection
    who_kills_itself_ends
}

fn a_killed_session_ends_with_or_without_a_connection(server: &Server) {
    for keep in ["1h", "50ms"] {
        let ground = Ground::new(server, 2, &["--idle-keep", keep]);
        let (mut killer, mut victim) = (ground.session(), ground.session());
        victim.lock("k");
        if keep == "50ms" {
            ground.until_all_have_left();
        }
        killer.run(&format!("KILL {}", victim.id()));
        eventually("its lock is free", || killer.is_free("k").then_some(()));
        let answer = victim.client.query(b"SELECT 1");
        assert!(answer.error().is_some() || answer.packets.is_empty(), "{keep}: {answer:?}");
        killer.run("DO 0");
    }
}

fn who_kills_itself_ends(server: &Server) {
    let ground = Ground::new(server, 2, &["--idle-keep", "1h"]);
    let (mut other, mut session) = (ground.session(), ground.session());
    session.lock("k");
    session.send(&format!("KILL {}", session.id()));
    session.client.read_until_closed();
    eventually("its lock is free", || other.is_free("k").then_some(()));
}
