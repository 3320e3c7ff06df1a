//! Another server becomes the primary: sessions that share connections keep their locks, also those that it never
//! got, and no other client gets them.

use super::ground::{options, teach};
use crate::cli::{install, least_rights};
use crate::link::Link;
use crate::own_server::{OwnServer, flavour_of};
use crate::proxy::{Proxy, fresh_schema};
use crate::replicas::{attach, detach, promote, two};
use crate::script::{Flavour, Server};
use crate::session::{Session, account, first_value};
use crate::stage::{eventually, on_both};
use crate::wire::{Account, Kind};

on_both! {
    a_lock_outlives_its_primary
    a_statement_waits_while_the_only_address_leads_to_no_server
    a_lock_that_the_next_primary_never_got_is_kept
    the_locks_go_back_with_a_former_primary
    a_switch_of_primaries_that_live_moves_the_locks
    a_dedicated_session_ends_with_its_primary_and_its_lock_passes_on
    a_proxy_that_dies_with_its_primary_leaves_no_lock
}

/// Of proxies whose sessions share connections.
pub(super) const POOLING: [&str; 4] = ["--pooling", "transaction", "--pool-size", "8"];

/// Long enough for a promotion while the machine is busy, and as long as an epoch's grace.
const LEASE: [&str; 2] = ["--lease", "10s"];

/// A primary and its replica, proxies that reach the primary by one address, and an account.
pub(super) struct Ground {
    pub(super) first: OwnServer,
    pub(super) second: OwnServer,
    /// Each proxy has its own.
    pub(super) ways: [Link; 2],
    schema: String,
    pub(super) account: Account,
    pub(super) proxies: Vec<Proxy>,
    /// The rule that the proxies leave out.
    mutant: Option<&'static str>,
}

impl Ground {
    /// With two proxies that have these settings.
    pub(super) fn new(server: &Server, settings: &[&str]) -> Self {
        Self::without(None, server, settings)
    }

    pub(super) fn without(
        mutant: Option<&'static str>,
        server: &Server,
        settings: &[&str],
    ) -> Self {
        let flavour = flavour_of(server);
        let (first, second) = two(flavour, options(flavour));
        let schema = fresh_schema();
        install(&first.server, &schema);
        let account = create_accounts(&first.server, &schema);
        let ways = [(); 2].map(|()| Link::to(first.server.port));
        let proxies = Vec::new();
        let mut ground = Self { first, second, ways, schema, account, proxies, mutant };
        // Before there is a replica: the first one need not wait for its first grant.
        for way in 0..2 {
            let proxy = ground.proxy(way, settings);
            until_it_grants(&proxy);
            ground.proxies.push(proxy);
        }
        attach(&ground.first.server, &ground.second.server);
        ground.until_alike();
        ground
    }

    pub(super) fn pooling(server: &Server) -> Self {
        Self::pooling_without(None, server)
    }

    pub(super) fn pooling_without(mutant: Option<&'static str>, server: &Server) -> Self {
        let ground = Self::without(mutant, server, &POOLING);
        for proxy in &ground.proxies {
            // A server that knows the password asks no client for it.
            ground.first.server.root().run("FLUSH PRIVILEGES");
            teach(proxy, &ground.account);
        }
        ground
    }

    pub(super) fn proxy(&self, way: usize, settings: &[&str]) -> Proxy {
        let url = format!("mysql://store:pw@127.0.0.1:{}/", self.ways[way].port());
        let common = ["--connect-timeout", "2s", "--pool-wait", "30s"];
        let settings = [&common[..], &LEASE, settings].concat();
        match self.mutant {
            None => Proxy::start_on(&url, &self.schema, &settings),
            #[cfg(feature = "mutants")]
            Some(mutant) => Proxy::start_mutant_on(&url, &self.schema, mutant, &settings),
            #[cfg(not(feature = "mutants"))]
            Some(mutant) => panic!("{mutant}: there is no such build"),
        }
    }

    pub(super) fn session(&self, proxy: usize) -> Session {
        Session::of(self.proxies[proxy].port, &self.account)
    }

    /// A client that comes in when the proxy has joined the next epoch. One that comes before may be taken for one at the
    /// former primary, and is closed when it asks for a lock.
    pub(super) fn comes_in(&self, proxy: usize) -> Session {
        eventually("the proxy joins the next epoch", || {
            (self.proxies[proxy].metric("lockstead_failovers_total") >= 1.0).then_some(())
        });
        eventually("clients log in at the next primary", || {
            let mut session = self.session(proxy);
            session.value("SELECT 1").is_some().then_some(session)
        })
    }

