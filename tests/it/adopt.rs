//! Another server answers where the lock tables were: nothing is granted there until it is adopted.

use std::net::Ipv4Addr;
use std::process::{Output, Stdio};
use std::time::Duration;

use lockstead::store::identity::run_expression;

use crate::cli::{Person, install, least_rights, text};
use crate::launch::{Launched, program};
use crate::link::Link;
use crate::native_claims::family;
use crate::own_server::{OwnServer, flavour_of};
use crate::proxy::{Proxy, fresh_schema};
use crate::replicas;
use crate::script::{Flavour, Server};
use crate::session::Session;
use crate::stage::{Database, eventually, is_at_server, on_both};
use crate::wire::Shape;

on_both! {
    an_earlier_epoch_gets_nothing_and_ends_nothing_at_once
    a_later_epoch_in_force_closes_holders_at_once
    an_old_copy_is_adopted_above_what_proxies_know
    an_address_that_moves_for_a_moment_ends_nothing
    the_locks_move_with_the_primary_and_not_back
    a_copy_s_holders_end_and_sessions_of_this_server_do_not
    a_server_in_use_is_not_adopted
    a_server_that_cannot_be_adopted_is_refused
}

/// A lease that no test outlives.
const ENDLESS: [&str; 4] = ["--lease", "10m", "--on-failover", "adopt"];
const SHORT: [&str; 4] = ["--lease", "2s", "--on-failover", "adopt"];

/// A change shows within this time.
const AT_ONCE: Duration = Duration::from_millis(300);

/// The lock tables of a server, and an account that has no more rights than it needs.
struct Store {
    server: Server,
    schema: String,
    person: Person,
}

impl Store {
    fn on(server: &Server) -> Self {
        let schema = fresh_schema();
        install(server, &schema);
        let person = Person::create(server, &schema, &least_rights(server));
        Self { server: server.clone(), schema, person }
    }

    /// As the account, at a port of this machine.
    fn url(&self, port: u16) -> String {
        format!("mysql://{}:pw@127.0.0.1:{port}/", self.person.name)
    }

    fn sql(&self, sql: &str) -> Vec<String> {
        self.server.root().column(&sql.replace('$', &self.schema))
    }

    fn number(&self, sql: &str) -> u64 {
        self.sql(sql).concat().parse().expect("a number")
    }

    fn proxy(&self, extra: &[&str]) -> Proxy {
        Proxy::start_on(&self.url(self.server.port), &self.schema, extra)
    }

    fn adopt(&self, port: u16, extra: &[&str]) -> Output {
        self.adopt_as(&self.url(port), extra)
    }

    /// With the lease of [`SHORT`].
    fn adopt_as(&self, url: &str, extra: &[&str]) -> Output {
        let store = format!("{url}{}", self.schema);
        let place = ["adopt", "--backend", "127.0.0.1:1", "--store", &store, SHORT[0], SHORT[1]];
        let mut command = program(&[&place[..], extra].concat());
        command.stdin(Stdio::null()).output().expect("it runs")
    }

    /// Adopts, and the epoch that this has opened.
    fn adopted(&self, port: u16, extra: &[&str]) -> u64 {
        let output = self.adopt(port, &[&["--yes"], extra].concat());
        let said = text(&output);
        assert_eq!(output.status.code(), Some(0), "{said}");
        assert!(said.contains("WARN") && said.contains("new epoch"), "{said}");
        self.number("SELECT epoch FROM $.meta")
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.server.root().run("SET lock_wait_timeout=5");
            self.server.root().run(&format!("DROP DATABASE {}", self.schema));
        }
    }
}

fn until_ready(proxy: &Proxy) {
    eventually("it is ready", || proxy.page("/readyz").contains(" 200 ").then_some(()));
}

