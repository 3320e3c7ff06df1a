//! Semi-synchronous replication: a failover loses nothing where each other server has what is acknowledged.

use crate::cli::text;
use crate::launch::{Launched, run};
use crate::script::{Flavour, Server};
use crate::session::Session;
use crate::stage::{eventually, on_both};
use crate::writers::{Replicated, is_writer, set_writable};

on_both! {
    the_grace_ends_early_where_each_other_server_has_what_is_acknowledged
}

/// Has the first server wait for the second one.
fn wait_for_copies(both: &Replicated) {
    let (mut first, mut second) = (both.first.server.root(), both.second.server.root());
    let (on_first, on_second): (&[&str], &[&str]) = match both.flavour {
        Flavour::MySql => {
            set_writable(&both.second.server, both.flavour, true);
            second.run("INSTALL PLUGIN rpl_semi_sync_replica SONAME 'semisync_replica.so'");
            set_writable(&both.second.server, both.flavour, false);
            (
                &[
                    "INSTALL PLUGIN rpl_semi_sync_source SONAME 'semisync_source.so'",
                    "SET GLOBAL rpl_semi_sync_source_timeout=86400000",
                    "SET GLOBAL rpl_semi_sync_source_enabled=ON",
                ],
                &[
                    "SET GLOBAL rpl_semi_sync_replica_enabled=ON",
                    "STOP REPLICA IO_THREAD",
                    "START REPLICA IO_THREAD",
                ],
            )
        }
        Flavour::MariaDb => (
            &[
                "SET GLOBAL rpl_semi_sync_master_wait_point='AFTER_SYNC'",
                "SET GLOBAL rpl_semi_sync_master_timeout=86400000",
                "SET GLOBAL rpl_semi_sync_master_enabled=ON",
            ],
            &[
                "SET GLOBAL rpl_semi_sync_slave_enabled=ON",
                "STOP SLAVE IO_THREAD",
                "START SLAVE IO_THREAD",
            ],
        ),
    };
    // A replica that connects before is not waited for: it would not say what it has.
    for sql in on_first {
        first.run(sql);
    }
    for sql in on_second {
        second.run(sql);
    }
}

fn until_lossless(proxy: &Launched, is: bool) {
    eventually("it knows what a failover costs", || {
        let said = proxy.metric("lockstead_failover_lossless") > 0.5;
        (said == is).then_some(())
    });
}

/// What `lockstead check` says of a failover, with further settings.
pub(crate) fn mode_in_check(both: &Replicated, settings: &[&str]) -> String {
    let place = both.place();
    let place: Vec<&str> = place.iter().map(String::as_str).collect();
    let checked = text(&run(&[&["check", "--state-dir", "off"], &place[..], settings].concat()));
    let line = checked.lines().find(|line| line.starts_with("failover"));
    line.unwrap_or_else(|| panic!("no mode: {checked}")).to_owned()
}

fn the_grace_ends_early_where_each_other_server_has_what_is_acknowledged(server: &Server) {
    let both = Replicated::start(server);
    // A replica may have been the primary before: without this one the first grant waited a lease.
    let mut peer = both.proxy(&["--lease", "3s", "--pooling", "transaction"]);
    // The test does not wait that long for the end of a grace.
    let proxy = both.proxy(&["--lease", "10m", "--pooling", "transaction"]);
    peer.signal("TERM");
    assert_eq!(peer.wait(), Some(0));
    until_lossless(&proxy, false);
    assert!(mode_in_check(&both, &[]).contains("grace:"));
    wait_for_copies(&both);
    until_lossless(&proxy, true);
    assert!(mode_in_check(&both, &[]).contains("lossless:"));
    // A server that gives up waiting may acknowledge what no other server has.
    let limit = match both.flavour {
        Flavour::MySql => "rpl_semi_sync_source_timeout",
        Flavour::MariaDb => "rpl_semi_sync_master_timeout",
    };
    let mut root = both.first.server.root();
    root.run(&format!("SET GLOBAL {limit}=1000"));
    until_lossless(&proxy, false);
    root.run(&format!("SET GLOBAL {limit}=86400000"));
    until_lossless(&proxy, true);
    set_writable(&both.first.server, both.flavour, false);
    both.promote();
    eventually("it follows", || is_writer(&proxy, &both.second).then_some(()));
    assert_eq!(
        Session::at(proxy.port).value("SELECT GET_LOCK('other', 60)").as_deref(),
        Some("1"),
        "{}",
        proxy.log()
    );
    // The new one waits for nobody.
    until_lossless(&proxy, false);
}