    /// A number in the lock tables of a server.
    pub(super) fn number(&self, server: &OwnServer, sql: &str) -> u64 {
        let sql = sql.replace('$', &self.schema);
        server.server.root().column(&sql).concat().parse().expect("a number")
    }

    pub(super) fn token(&self, server: &OwnServer, name: &str) -> u64 {
        self.number(server, &format!("SELECT tok FROM $.locks WHERE name='{name}'"))
    }

    /// Waits until the replica has what the primary has.
    pub(super) fn until_alike(&self) {
        let has = |server: &OwnServer| {
            let root = &mut server.server.root();
            // The view comes last.
            let whole = "SELECT COUNT(*) FROM information_schema.views WHERE table_schema='$'";
            if root.column(&whole.replace('$', &self.schema)) == ["0"] {
                return vec!["not yet".to_owned()];
            }
            let locks = "SELECT CONCAT_WS(' ',name,tok,holder) FROM $.locks ORDER BY k";
            root.column(&locks.replace('$', &self.schema))
        };
        eventually("the replica has the locks", || {
            (has(&self.first) == has(&self.second)).then_some(())
        });
    }

    /// The primary dies, and the other server is promoted.
    pub(super) fn fail_over(&self) {
        self.first.kill();
        promote(&self.second.server);
        self.lead_to(&self.second);
    }

    fn lead_to(&self, server: &OwnServer) {
        for way in &self.ways {
            lead(way, server);
        }
    }

    /// Waits until all proxies grant again after so many failovers. Meanwhile and then, the rival does not get the
    /// lock.
    pub(super) fn until_over(&self, failovers: f64, rival: &mut Session, lock: &str) {
        let sql = format!("SELECT GET_LOCK('{lock}', 0)");
        let over = |p: &Proxy| p.metric("lockstead_failovers_total") >= failovers && grants(p);
        eventually("the grace is over", || {
            let over = self.proxies.iter().all(over);
            // In the first moment there may be no server to answer.
            let response = rival.client.query(sql.as_bytes());
            let answered = response.packets.iter().any(|p| p.kind == Kind::TextRow);
            let got = answered.then(|| first_value(&sql, &response)).flatten();
            assert_ne!(got.as_deref(), Some("1"), "two holders of {lock}");
            over.then_some(())
        });
        assert_eq!(rival.value(&sql).as_deref(), Some("0"));
    }

    /// The locks that were kept and lost at the failovers of a proxy.
    fn assert_locks(&self, proxy: usize, kept: f64, lost: f64) {
        for (result, locks) in [("kept", kept), ("lost", lost)] {
            let metric = format!("lockstead_failover_locks_total{{result=\"{result}\"}}");
            let counted = self.proxies[proxy].metric(&metric);
            assert!((counted - locks).abs() < 0.5, "{result}: {counted}");
        }
    }
}

pub(super) fn lead(way: &Link, server: &OwnServer) {
    way.lead_to(server.server.port);
    way.cut();
}

fn grants(proxy: &Proxy) -> bool {
    proxy.metric("lockstead_lease_good") >= 1.0
}

pub(super) fn until_it_grants(proxy: &Proxy) {
    eventually("it grants", || grants(proxy).then_some(()));
}

/// The store's account, without the right to write on a read-only server, and one for clients.
fn create_accounts(server: &Server, schema: &str) -> Account {
    let flavour = flavour_of(server);
    let mut root = server.root();
    root.run("CREATE USER store@'%' IDENTIFIED BY 'pw'");
    let more = match flavour {
        Flavour::MySql => &[][..],
        Flavour::MariaDb => {
            &["SELECT ON mysql.global_priv", "SELECT ON performance_schema.session_connect_attrs"]
        }
    };
    for right in least_rights(server).into_iter().chain(more.iter().copied()) {
        root.run(&format!("GRANT {} TO store@'%'", right.replace('$', schema)));
    }
    let how = match flavour {
        Flavour::MySql => "WITH caching_sha2_password BY 'a client'",
        Flavour::MariaDb => "VIA mysql_native_password USING PASSWORD('a client')",
    };
    root.run("CREATE DATABASE work");
    root.run("CREATE TABLE work.t (id INT PRIMARY KEY)");
    root.run(&format!("CREATE USER client@'%' IDENTIFIED {how}"));
    root.run("GRANT ALL ON work.* TO client@'%'");
    let (user, password) = ("client".to_owned(), "a client".to_owned());
    Account { user, password, database: Some("work".to_owned()), ..account() }
}

