//! Failover candidates: a grant or a renewal counts only when each of them has executed it. So a former primary may go on
//! taking writes.

use std::time::Duration;

use crate::admin::Folder;
use crate::adopt::until_alike;
use crate::link::Link;
use crate::proxy::{Proxy, free_port, fresh_schema};
use crate::replicas::{again, attach_from_now_on, detach};
use crate::script::Server;
use crate::semi_sync::mode_in_check;
use crate::session::{Session, account};
use crate::stage::{eventually, on_both};
use crate::wire::decode::text_row;
use crate::wire::{Account, Kind};
use crate::writers::{Replicated, set_writable};

on_both! {
    a_lock_counts_when_the_candidate_has_it
    a_former_primary_that_takes_writes_leaves_one_holder
    without_candidates_a_former_primary_must_be_fenced
    a_proxy_that_hears_nothing_of_a_candidate_closes_its_holders
    a_proxy_that_stays_declares_none_dead_that_has_moved
    a_candidate_that_was_the_primary_meanwhile_begins_an_epoch
    a_switch_from_one_candidate_to_another_leaves_both_on_the_list
    a_list_of_candidates_may_change_while_a_proxy_runs
}

const COMMON: [&str; 4] = ["--lease", "10s", "--connect-timeout", "2s"];

/// A primary, its replica, and two proxies that reach each of them over a link of their own.
struct Ground {
    both: Replicated,
    /// To the first server and to the second, of each proxy.
    ways: [[Link; 2]; 2],
    proxies: Vec<Proxy>,
}

impl Ground {
    /// The second server is a candidate, or is none. A rule may be left out.
    fn new(server: &Server, candidates: bool, mutant: Option<&str>, extra: &[&str]) -> Self {
        Self::with(server, candidates, mutant, &[&COMMON[..], extra].concat())
    }

    fn with(server: &Server, candidates: bool, mutant: Option<&str>, settings: &[&str]) -> Self {
        let both = Replicated::start(server);
        let link = || [both.first.server.port, both.second.server.port].map(Link::to);
        let ways = [link(), link()];
        let mut proxies = Vec::new();
        for way in &ways {
            let hosts = way.each_ref().map(|link| format!("127.0.0.1:{}", link.port()));
            let (url, schema) = both.store(&hosts.join(","));
            let list = ["--failover-candidates", &hosts[1]];
            let list = if candidates { &list[..] } else { &[] };
            let settings = [list, settings].concat();
            let proxy = match mutant {
                None => Proxy::start_on(&url, schema, &settings),
                #[cfg(feature = "mutants")]
                Some(mutant) => Proxy::start_mutant_on(&url, schema, mutant, &settings),
                #[cfg(not(feature = "mutants"))]
                Some(mutant) => panic!("{mutant}: there is no such build"),
            };
            eventually("it grants", || grants(&proxy).then_some(()));
            proxies.push(proxy);
        }
        Self { both, ways, proxies }
    }

    fn session(&self, proxy: usize) -> Session {
        Session::at(self.proxies[proxy].port)
    }

    /// The second proxy reaches the first server no more.
    fn part(&self) {
        let way = &self.ways[1][0];
        way.lead_to(free_port());
        way.cut();
    }

    /// The replica is promoted. Nothing is done to the former primary.
    fn promote(&self) {
        self.both.promote();
        eventually("the other proxy follows", || {
            (self.proxies[1].metric("lockstead_failovers_total") >= 1.0).then_some(())
        });
    }

    fn until_alike(&self) {
        until_alike(&self.both.first, &self.both.second, self.both.store("").1);
    }
}

fn grants(proxy: &Proxy) -> bool {
    proxy.metric("lockstead_lease_good") >= 1.0
}

/// Whether the session lives, and the lock `k` is its own for all that it can see.
pub(crate) fn has_it(session: &mut Session) -> bool {
    let response = session.client.query(b"SELECT IS_USED_LOCK('k')=CONNECTION_ID()");
    let row = response.packets.iter().find(|p| p.kind == Kind::TextRow);
    row.is_some_and(|row| text_row(&row.payload) == Some(vec![Some(&b"1"[..])]))
}

fn a_lock_counts_when_the_candidate_has_it(server: &Server) {
    count_when_there(&Ground::new(server, true, None, &[]));
}

