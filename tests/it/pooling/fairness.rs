//! Sessions that would keep their connections for ever, and others that get one nevertheless.

use std::sync::atomic::{AtomicBool, Ordering};

use super::ground::{Ground, Tenant, teach};
use crate::script::Server;
use crate::session::Session;
use crate::stage::on_both;
use crate::wire::Shape;

on_both! {
    warnings_again_and_again_keep_no_connection_from_others
    many_warnings_again_and_again_keep_no_connection_from_others
    commands_on_their_way_keep_no_connection_from_others
    an_account_without_a_connection_gets_one_whatever_others_keep
    a_reset_right_after_a_login_is_answered
    connections_that_nobody_uses_make_room_without_a_wait
}

/// Statements of the one that must not starve.
const STATEMENTS: usize = 20;
/// Longer than a session waits for those before it.
const WAIT: [&str; 2] = ["--pool-wait", "20s"];

/// Another account that the proxy knows.
fn another(ground: &Ground) -> Tenant {
    let tenant = Tenant::create(ground.server(), "the password of another");
    teach(&ground.proxy, &tenant.account);
    tenant
}

/// Runs statements in others until all of the victims' are answered.
fn while_others_run(
    others: Vec<(Session, &str)>,
    victims: Vec<Session>,
    mut victim: impl FnMut(&mut Session, usize),
) {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for (mut other, text) in others {
            let over = &over;
            scope.spawn(move || {
                while !over.load(Ordering::Relaxed) {
                    // The statement may be refused itself: that is not looked at.
                    other.client.query(text.as_bytes());
                }
            });
        }
        // Also if one of them fails.
        let _ends = Ends(&over);
        for mut session in victims {
            for n in 0..STATEMENTS {
                victim(&mut session, n);
            }
        }
    });
}

struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn asks(session: &mut Session, n: usize) {
    assert_eq!(session.value(&format!("SELECT {n}")), Some(n.to_string()));
}

fn warnings_again_and_again_keep_no_connection_from_others(server: &Server) {
    let ground = Ground::new(server, 2, &WAIT);
    ground.create_table("t (id INT PRIMARY KEY)");
    let another = another(&ground);
    let texts = [
        "SELECT 1 / 0",
        "INSERT IGNORE INTO t VALUES (1), (1)",
        "DROP TABLE IF EXISTS nosuch",
        "SELECT nosuch",
    ];
    let others = texts.map(|text| (ground.session(), text)).into();
    let victims = vec![ground.session(), Session::of(ground.proxy.port, &another.account)];
    while_others_run(others, victims, asks);
    assert!(ground.proxy.metric("lockstead_pool_timeouts_total") < 0.5);
}

fn many_warnings_again_and_again_keep_no_connection_from_others(server: &Server) {
    let ground = Ground::new(server, 1, &WAIT);
    let many = format!("SELECT {}", vec!["1 / 0"; 65].join(", "));
    for text in [many.as_str(), "SELECT SQL_CALC_FOUND_ROWS 1 UNION ALL SELECT 2 LIMIT 1"] {
        let others = vec![(ground.session(), text)];
        while_others_run(others, vec![ground.session()], asks);
    }
    assert!(ground.proxy.metric("lockstead_pool_timeouts_total") < 0.5);
}

fn commands_on_their_way_keep_no_connection_from_others(server: &Server) {
    let ground = Ground::new(server, 1, &WAIT);
    let (mut hasty, mut victim) = (ground.session(), ground.session());
    ground.until_none_is_surplus();
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let over_too = &over;
        scope.spawn(move || {
            // There are always some more.
            (0..20).for_each(|_| hasty.send("SELECT 1"));
            while !over_too.load(Ordering::Relaxed) {
                hasty.client.read_response(Shape::Query);
                hasty.send("SELECT 1");
            }
            (0..20).for_each(|_| drop(hasty.client.read_response(Shape::Query)));
            assert_eq!(hasty.value("SELECT 8").as_deref(), Some("8"));
        });
        let _ends = Ends(&over);
        (0..STATEMENTS).for_each(|n| asks(&mut victim, n));
    });
}

fn an_account_without_a_connection_gets_one_whatever_others_keep(server: &Server) {
    let ground = Ground::new(server, 2, &["--pool-wait", "2s"]);
    let another = another(&ground);
    let mut busy = [ground.session(), ground.session(), ground.session()];
    let mut victims = [(); 2].map(|()| Session::of(ground.proxy.port, &another.account));
    ground.until_none_is_surplus();
    busy[0].run("BEGIN");
    busy[1].run("BEGIN");
    busy[0].run("SELECT 1");
    let refused = busy[2].client.query(b"SELECT 1");
    assert_eq!(refused.error(), Some(1040), "{refused:?}");
    for n in 0..STATEMENTS {
        asks(&mut victims[n % 2], n);
    }
    victims[0].run("BEGIN");
    let refused = victims[1].client.query(b"SELECT 1");
    assert_eq!(refused.error(), Some(1040), "one and no more: {refused:?}");
    victims[0].run("COMMIT");
    asks(&mut victims[1], 7);
    busy[0].run("COMMIT");
    asks(&mut busy[2], 8);
    ground.until_none_is_surplus();
}

fn a_reset_right_after_a_login_is_answered(server: &Server) {
    let ground = Ground::new(server, 3, &["--pool-wait", "20s"]);
    let mut sessions = Vec::new();
    for n in 0..8 {
        let mut session = ground.session();
        let reset = session.client.reset_connection();
        assert_eq!(reset.error(), None, "{reset:?}");
        asks(&mut session, n);
        sessions.push(session);
    }
    for session in &mut sessions {
        asks(session, 7);
    }
}

/// While somebody waits, others take their warnings along, and GET DIAGNOSTICS finds none.
fn connections_that_nobody_uses_make_room_without_a_wait(server: &Server) {
    let ground = Ground::new(server, 3, &[]);
    let another = another(&ground);
    let mut sessions = [&another.account, &ground.tenant.account]
        .map(|account| [(); 3].map(|()| Session::of(ground.proxy.port, account)));
    let waits = || ground.proxy.metric("lockstead_pool_waits_total");
    let mut before = 0.0;
    // The first account fills the pool, and then the other one.
    for of_account in &mut sessions {
        ground.until_all_have_left();
        before = waits();
        for text in ["START TRANSACTION", "COMMIT"] {
            for session in of_account.iter_mut() {
                session.run(text);
            }
        }
    }
    assert_eq!(waits().to_string(), before.to_string());
}