/// The session has its lock, and works on.
pub(super) fn goes_on(session: &mut Session, lock: &str, row: u32) {
    let id = Some(session.id().to_string());
    assert_eq!(session.value(&format!("SELECT IS_USED_LOCK('{lock}')")), id);
    session.run(&format!("INSERT INTO t VALUES ({row})"));
}

fn a_lock_outlives_its_primary(server: &Server) {
    let ground = Ground::pooling(server);
    let (mut holder, mut rival) = (ground.session(0), ground.session(1));
    holder.lock("k");
    holder.lock("k");
    let token = ground.token(&ground.first, "k");
    let epoch = ground.number(&ground.first, "SELECT epoch FROM $.meta");
    ground.until_alike();
    ground.fail_over();
    ground.until_over(1.0, &mut rival, "k");
    goes_on(&mut holder, "k", 1);
    let second = &ground.second;
    assert_eq!(ground.token(second, "k"), token, "the same grant");
    assert!(ground.number(second, "SELECT epoch FROM $.meta") > epoch);
    assert_eq!(ground.number(second, "SELECT COUNT(*) FROM $.adoptions"), 1);
    holder.unlock("k");
    holder.unlock("k");
    rival.lock("k");
    assert!(ground.token(second, "k") > token);
    ground.assert_locks(0, 1.0, 0.0);
    ground.assert_locks(1, 0.0, 0.0);
    let logs: Vec<String> = ground.proxies.iter().map(|proxy| proxy.log()).collect();
    assert_eq!(logs.concat().matches("a new epoch has begun").count(), 1, "one opens it");
    for log in logs {
        assert_eq!(log.matches("joined another epoch").count(), 1, "{log}");
        assert_eq!(log.matches("the grace is over").count(), 1, "{log}");
    }
}

fn a_statement_waits_while_the_only_address_leads_to_no_server(server: &Server) {
    let ground = Ground::pooling(server);
    // The proxy knows the login: the session has no connection yet.
    let mut session = ground.session(0);
    ground.until_alike();
    ground.first.kill();
    session.send("SELECT 7");
    eventually("it finds no server", || {
        (ground.proxies[0].metric("lockstead_backend_up") < 0.5).then_some(())
    });
    promote(&ground.second.server);
    ground.lead_to(&ground.second);
    assert_eq!(session.reply().as_deref(), Some("7"), "{}", ground.proxies[0].log());
}

fn a_lock_that_the_next_primary_never_got_is_kept(server: &Server) {
    lose_a_tail(&Ground::pooling(server));
}

fn lose_a_tail(ground: &Ground) {
    let (mut holder, mut rival) = (ground.session(0), ground.session(1));
    let mut other = ground.session(0);
    for name in ["taken", "released"] {
        other.lock(name);
    }
    ground.until_alike();
    detach(&ground.second.server);
    holder.lock("k");
    other.unlock("released");
    let token = ground.token(&ground.first, "k");
    ground.first.kill();
    promote(&ground.second.server);
    // The rival's proxy is there before that of the holder.
    lead(&ground.ways[1], &ground.second);
    eventually("it opens the next epoch", || {
        (ground.proxies[1].metric("lockstead_failovers_total") >= 1.0).then_some(())
    });
    assert_eq!(rival.value("SELECT GET_LOCK('k', 0)").as_deref(), Some("0"), "two holders");
    lead(&ground.ways[0], &ground.second);
    ground.until_over(1.0, &mut rival, "k");
    goes_on(&mut holder, "k", 1);
    assert_eq!(ground.token(&ground.second, "k"), token);
    assert_eq!(rival.value("SELECT GET_LOCK('taken', 0)").as_deref(), Some("0"));
    // By the copy it was held: its release was lost.
    rival.ask_for("released");
    rival.gets_it();
    holder.unlock("k");
    rival.lock("k");
    assert!(ground.token(&ground.second, "k") > token);
    ground.assert_locks(0, 2.0, 0.0);
}

/// The former primary knows nothing of the time in between, and says that it is the primary.
fn the_locks_go_back_with_a_former_primary(server: &Server) {
    go_back(&Ground::pooling(server));
}