/// Waits until the proxy says on its page, its metrics and its log why it grants nothing.
fn until_refused(proxy: &Proxy, reason: &str, words: &str) {
    eventually("it says that another server answers", || {
        let page = proxy.page("/readyz");
        (page.contains(" 503 ") && page.contains(words)).then_some(())
    });
    eventually("its metrics say so", || {
        let says = |label: &str| {
            proxy.metric(&format!("lockstead_store_foreign{{reason=\"{label}\"}}")) > 0.0
        };
        ["identity", "epoch"]
            .into_iter()
            .all(|label| says(label) == (label == reason))
            .then_some(())
    });
    eventually("its log says so", || proxy.log().contains(words).then_some(()));
}

fn an_earlier_epoch_gets_nothing_and_ends_nothing_at_once(server: &Server) {
    let store = Store::on(server);
    let proxy = store.proxy(&ENDLESS);
    let short = store.proxy(&SHORT);
    let mut holder = Session::at(proxy.port);
    let mut other = Session::at(proxy.port);
    let mut fenced = Session::at(short.port);
    let mut bystander = Session::at(short.port);
    for proxy in [&proxy, &short] {
        until_ready(proxy);
    }
    let mut several = Session::at(proxy.port);
    holder.lock("held");
    fenced.lock("k");
    several.lock("one");
    several.lock("two");
    let epoch = store.number("SELECT epoch FROM $.meta");
    store.sql("UPDATE $.meta SET epoch=epoch-5");
    for proxy in [&proxy, &short] {
        until_refused(proxy, "epoch", &format!("lockstead adopt --above {epoch}"));
    }
    // At its deadline, and not before the other one's.
    let words =
        String::from_utf8_lossy(&fenced.last_words().expect("a reason").message).into_owned();
    assert!(words.contains("lost its lease"), "{words}");
    assert_eq!(bystander.value("SELECT 1").as_deref(), Some("1"));
    for session in [&mut other, &mut bystander] {
        assert_eq!(session.value("SELECT GET_LOCK('free', 0)").as_deref(), Some("0"));
        assert_eq!(session.value("SELECT GET_LOCK('free', 1)").as_deref(), Some("0"));
    }
    assert_eq!(store.sql("SELECT COUNT(*) FROM $.proxies"), ["2"], "nobody registers");
    other.ask_for("waited for");
    several.send("SELECT RELEASE_ALL_LOCKS()");
    assert!(!several.client.readable_within(AT_ONCE), "the rows cannot be free");
    store.sql(&format!("UPDATE $.meta SET epoch={epoch}"));
    until_ready(&proxy);
    other.gets_it();
    assert_eq!(several.reply().as_deref(), Some("2"));
    assert!(other.is_free("one") && other.is_free("two"));
    holder.unlock("held");
    holder.lock("held");
    assert_eq!(proxy.log().matches("no locks are granted").count(), 1, "{}", proxy.log());
    // The other incarnation is lost, and its successor grants.
    bystander.ask_for("k");
    bystander.gets_it();
}

fn a_later_epoch_in_force_closes_holders_at_once(server: &Server) {
    let store = Store::on(server);
    let proxy = store.proxy(&ENDLESS);
    until_ready(&proxy);
    let mut holder = Session::at(proxy.port);
    let mut bystander = Session::at(proxy.port);
    holder.lock("k");
    let token = store.number("SELECT tok FROM $.locks");
    store.sql("UPDATE $.meta SET epoch=epoch+100, base=epoch<<31");
    let words = holder.last_words().expect("a reason").message;
    assert!(String::from_utf8_lossy(&words).contains("lost its lease"), "{words:?}");
    assert_eq!(bystander.value("SELECT 1").as_deref(), Some("1"));
    bystander.ask_for("k");
    bystander.gets_it();
    assert!(store.number("SELECT tok FROM $.locks") > token);
}