fn count_when_there(ground: &Ground) {
    let (mut holder, mut other) = (ground.session(0), ground.session(0));
    let second = &ground.both.second.server;
    let held = format!("SELECT COUNT(*) FROM {}.locks WHERE holder<>0", ground.both.store("").1);
    for n in 0..20 {
        holder.lock(&format!("k{n}"));
        assert_eq!(second.root().column(&held), [(n + 1).to_string()], "at the replica, and now");
    }
    let up = format!("lockstead_witness_up{{backend=\"127.0.0.1:{}\"}}", ground.ways[0][1].port());
    assert!(ground.proxies[0].metric(&up) >= 1.0);
    detach(second);
    assert_eq!(
        other.value("SELECT GET_LOCK('later', 1)").as_deref(),
        Some("0"),
        "it does not count"
    );
    again(second);
    other.ask_for("later");
    other.gets_it();
    assert_eq!(holder.value("SELECT IS_USED_LOCK('k0')=CONNECTION_ID()").as_deref(), Some("1"));
    detach(second);
    let end = holder.last_words().expect("an error");
    assert_eq!(end.code, 4031, "{end:?}");
    assert!(ground.proxies[0].metric(&up) < 0.5);
    let log = ground.proxies[0].log();
    assert!(log.contains("count when the failover candidates have executed them"), "{log}");
    assert!(log.contains("has not executed the last change of the lock tables"), "{log}");
}

fn a_former_primary_that_takes_writes_leaves_one_holder(server: &Server) {
    for _ in 0..rounds() {
        let ground = Ground::new(server, true, None, &[]);
        let (mut holder, mut rival) = leave_alone(&ground);
        rival.gets_it();
        assert!(!has_it(&mut holder), "two holders");
    }
}

/// How often the former primary is left alone.
fn rounds() -> usize {
    let rounds = std::env::var("LOCKSTEAD_WITNESS_ROUNDS").ok();
    rounds.map_or(1, |n| n.parse().expect("LOCKSTEAD_WITNESS_ROUNDS is a number"))
}

/// The limit that the documentation names.
fn without_candidates_a_former_primary_must_be_fenced(server: &Server) {
    let ground = Ground::new(server, false, None, &[]);
    let (mut holder, mut rival) = leave_alone(&ground);
    rival.gets_it();
    assert!(
        has_it(&mut holder),
        "there is one holder without a word of the replica: this test shows nothing"
    );
}

/// The first proxy has a holder and stays at the former primary, which takes writes. The second one goes to the next
/// primary, and has a rival there, who has asked.
fn leave_alone(ground: &Ground) -> (Session, Session) {
    let mut holder = ground.session(0);
    holder.lock("k");
    ground.until_alike();
    ground.part();
    // A promotion may take longer than the lease where much else runs.
    let mut asked = usize::from(has_it(&mut holder));
    ground.promote();
    let mut rival = eventually("clients log in at the next primary", || {
        let mut session = ground.session(1);
        session.value("SELECT 1").is_some().then_some(session)
    });
    rival.ask_for("k");
    while !rival.client.readable_within(Duration::from_millis(100)) {
        asked += usize::from(has_it(&mut holder));
    }
    assert!(asked > 0, "the holder went at once: nothing was shown");
    (holder, rival)
}

/// In silence, as when a network is cut. What the rows of the former primary say is not reported meanwhile.
fn a_proxy_that_hears_nothing_of_a_candidate_closes_its_holders(server: &Server) {
    // No connection is refused before the renewal is given up.
    let ground = Ground::with(server, true, None, &["--lease", "10s", "--connect-timeout", "5s"]);
    let (mut holder, mut other) = (ground.session(0), ground.session(0));
    holder.lock("k");
    ground.ways[0][1].stall();
    let end = holder.last_words().expect("an error");
    assert_eq!(end.code, 4031, "{end:?}");
    let proxy = &ground.proxies[0];
    let suspended = proxy.page("/metrics");
    let suspended =
        suspended.lines().filter(|line| line.starts_with("lockstead_suspensions_total{"));
    suspended.for_each(|line| assert!(line.ends_with(" 0"), "{line}"));
    assert!(!proxy.log().contains("sessions that hold locks are suspended"), "{}", proxy.log());
    for look in ["SELECT IS_FREE_LOCK('free')", "SELECT IS_USED_LOCK('free')"] {
        assert_eq!(other.client.query(look.as_bytes()).error(), Some(1105), "{look}");
    }
    ground.ways[0][1].heal();
    eventually("it grants again", || grants(proxy).then_some(()));
    // A new session. If the second proxy was the first to free the dead incarnation's locks, it has ended all sessions
    // that were the first one's. It cannot know which of them were about to take a lock.
    let mut later = ground.session(0);
    assert_eq!(later.value("SELECT IS_FREE_LOCK('free')").as_deref(), Some("1"));
}