fn go_back(ground: &Ground) {
    let (mut holder, mut rival) = (ground.session(0), ground.session(1));
    holder.lock("k");
    ground.until_alike();
    ground.fail_over();
    ground.until_over(1.0, &mut rival, "k");
    holder.lock("later");
    let token = ground.token(&ground.second, "later");
    let epoch = ground.number(&ground.second, "SELECT epoch FROM $.meta");
    // A slow start must not use up the lease.
    ground.first.restart();
    ground.second.kill();
    ground.lead_to(&ground.first);
    ground.until_over(2.0, &mut rival, "later");
    assert_eq!(rival.value("SELECT GET_LOCK('k', 0)").as_deref(), Some("0"));
    goes_on(&mut holder, "k", 7);
    goes_on(&mut holder, "later", 8);
    assert!(ground.number(&ground.first, "SELECT epoch FROM $.meta") > epoch);
    holder.unlock("later");
    rival.lock("later");
    assert!(ground.token(&ground.first, "later") > token);
    ground.assert_locks(0, 3.0, 0.0);
}

/// The former primary goes on, and takes no writes any more.
fn a_switch_of_primaries_that_live_moves_the_locks(server: &Server) {
    let ground = Ground::pooling(server);
    let (mut holder, mut rival) = (ground.session(0), ground.session(1));
    holder.lock("k");
    ground.until_alike();
    let variable = match flavour_of(server) {
        Flavour::MySql => "super_read_only",
        Flavour::MariaDb => "read_only",
    };
    ground.first.server.root().run(&format!("SET GLOBAL {variable}=1"));
    ground.until_alike();
    promote(&ground.second.server);
    ground.lead_to(&ground.second);
    ground.until_over(1.0, &mut rival, "k");
    goes_on(&mut holder, "k", 1);
    holder.unlock("k");
    rival.lock("k");
    ground.assert_locks(0, 1.0, 0.0);
}

fn a_dedicated_session_ends_with_its_primary_and_its_lock_passes_on(server: &Server) {
    let ground = Ground::new(server, &[]);
    let mut holder = ground.session(0);
    holder.lock("k");
    let token = ground.token(&ground.first, "k");
    ground.until_alike();
    ground.fail_over();
    holder.last_words();
    let mut next = ground.comes_in(1);
    next.ask_for("k");
    next.gets_it();
    assert!(ground.token(&ground.second, "k") > token);
    let gone = "SELECT COUNT(*) FROM $.proxies WHERE state<>1";
    eventually("nothing is left of the former incarnations", || {
        (ground.number(&ground.second, gone) == 0).then_some(())
    });
}

fn a_proxy_that_dies_with_its_primary_leaves_no_lock(server: &Server) {
    let mut ground = Ground::pooling(server);
    let mut holder = ground.session(0);
    let mut rival = ground.session(1);
    holder.lock("k");
    let token = ground.token(&ground.first, "k");
    ground.until_alike();
    ground.first.kill();
    drop(ground.proxies.remove(0));
    promote(&ground.second.server);
    ground.lead_to(&ground.second);
    eventually("it is open", || {
        (ground.proxies[0].metric("lockstead_failovers_total") >= 1.0).then_some(())
    });
    rival.ask_for("k");
    rival.gets_it();
    assert!(ground.token(&ground.second, "k") > token);
}

/// Each rule is left out once, and a test above must notice.
#[cfg(feature = "mutants")]
mod left_out {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::{Ground, go_back, lose_a_tail};
    use crate::script::Server;
    use crate::stage::on_both;

    on_both! {
        mutant_no_grace
        mutant_renew_without_reclaim
        mutant_identity_alone
    }

    fn notices(server: &Server, mutant: &'static str, scenario: fn(&Ground)) {
        let ground = Ground::pooling_without(Some(mutant), server);
        let end = catch_unwind(AssertUnwindSafe(|| scenario(&ground)));
        assert!(end.is_err(), "nobody notices {mutant}");
    }

    fn mutant_no_grace(server: &Server) {
        notices(server, "NoGrace", lose_a_tail);
    }

    fn mutant_renew_without_reclaim(server: &Server) {
        notices(server, "RenewWithoutReclaim", lose_a_tail);
    }

    fn mutant_identity_alone(server: &Server) {
        notices(server, "IdentityAlone", go_back);
    }
}