fn an_old_copy_is_adopted_above_what_proxies_know(server: &Server) {
    let store = Store::on(server);
    let proxy = store.proxy(&SHORT);
    until_ready(&proxy);
    let mut holder = Session::at(proxy.port);
    holder.lock("k");
    let token = store.number("SELECT tok FROM $.locks WHERE name='k'");
    let epoch = store.number("SELECT epoch FROM $.meta");
    store.sql("UPDATE $.meta SET epoch=epoch-5");
    until_refused(&proxy, "epoch", &format!("lockstead adopt --above {epoch}"));
    holder.last_words();
    let needless = store.adopt(server.port, &["--yes"]);
    assert_eq!(needless.status.code(), Some(3), "{}", text(&needless));
    // The clock of the next server is slow.
    let above = (epoch + 1_000_000_000).to_string();
    let next = store.adopted(server.port, &["--above", &above]);
    assert_eq!(next, epoch + 1_000_000_001);
    let mut again = Session::at(proxy.port);
    again.ask_for("k");
    again.gets_it();
    let base = store.number("SELECT base FROM $.meta");
    let now = store.number("SELECT tok FROM $.locks WHERE name='k'");
    assert!(now > base && base == next << 31 && base > token, "{token} {base} {now}");
    let audit = "SELECT CONCAT_WS(' ',epoch,old_epoch,old_ident=ident,who LIKE '_% (uid %) on _%') \
                 FROM $.adoptions";
    assert_eq!(store.sql(audit), [format!("{next} {} 1 1", epoch - 5)]);
}

/// A primary, and a replica of it that takes writes.
pub(crate) fn pair(flavour: Flavour, options: &'static [&'static str]) -> (OwnServer, OwnServer) {
    let (first, second) = replicas::two(flavour, options);
    replicas::attach(&first.server, &second.server);
    (first, second)
}

/// Everything that the lock tables say.
fn state(server: &Server, schema: &str) -> Vec<String> {
    let mut root = server.root();
    [
        "SELECT CONCAT_WS(' ',epoch,base,ident,ttl_ms) FROM $.meta",
        "SELECT CONCAT_WS(' ',id,state,rvn,server_start) FROM $.proxies ORDER BY id",
        "SELECT CONCAT_WS(' ',k,tok,holder) FROM $.locks ORDER BY k",
    ]
    .iter()
    .flat_map(|sql| root.column(&sql.replace('$', schema)))
    .collect()
}

pub(crate) fn until_alike(first: &OwnServer, second: &OwnServer, schema: &str) {
    let exists =
        format!("SELECT COUNT(*) FROM information_schema.tables WHERE table_schema='{schema}'");
    eventually("both servers say the same", || {
        let there = second.server.root().column(&exists) == first.server.root().column(&exists);
        (there && state(&first.server, schema) == state(&second.server, schema)).then_some(())
    });
}