/// The proxy that stays sees that the other one does not renew its lease there. But its own renewals do not count
/// either.
fn a_proxy_that_stays_declares_none_dead_that_has_moved(server: &Server) {
    let shared = ["--pooling", "transaction", "--pool-wait", "30s"];
    one_stays(&Ground::new(server, true, None, &shared));
}

fn one_stays(ground: &Ground) {
    let user = fresh_schema().replace("lockstead_t", "lockstead_d");
    // Without a password each login teaches the proxy.
    ground.both.first.server.root().run(&format!("CREATE USER {user}@'%' IDENTIFIED BY ''"));
    let account = Account { user, password: String::new(), ..account() };
    let session = |proxy: usize| {
        eventually("the proxy knows the account", || {
            let mut session = Session::of(ground.proxies[proxy].port, &account);
            session.run("DO 0");
            let page = ground.proxies[proxy].page("/metrics");
            let mut pins = page.lines().filter(|l| l.starts_with("lockstead_pinned_sessions{"));
            pins.all(|line| line.ends_with(" 0")).then_some(session)
        })
    };
    let (mut rival, mut holder) = (session(0), session(1));
    holder.lock("k");
    ground.until_alike();
    ground.part();
    // The one that stays renews for longer, so the other one's lease ends before its own.
    let renewals = || ground.proxies[0].metric("lockstead_lease_renewal_seconds_count");
    let before = renewals();
    eventually("it renews its lease", || (renewals() >= before + 1.0).then_some(()));
    ground.promote();
    assert!(has_it(&mut holder));
    rival.ask_for("k");
    eventually("the one that stays has lost its lease", || {
        assert!(has_it(&mut holder));
        let answered = rival.client.readable_within(Duration::from_millis(100));
        assert!(!answered || rival.reply().as_deref() != Some("1"), "two holders");
        (!grants(&ground.proxies[0])).then_some(())
    });
    let dead = format!("SELECT COUNT(*) FROM {}.proxies WHERE state<>1", ground.both.store("").1);
    assert_eq!(ground.both.first.server.root().column(&dead), ["0"]);
    assert!(!rival.client.readable_within(Duration::from_secs(2)), "{:?}", rival.reply());
    assert!(has_it(&mut holder));
}

/// The candidate follows its former primary again, where a proxy has stayed that never saw the epoch in between.
fn a_candidate_that_was_the_primary_meanwhile_begins_an_epoch(server: &Server) {
    let ground = Ground::new(server, true, None, &[]);
    let mut holder = ground.session(0);
    holder.lock("k");
    ground.until_alike();
    let (both, schema) = (&ground.both, ground.both.store("").1);
    let epoch = format!("SELECT epoch FROM {schema}.meta");
    let later = format!("UPDATE {schema}.meta SET epoch=epoch+5");
    let here: u64 = both.first.server.root().column(&epoch)[0].parse().expect("a number");
    set_writable(&both.second.server, both.flavour, true);
    both.second.server.root().run(&later);
    set_writable(&both.second.server, both.flavour, false);
    let end = holder.last_words().expect("an error");
    assert_eq!(end.code, 4031, "a lock of the epoch before may have another holder: {end:?}");
    eventually("a later epoch has begun", || {
        let now: u64 = both.first.server.root().column(&epoch)[0].parse().expect("a number");
        (now > here + 5).then_some(())
    });
    eventually("the other proxy joins it", || {
        (ground.proxies[1].metric("lockstead_failovers_total") >= 1.0).then_some(())
    });
    let mut next = ground.session(1);
    next.ask_for("k");
    next.gets_it();
}