fn an_address_that_moves_for_a_moment_ends_nothing(server: &Server) {
    let flavour = flavour_of(server);
    let (first, second) = pair(flavour, &[]);
    let store = Store::on(&first.server);
    let way = Link::start(first.server.port, Ipv4Addr::LOCALHOST);
    let client_way = Link::start(first.server.port, Ipv4Addr::LOCALHOST);
    let backend = format!("127.0.0.1:{}", client_way.port());
    let url = format!("{}{}", store.url(way.port()), store.schema);
    let proxy = Launched::start(
        &backend,
        &url,
        &["--lease", "10m", "--connect-timeout", "2s", "--on-failover", "adopt"],
    );
    // A replica may have been primary before: without this one the first grant waited a lease.
    let mut peer = store.proxy(&SHORT);
    eventually("it grants", || proxy.log().contains("wait is over").then_some(()));
    peer.signal("TERM");
    assert_eq!(peer.wait(), Some(0));
    let mut root = first.server.root();
    let mut broken = Session::at(proxy.port);
    broken.lock("broken");
    // The server does not notice that a client is gone while it waits for a row.
    let database = Database::create(&first.server);
    let table = database.table("t");
    root.run(&format!("CREATE TABLE {table} (n INT)"));
    root.run(&format!("INSERT INTO {table} VALUES (1)"));
    let mut blocker = Session::at(first.server.port);
    blocker.run(&format!("BEGIN; UPDATE {table} SET n=2"));
    broken.run("SET innodb_lock_wait_timeout=600");
    broken.send(&format!("UPDATE {table} SET n=3"));
    eventually("it waits for the row", || {
        // Asked again within 100 ms, InnoDB answers from a cache for ever.
        root.run("DO SLEEP(0.2)");
        let waits = "trx_state='LOCK WAIT'";
        let sql = format!("SELECT COUNT(*) FROM information_schema.innodb_trx WHERE {waits}");
        (root.column(&sql) == ["1"]).then_some(())
    });
    // New connections now reach the replica, which has all rows.
    way.lead_to(second.server.port);
    client_way.cut();
    let mut holder = Session::at(proxy.port);
    until_alike(&first, &second, &store.schema);
    way.cut();
    eventually("it is refused", || proxy.log().contains("no locks are granted").then_some(()));
    assert_eq!(holder.value("SELECT GET_LOCK('free', 0)").as_deref(), Some("0"));
    assert_eq!(holder.value("SELECT GET_LOCK('free', 1)").as_deref(), Some("0"));
    // The replica's rows say nothing of now.
    holder.send("SELECT IS_FREE_LOCK('free')");
    assert_eq!(holder.client.read_response(Shape::Query).error(), Some(1105));
    let before = state(&second.server, &store.schema);
    eventually("it has tried", || {
        (proxy.log().matches("cannot see whether ended sessions are gone").count() > 0)
            .then_some(())
    });
    let mut there = second.server.root();
    let schema = match flavour {
        Flavour::MySql => "performance_schema",
        Flavour::MariaDb => "information_schema",
    };
    let made = format!(
        "SELECT VARIABLE_VALUE FROM {schema}.global_status WHERE VARIABLE_NAME='Connections'"
    );
    let mut made = || there.column(&made).concat().parse::<u64>().expect("a number");
    let earlier = made();
    eventually("it is refused again", || (made() >= earlier + 3).then_some(()));
    assert_eq!(state(&second.server, &store.schema), before, "written on the replica");
    assert_eq!(state(&first.server, &store.schema), before, "lost meanwhile");
    way.lead_to(first.server.port);
    holder.ask_for("free");
    holder.gets_it();
    let held = "SELECT COUNT(*) FROM $.held_locks WHERE name='broken'";
    assert!(is_at_server(&mut root, flavour, broken.id()), "it still works");
    assert_eq!(store.sql(held), ["1"], "released while its session works");
    assert_eq!(holder.value("SELECT GET_LOCK('broken', 1)").as_deref(), Some("0"));
    holder.ask_for("broken");
    blocker.run("ROLLBACK");
    holder.gets_it();
    assert!(!proxy.log().contains("lost its lease"), "{}", proxy.log());
}

fn read_only(server: &Server, on: bool) {
    let variable = match flavour_of(server) {
        Flavour::MySql => "super_read_only",
        Flavour::MariaDb => "read_only",
    };
    server.root().run(&format!("SET GLOBAL {variable}={on}"));
    if !on {
        server.root().run("SET GLOBAL read_only=0");
    }
}