/// The former primary follows the next one, and is its witness.
fn a_switch_from_one_candidate_to_another_leaves_both_on_the_list(server: &Server) {
    let both = Replicated::start(server);
    let hosts = [&both.first, &both.second].map(|s| format!("127.0.0.1:{}", s.server.port));
    let (url, schema) = both.store(&hosts.join(","));
    let list = ["--failover-candidates", &hosts.join(",")];
    let proxy = Proxy::start_on(&url, schema, &[&COMMON[..], &list].concat());
    eventually("it grants", || grants(&proxy).then_some(()));
    Session::at(proxy.port).lock("before");
    assert!(mode_in_check(&both, &list).contains("witness:"));
    let alone = ["--failover-candidates", &hosts[0]];
    assert!(mode_in_check(&both, &alone).contains("grace:"), "the writer is no witness of itself");
    until_alike(&both.first, &both.second, schema);
    set_writable(&both.first.server, both.flavour, false);
    both.promote();
    attach_from_now_on(&both.second.server, &both.first.server);
    eventually("it grants at the next primary", || {
        (proxy.metric("lockstead_failovers_total") >= 1.0 && grants(&proxy)).then_some(())
    });
    let mut session = Session::at(proxy.port);
    session.ask_for("k");
    session.gets_it();
    let held = format!("SELECT COUNT(*) FROM {schema}.locks WHERE name='k' AND holder<>0");
    assert_eq!(both.first.server.root().column(&held), ["1"]);
    // Nothing is left of attempts that did not count.
    let live = format!("SELECT COUNT(*) FROM {schema}.proxies WHERE state=1");
    assert_eq!(both.second.server.root().column(&live), ["1"]);
}

/// As after a failover, when a candidate is gone.
fn a_list_of_candidates_may_change_while_a_proxy_runs(server: &Server) {
    let (both, folder) = (Replicated::start(server), Folder::new());
    let hosts = [&both.first, &both.second].map(|s| format!("127.0.0.1:{}", s.server.port));
    let file = folder.file("settings.toml");
    let write = |list: &str| {
        std::fs::write(&file, format!("failover_candidates = [{list}]\n")).expect("written");
    };
    write(&format!("'{}'", hosts[1]));
    let (url, schema) = both.store(&hosts.join(","));
    let path = file.to_str().expect("a path in UTF-8");
    let proxy = Proxy::start_on(&url, schema, &[&COMMON[..], &["--config", path]].concat());
    eventually("it grants", || grants(&proxy).then_some(()));
    let mut session = Session::at(proxy.port);
    session.lock("before");
    detach(&both.second.server);
    assert_eq!(session.value("SELECT GET_LOCK('a', 1)").as_deref(), Some("0"));
    assert!(proxy.page("/metrics").contains("lockstead_witness_up{"));
    write("");
    proxy.signal("HUP");
    session.ask_for("a");
    session.gets_it();
    eventually("the log says so, and the metrics", || {
        let shown = proxy.page("/metrics").contains("lockstead_witness_up{");
        let said =
            proxy.log().contains("there are no failover candidates beside the writer any more");
        (said && !shown).then_some(())
    });
    assert_eq!(
        session.value("SELECT IS_USED_LOCK('before')=CONNECTION_ID()").as_deref(),
        Some("1")
    );
}

#[cfg(feature = "mutants")]
mod left_out {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::{Ground, count_when_there, has_it, leave_alone, one_stays};
    use crate::script::Server;
    use crate::stage::on_both;

    on_both! {
        mutant_unwitnessed_renewal
        mutant_unwitnessed_renewal_of_one_that_stays
        mutant_unwitnessed_grant
    }

    fn mutant_unwitnessed_renewal(server: &Server) {
        let ground = Ground::new(server, true, Some("UnwitnessedRenewal"), &[]);
        let (mut holder, mut rival) = leave_alone(&ground);
        rival.gets_it();
        assert!(has_it(&mut holder), "nobody notices that renewals count at once");
    }

    fn mutant_unwitnessed_grant(server: &Server) {
        let ground = Ground::new(server, true, Some("UnwitnessedGrant"), &[]);
        let end = catch_unwind(AssertUnwindSafe(|| count_when_there(&ground)));
        assert!(end.is_err(), "nobody notices that grants count at once");
    }

    fn mutant_unwitnessed_renewal_of_one_that_stays(server: &Server) {
        let shared = ["--pooling", "transaction", "--pool-wait", "30s"];
        let ground = Ground::new(server, true, Some("UnwitnessedRenewal"), &shared);
        let end = catch_unwind(AssertUnwindSafe(|| one_stays(&ground)));
        assert!(end.is_err(), "nobody notices that renewals count at once");
    }
}