fn the_locks_move_with_the_primary_and_not_back(server: &Server) {
    let flavour = flavour_of(server);
    let (first, second) = pair(flavour, &[]);
    let store = Store::on(&first.server);
    let way = Link::start(first.server.port, Ipv4Addr::LOCALHOST);
    let start = || Proxy::start_on(&store.url(way.port()), &store.schema, &SHORT);
    let proxies = [start(), start()];
    proxies.iter().for_each(until_ready);
    let mut holders: Vec<Session> = proxies.iter().map(|p| Session::at(p.port)).collect();
    let mut bystander = Session::at(proxies[0].port);
    holders[0].lock("k");
    holders[1].lock("l");
    let token = store.number("SELECT tok FROM $.locks WHERE name='k'");
    let schema = store.schema.clone();
    let there = |sql: &str| second.server.root().column(&sql.replace('$', &schema));
    let number = |sql: &str| there(sql).concat().parse::<u64>().expect("a number");
    eventually("the replica has the locks", || {
        let views = "SELECT COUNT(*) FROM information_schema.views WHERE table_schema='$'";
        let whole = there(views) == ["1"];
        (whole && there("SELECT COUNT(*) FROM $.held_locks") == ["2"]).then_some(())
    });
    // A planned switch: open connections stay where they are.
    way.lead_to(second.server.port);
    read_only(&first.server, true);
    for holder in &mut holders {
        let words =
            String::from_utf8_lossy(&holder.last_words().expect("a reason").message).into_owned();
        assert!(words.contains("lost its lease"), "{words}");
    }
    assert_eq!(bystander.value("SELECT 1").as_deref(), Some("1"));
    for proxy in &proxies {
        until_refused(proxy, "identity", "run `lockstead adopt`");
    }
    let port = second.server.port;
    promote(&store, &second.server);
    let old = number("SELECT epoch FROM $.meta");
    let mut next = Session::at(proxies[1].port);
    assert_eq!(next.value("SELECT GET_LOCK('k', 1)").as_deref(), Some("0"));
    let output = store.adopt(port, &["--yes"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    assert_adoption_refused(&store, port, &["--yes"], (3, "nothing to adopt"));
    assert!(number("SELECT epoch FROM $.meta") > old);
    assert_eq!(there("SELECT old_epoch FROM $.adoptions"), [old.to_string()]);
    // Waiting sessions go there by themselves.
    next.ask_for("k");
    next.gets_it();
    assert!(number("SELECT tok FROM $.locks WHERE name='k'") > token);
    // The new primary does not know the session that has stayed.
    bystander.send("SELECT GET_LOCK('of the former', 0)");
    let words = bystander.last_words().expect("a reason").message;
    assert!(String::from_utf8_lossy(&words).contains("another server"), "{words:?}");
    proxies.iter().for_each(until_ready);
    next.lock("l");
    eventually("only what lives is left", || {
        (there("SELECT COUNT(*) FROM $.proxies") == ["2"]).then_some(())
    });
    the_former_primary_gets_nothing(&first.server, &store, &way, &proxies);
    way.lead_to(second.server.port);
    way.cut();
    let mut home = Session::at(proxies[0].port);
    home.ask_for("k");
    home.gets_it();
    drop(proxies);
}

/// Makes a primary of a replica. Until then it cannot be adopted, and every refusal says why.
fn promote(store: &Store, replica: &Server) {
    let refused = |extra: &[&str], why| assert_adoption_refused(store, replica.port, extra, why);
    refused(&["--yes"], (1, "replicates from another"));
    replicas::promote(replica);
    read_only(replica, true);
    refused(&["--yes"], (1, "read-only"));
    read_only(replica, false);
    refused(&[], (2, "--yes"));
}

fn assert_adoption_refused(store: &Store, port: u16, extra: &[&str], (code, words): (i32, &str)) {
    let output = store.adopt(port, extra);
    let said = text(&output);
    assert_eq!(output.status.code(), Some(code), "{said}");
    assert!(said.contains(words), "{words}: {said}");
}

/// The former primary can be written on again, and the proxies' way leads to it.
fn the_former_primary_gets_nothing(
    former: &Server,
    store: &Store,
    way: &Link,
    proxies: &[Proxy; 2],
) {
    read_only(former, false);
    let before = state(former, &store.schema);
    way.lead_to(former.port);
    way.cut();
    for proxy in proxies {
        until_refused(proxy, "epoch", "an earlier epoch");
    }
    let mut fooled = Session::at(proxies[0].port);
    assert_eq!(fooled.value("SELECT GET_LOCK('k', 3)").as_deref(), Some("0"));
    assert_eq!(state(former, &store.schema), before, "written on the former primary");
}

fn a_copy_s_holders_end_and_sessions_of_this_server_do_not(server: &Server) {
    let store = Store::on(server);
    let mut innocent = Session::at(server.port);
    // The other server seems to be of the same run; of one holder the copy has no row.
    let run = server.root().column(&format!("SELECT {}", run_expression(family(server)))).concat();
    let id = innocent.id();
    store.sql("UPDATE $.meta SET ident='another', epoch=epoch-1000, ttl_ms=1000");
    store.sql(&format!(
        "INSERT INTO $.proxies (id,state,rvn,epoch,base_seen,ttl_ms,addr,server_start,conns) \
         SELECT 7,1,1,epoch,base,1000,'there',{run},'{id}' FROM $.meta"
    ));
    store.sql(&format!(
        "INSERT INTO $.locks (k,tok,holder,sess,conn,name,owner,since) VALUES ('La',5,7,1,{id},'a','x@y',NOW()), \
         ('Lb',6,8,1,{id},'b','x@y',NOW())"
    ));
    store.adopted(server.port, &[]);
    assert_eq!(
        store.sql("SELECT CONCAT_WS(' ',id,state,server_start,conns) FROM $.proxies ORDER BY id"),
        ["7 2 0 ", "8 2 0 "]
    );
    let proxy = store.proxy(&SHORT);
    let mut next = Session::at(proxy.port);
    for name in ["a", "b"] {
        next.ask_for(name);
        next.gets_it();
    }
    assert_eq!(innocent.value("SELECT 1").as_deref(), Some("1"));
}

fn a_server_in_use_is_not_adopted(server: &Server) {
    let store = Store::on(server);
    let proxy = store.proxy(&SHORT);
    until_ready(&proxy);
    let mut holder = Session::at(proxy.port);
    holder.lock("k");
    let needless = store.adopt(server.port, &["--yes"]);
    assert_eq!(needless.status.code(), Some(3), "{}", text(&needless));
    // Somebody thinks that there is a later epoch; this proxy has learned of none.
    let before = store.sql("SELECT CONCAT_WS(' ',epoch,base,ident) FROM $.meta");
    let above = (store.number("SELECT epoch FROM $.meta") + 1).to_string();
    let output = store.adopt(server.port, &["--yes", "--above", &above]);
    let said = text(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("a proxy renews its lease"), "{said}");
    assert_eq!(store.sql("SELECT CONCAT_WS(' ',epoch,base,ident) FROM $.meta"), before);
    holder.unlock("k");
}

fn a_server_that_cannot_be_adopted_is_refused(server: &Server) {
    let store = Store::on(server);
    store.sql("UPDATE $.meta SET ident='another'");
    let refused = |output: &Output, code, words: &str| {
        let said = text(output);
        assert_eq!(output.status.code(), Some(code), "{said}");
        assert!(said.contains(words), "{words}: {said}");
    };
    if flavour_of(server) == Flavour::MariaDb {
        // The account could write on a replica.
        refused(&store.adopt_as(&server.url, &["--yes"]), 1, "READ ONLY ADMIN");
    }
    let blind = Person::create(server, &store.schema, &["SELECT, INSERT, UPDATE, DELETE ON $.*"]);
    let url = format!("mysql://{}:pw@127.0.0.1:{}/", blind.name, server.port);
    refused(&store.adopt_as(&url, &["--yes"]), 1, "PROCESS");
    let mut rights = least_rights(server);
    rights[0] = "SELECT, UPDATE, DELETE ON $.*";
    let reader = Person::create(server, &store.schema, &rights);
    let url = format!("mysql://{}:pw@127.0.0.1:{}/", reader.name, server.port);
    refused(&store.adopt_as(&url, &["--yes"]), 1, "INSERT");
    store.sql("DROP TABLE $.meta");
    refused(&store.adopt(server.port, &["--yes"]), 1, "no lock schema");
    refused(&store.adopt(server.port, &["--yes", "--above", "99999999999"]), 2, "--above");
    refused(&store.adopt(1, &["--yes"]), 1, "cannot connect");
    let help = program(&["adopt", "--help"]).output().expect("it runs");
    refused(&help, 0, "nothing to adopt");
}
