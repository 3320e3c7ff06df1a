//! The invariants that the store's statements keep, each by its number in the design of the lock engine. Statements are
//! sent to a real server in states that must not let them do anything.

use std::sync::Arc;
use std::time::Duration;

use lockstead::config::{HostPort, StoreUrl};
use lockstead::lock::name::{Key, plain};
use lockstead::store::batch::BatchResult;
use lockstead::store::connection::StoreConnection;
use lockstead::store::epoch::Opening;
use lockstead::store::rows::{LockRow, ProxyRow, ProxyState};
use lockstead::store::statement::{
    BatchWriter, EXACT, GrantAttempt, LockChange, Others, Precedence, RowRelease, SHOW, WINDOW,
};
use lockstead::store::waits::WaitRow;
use lockstead::types::{ConnectionId, Flavour, ProxyId};
use tokio::runtime::Runtime;

use crate::own_server::{OwnServer, flavour_of};
use crate::proxy::fresh_schema;
use crate::script::Server;
use crate::stage::on_both;

on_both! {
    i2_a_lock_leaves_its_holder_only_by_its_token
    i2_a_lock_is_taken_over_only_from_an_incarnation_that_is_clean
    i3_a_revoked_proxy_changes_nothing
    i3_a_revoke_waits_for_a_batch_and_a_batch_for_a_revoke
    i4_states_only_grow
    i5_a_renewal_between_look_and_revoke_saves_the_proxy
    i9_tokens_grow_whatever_is_proposed
    i9_a_batch_on_a_base_that_has_moved_on_does_nothing
    i9_a_collected_row_comes_back_above_its_last_token
    i9_whoever_takes_the_row_of_an_owner_that_is_gone_begins_above_its_window
    i9_a_row_that_is_given_away_keeps_the_last_token_that_was_handed_out
    a_question_to_an_owner_takes_nothing
    a_row_shows_another_hold_only_if_it_is_as_its_owner_knows_it
    i13_a_renewal_counts_for_its_own_epoch_and_version
    i14_nothing_is_written_in_another_epoch_or_on_another_server
    a_free_row_is_left_to_the_proxy_that_waits_longest
    a_grant_that_only_changes_its_place_is_not_won
    a_place_in_a_row_is_given_up_by_its_owner_alone
    a_row_that_is_made_has_no_place_taken
    a_place_of_nobody_live_is_emptied
    a_session_that_holds_nothing_any_more_closes_no_circle
    nobody_waits_for_a_proxy_that_is_not_live
    i14_nobody_renews_or_registers_in_another_epoch_or_on_another_server
    i14_an_epoch_is_opened_only_on_tables_that_have_not_changed
    a_batch_of_any_size_reports_the_outcome_for_each_key
    a_name_of_any_bytes_arrives_as_it_is
    a_batch_does_without_prepared_statements
}

/// A schema with lock tables, and a connection to them.
pub(crate) struct Store {
    pub(crate) runtime: Runtime,
    pub(crate) conn: StoreConnection,
    pub(crate) url: StoreUrl,
    pub(crate) server: Server,
}

pub(crate) const FLOOR: u64 = 1000;

impl Store {
    pub(crate) fn new(server: &Server) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.expect("a runtime");
        let url = StoreUrl {
            host: server.host.clone(),
            port: server.port,
            hosts: vec![HostPort { host: server.host.clone(), port: server.port }],
            user: "root".to_owned(),
            password: "rootpw".to_owned(),
            schema: fresh_schema(),
            tls: lockstead::config::tls::StoreTls::default(),
        };
        let conn = runtime.block_on(async {
            let mut conn = open(&url).await;
            conn.install().await.expect("install");
            conn
        });
        Self { runtime, conn, url, server: server.clone() }
    }

    pub(crate) fn sql(&self, sql: &str) -> Vec<String> {
        self.server.root().column(&sql.replace("{}", &self.url.schema))
    }

    /// Registers an incarnation and returns what it writes with.
    pub(crate) fn join(&mut self, id: u64) -> BatchWriter {
        let epoch = self.sql("SELECT epoch FROM {}.meta")[0].parse().expect("an epoch");
        let base = self.sql("SELECT base FROM {}.meta")[0].parse().expect("a base");
        let row = ProxyRow {
            id: ProxyId(id),
            state: ProxyState::Live,
            rvn: 1,
            epoch,
            ttl_ms: 1000,
            addr: "here".to_owned(),
            server_start: 0,
            conns: vec![],
            native: false,
            tables: 3,
            keeps: 0,
        };
        let schema = self.url.schema.clone();
        self.runtime.block_on(self.conn.register(&row, epoch)).expect("register");
        BatchWriter { schema, proxy: ProxyId(id), epoch, base, run: 0 }
    }

    fn run(
        &mut self,
        writer: &BatchWriter,
        changes: &[LockChange],
        clean: &[ProxyId],
    ) -> BatchResult {
        let others = Others { clean: clean.to_vec(), ..Others::default() };
        self.run_among(writer, changes, &others)
    }

    pub(crate) fn run_among(
        &mut self,
        writer: &BatchWriter,
        changes: &[LockChange],
        others: &Others,
    ) -> BatchResult {
        self.runtime.block_on(self.conn.run_batch(writer, changes, others)).expect("a batch")
    }

    pub(crate) fn run_one(&mut self, writer: &BatchWriter, change: LockChange) -> BatchResult {
        self.run(writer, &[change], &[])
    }

    /// Takes a lock and returns its row.
    pub(crate) fn take(&mut self, writer: &BatchWriter, name: &str, id: u64) -> LockRow {
        let result = self.run_one(writer, acquire(name, id, FLOOR));
        assert!(result.guarded);
        assert_eq!((result.rows[0].holder, result.rows[0].grant), (writer.proxy.0, id));
        result.rows[0].clone()
    }

    pub(crate) fn holder(&self, name: &str) -> String {
        let sql = format!("SELECT holder FROM {{}}.locks WHERE k=x'{}'", hex(&key(name)));
        self.sql(&sql).concat()
    }

    pub(crate) fn want(&self, name: &str) -> String {
        self.sql(&format!("SELECT want FROM {{}}.locks WHERE k=x'{}'", hex(&key(name)))).concat()
    }

    pub(crate) fn token(&self, name: &str) -> u64 {
        let sql = format!("SELECT tok FROM {{}}.locks WHERE k=x'{}'", hex(&key(name)));
        self.sql(&sql)[0].parse().expect("a token")
    }

    pub(crate) fn revoke(&mut self, id: u64) -> bool {
        self.runtime.block_on(self.conn.revoke(ProxyId(id), 1)).expect("revoke")
    }

    pub(crate) fn declare_clean(&mut self, id: u64) {
        self.runtime.block_on(self.conn.declare_clean(ProxyId(id))).expect("clean");
    }

    fn state(&self, id: u64) -> String {
        self.sql(&format!("SELECT state FROM {{}}.proxies WHERE id={id}")).concat()
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.server.root().run(&format!("DROP DATABASE {}", self.url.schema));
        }
    }
}

pub(crate) async fn open(url: &StoreUrl) -> StoreConnection {
    StoreConnection::open(url, Duration::from_secs(10)).await.expect("a store connection")
}

pub(crate) fn key(name: &str) -> Key {
    plain(name.as_bytes(), Flavour::MariaDb).expect("a valid name").key
}

pub(crate) fn hex(key: &Key) -> String {
    hex::encode_upper(key.as_bytes())
}

pub(crate) fn acquire(name: &str, id: u64, token: u64) -> LockChange {
    let grant = GrantAttempt {
        id,
        token,
        conn: ConnectionId(id + 5),
        name: name.as_bytes().into(),
        owner: Arc::from(&b"app@10.0.0.1"[..]),
        turn: Precedence::Yield,
        native: false,
        after: None,
    };
    LockChange { key: key(name), release: None, acquire: Some(grant), withdraw: false }
}

/// A grant with manners.
pub(crate) fn acquire_as(turn: Precedence, name: &str, id: u64) -> LockChange {
    let mut change = acquire(name, id, FLOOR);
    change.acquire.as_mut().expect("a grant").turn = turn;
    change
}

/// Other proxies, all live.
pub(crate) fn live(ids: &[u64]) -> Others {
    Others { waiting: ids.iter().map(|id| ProxyId(*id)).collect(), ..Others::default() }
}

fn a_free_row_is_left_to_the_proxy_that_waits_longest(server: &Server) {
    let mut store = Store::new(server);
    let (one, two, three) = (store.join(1), store.join(2), store.join(3));
    // Alone, in a batch whose last row is repeated, and in one with others.
    for (n, company) in [0, 4, 9].into_iter().enumerate() {
        let name = format!("k{n}");
        let token = store.take(&one, &name, 10).token;
        let id = 1000 * (n as u64 + 1);
        let run = |store: &mut Store, writer: &BatchWriter, change: LockChange, others: &[u64]| {
            let key = change.key.clone();
            let mut changes: Vec<LockChange> =
                (0..company).map(|c| acquire(&format!("{name}-{id}-{c}"), 50 + c, FLOOR)).collect();
            changes.push(change);
            changes.sort_by(|a, b| a.key.cmp(&b.key));
            let result = store.run_among(writer, &changes, &live(others));
            let row = result.rows.into_iter().find(|r| r.key == key.as_bytes()).expect("a row");
            (row.holder, row.want)
        };
        let queue = |since, id| acquire_as(Precedence::Queue(since), &name, id);
        assert_eq!(run(&mut store, &two, queue(token, 20), &[1, 3]), (1, 2));
        assert_eq!(run(&mut store, &three, queue(token + 1, 30), &[1, 2]), (1, 2), "came later");
        assert_eq!(run(&mut store, &three, queue(token - 1, 31), &[1, 2]), (1, 3), "waits longer");
        // From one session of the holder to the next: the reply tells that somebody waits.
        let pass = hand_over(&name, token, 11);
        assert_eq!(run(&mut store, &one, pass, &[2, 3]), (1, 3));
        let token = store.token(&name);
        assert_eq!(run(&mut store, &one, release(&name, token), &[2, 3]), (0, 3));
        assert_eq!(run(&mut store, &one, acquire(&name, 12, FLOOR), &[2, 3]), (0, 3), "left");
        assert_eq!(run(&mut store, &two, queue(token, 21), &[1, 3]), (0, 3), "left");
        assert_eq!(run(&mut store, &three, queue(token, 32), &[1, 2]), (3, 0), "taken");
        assert_eq!(run(&mut store, &two, queue(token, 22), &[1, 3]), (3, 2));
        let token = store.token(&name);
        assert_eq!(run(&mut store, &three, release(&name, token), &[1, 2]), (0, 2));
        let take = acquire_as(Precedence::Take, &name, 13);
        assert_eq!(run(&mut store, &one, take, &[2, 3]), (1, 2), "though another waits");
    }
}

/// I1: what such a statement changes must not look like a lock that was won.
fn a_grant_that_only_changes_its_place_is_not_won(server: &Server) {
    let mut store = Store::new(server);
    let (one, two) = (store.join(1), store.join(2));
    for (n, company) in [0, 1, 3, 6].into_iter().enumerate() {
        let name = format!("k{n}");
        store.take(&one, &name, 10);
        for (id, ticket) in [(20, 70), (21, 70), (22, 90), (23, 50)] {
            let own = acquire_as(Precedence::Queue(ticket), &name, id);
            // Others of the batch are there already, and are won.
            let names: Vec<String> = (0..company).map(|c| format!("{name}-{c}")).collect();
            let mut changes: Vec<LockChange> =
                names.iter().map(|name| acquire(name, 1000 * id, FLOOR)).collect();
            changes.push(own.clone());
            changes.sort_by(|a, b| a.key.cmp(&b.key));
            let result = store.run_among(&two, &changes, &live(&[1]));
            let row = result.rows.iter().find(|r| r.key == own.key.as_bytes()).expect("a row");
            assert_eq!((row.holder, row.grant), (1, 10), "company {company}, ticket {ticket}");
            assert_eq!((row.want, row.ticket), (2, ticket));
            for name in &names {
                let token = store.token(name);
                store.run_one(&two, release(name, token));
            }
        }
    }
}

fn a_row_that_is_made_has_no_place_taken(server: &Server) {
    let mut store = Store::new(server);
    let one = store.join(1);
    store.run_one(&one, acquire_as(Precedence::Queue(70), "granted", 10));
    assert_eq!((store.holder("granted"), store.want("granted")), ("1".to_owned(), "0".to_owned()));
    let withdraw = LockChange { key: key("gone"), release: None, acquire: None, withdraw: true };
    store.run_one(&one, withdraw);
    assert_eq!((store.holder("gone"), store.want("gone")), ("0".to_owned(), "0".to_owned()));
}

fn a_place_of_nobody_live_is_emptied(server: &Server) {
    let mut store = Store::new(server);
    let (one, two) = (store.join(1), store.join(2));
    for name in ["by a grant", "by a hand-over"] {
        let token = store.take(&one, name, 10).token;
        store.run_one(&two, acquire_as(Precedence::Queue(5), name, 20));
        assert_eq!(store.want(name), "2");
        let mut next = hand_over(name, token, 11);
        if name == "by a grant" {
            store.run_one(&one, release(name, token));
            next = acquire(name, 11, FLOOR);
        }
        // Proxy 2 is not among the live ones.
        store.run_among(&one, &[next], &live(&[3]));
        assert_eq!((store.holder(name), store.want(name)), ("1".to_owned(), "0".to_owned()));
    }
}

/// Connection ids are of one run of the server, and only a live proxy's sessions wait.
fn a_session_that_holds_nothing_any_more_closes_no_circle(server: &Server) {
    let mut store = Store::new(server);
    let (one, _) = (store.join(1), store.join(2));
    let conn = store.take(&one, "k", 10).conn;
    let schema = one.schema.clone();
    let wait = WaitRow { id: 1, conn: ConnectionId(77), weight: 0, key: key("k") };
    let told = store.conn.tell_waits(ProxyId(2), std::slice::from_ref(&wait), &[]);
    store.runtime.block_on(told).expect("told");
    let mut edges = || {
        let read = store.conn.read_waits();
        let edges = store.runtime.block_on(read).expect("waits");
        edges.iter().map(|e| (e.from.0, e.to.0)).collect::<Vec<_>>()
    };
    assert_eq!(edges(), [(77, conn)]);
    let root = |sql: &str| store.server.root().run(&sql.replace("{}", &schema));
    for state in ["server_start=server_start-9", "server_start=server_start+9, state=2"] {
        root(&format!("UPDATE {{}}.proxies SET {state} WHERE id=1"));
        assert_eq!(edges(), []);
    }
}

fn a_place_in_a_row_is_given_up_by_its_owner_alone(server: &Server) {
    let mut store = Store::new(server);
    let (one, two) = (store.join(1), store.join(2));
    store.take(&one, "k", 10);
    let withdraw = || LockChange { key: key("k"), release: None, acquire: None, withdraw: true };
    store.run_one(&two, acquire_as(Precedence::Queue(5), "k", 20));
    store.run_among(&one, &[withdraw()], &live(&[2]));
    assert_eq!(store.want("k"), "2");
    store.run_among(&two, &[withdraw()], &live(&[1]));
    assert_eq!((store.want("k"), store.holder("k")), ("0".to_owned(), "1".to_owned()));
}

fn nobody_waits_for_a_proxy_that_is_not_live(server: &Server) {
    let mut store = Store::new(server);
    let (one, two) = (store.join(1), store.join(2));
    let token = store.take(&one, "k", 10).token;
    store.run_one(&two, acquire_as(Precedence::Queue(5), "k", 20));
    assert_eq!(store.run_one(&one, release("k", token)).rows[0].want, 2);
    let result = store.run_among(&one, &[acquire("k", 11, FLOOR)], &live(&[3]));
    assert_eq!(result.rows[0].holder, 1, "proxy 2 is not among the live ones");
    let three = store.join(3);
    store.run_one(&three, acquire_as(Precedence::Queue(9), "k", 30));
    assert_eq!(store.want("k"), "3", "its place goes to the next proxy that asks");
}

pub(crate) fn release(name: &str, token: u64) -> LockChange {
    LockChange {
        key: key(name),
        release: Some(RowRelease::of(token)),
        acquire: None,
        withdraw: false,
    }
}

fn hand_over(name: &str, token: u64, id: u64) -> LockChange {
    let mut change = acquire(name, id, token + 1);
    change.acquire.as_mut().expect("a grant").turn = Precedence::Take;
    LockChange { release: Some(RowRelease::of(token)), ..change }
}

fn i2_a_lock_leaves_its_holder_only_by_its_token(server: &Server) {
    let mut store = Store::new(server);
    let (one, two) = (store.join(1), store.join(2));
    let token = store.take(&one, "k", 10).token;
    let others = [
        (&two, acquire("k", 20, 9 * FLOOR)),
        (&two, release("k", token)),
        (&two, hand_over("k", token, 20)),
        (&one, acquire("k", 11, 9 * FLOOR)),
        (&one, release("k", token + 1)),
        (&one, hand_over("k", token - 1, 11)),
    ];
    for (writer, change) in others {
        let shown = format!("{} {change:?}", writer.proxy);
        let beside = acquire("beside", 30, FLOOR);
        store.run_one(writer, change.clone());
        store.run(writer, &[beside, change], &[]);
        let row = store.sql("SELECT CONCAT(holder,' ',tok,' ',sess) FROM {}.locks WHERE k='Lk'");
        assert_eq!(row, [format!("1 {token} 10")], "{shown}");
    }
    store.run_one(&one, release("k", token));
    assert_eq!(store.holder("k"), "0");
    let next = store.take(&two, "k", 21);
    let result = store.run_one(&two, hand_over("k", next.token, 22));
    assert_eq!((result.rows[0].holder, result.rows[0].grant), (2, 22));
}

fn i2_a_lock_is_taken_over_only_from_an_incarnation_that_is_clean(server: &Server) {
    let mut store = Store::new(server);
    let (one, two) = (store.join(1), store.join(2));
    let token = store.take(&one, "k", 10).token;
    let steal = |id| [acquire("k", id, FLOOR)];
    store.run(&two, &steal(20), &[ProxyId(3), ProxyId(4)]);
    assert_eq!(store.holder("k"), "1");
    let result = store.run(&two, &steal(21), &[ProxyId(3), ProxyId(1)]);
    assert_eq!((result.rows[0].holder, result.rows[0].grant), (2, 21));
    assert!(result.rows[0].token > token);
}

fn i3_a_revoked_proxy_changes_nothing(server: &Server) {
    let mut store = Store::new(server);
    let (one, two) = (store.join(1), store.join(2));
    let token = store.take(&one, "held", 10).token;
    store.run(&two, &[acquire("a", 1, FLOOR), acquire("b", 2, FLOOR)], &[]);
    let free = store.run(&two, &[acquire("free", 3, FLOOR)], &[]).rows[0].token;
    store.run_one(&two, release("free", free));
    assert!(store.revoke(1));
    for clean in [false, true] {
        if clean {
            store.declare_clean(1);
        }
        let batches = [
            vec![acquire("free", 11, FLOOR)],
            vec![acquire("new", 11, FLOOR)],
            vec![acquire("free", 12, FLOOR), acquire("new", 13, FLOOR)],
            vec![acquire("free", 12, FLOOR), hand_over("held", token, 14)],
            vec![hand_over("held", token, 14)],
        ];
        for batch in batches {
            let result = store.run(&one, &batch, &[]);
            assert!(!result.guarded, "{batch:?}");
            assert_eq!(store.holder("free"), "0", "{batch:?}");
            assert_eq!(store.holder("new"), "", "{batch:?}");
            assert_eq!(store.holder("held"), "1", "{batch:?}");
        }
    }
}

/// Both lock the proxy's row, so one of them comes first and the other sees it.
fn i3_a_revoke_waits_for_a_batch_and_a_batch_for_a_revoke(server: &Server) {
    let mut store = Store::new(server);
    let one = store.join(1);
    let schema = store.url.schema.clone();
    let mut root = server.root();
    root.run("BEGIN");
    root.run(&format!("SELECT * FROM {schema}.proxies WHERE id=1 LOCK IN SHARE MODE"));
    let revoke = store.runtime.block_on(store.conn.revoke(ProxyId(1), 1));
    let waited = revoke.expect_err("the revoke does not pass a share lock");
    assert!(waited.is_retryable(), "{waited}");
    // A batch shares that lock.
    let token = store.take(&one, "k", 10).token;
    root.run("COMMIT");
    root.run("BEGIN");
    root.run(&format!("UPDATE {schema}.proxies SET state=2 WHERE id=1"));
    let batch = [acquire("l", 11, FLOOR), acquire("m", 12, FLOOR)];
    let alone = [hand_over("k", token, 13)];
    for changes in [&batch[..], &alone] {
        let result =
            store.runtime.block_on(store.conn.run_batch(&one, changes, &Others::default()));
        let waited = result.expect_err("the batch does not pass a revoke under way");
        assert!(waited.is_retryable(), "{waited}");
    }
    root.run("COMMIT");
    assert!(!store.run(&one, &batch, &[]).guarded);
    assert!(!store.run(&one, &alone, &[]).guarded);
}

fn i4_states_only_grow(server: &Server) {
    let mut store = Store::new(server);
    store.join(1);
    store.declare_clean(1);
    assert_eq!(store.state(1), "1", "not clean before it is dead");
    assert!(store.revoke(1));
    assert!(!store.revoke(1), "revoked once");
    assert_eq!(store.state(1), "2");
    store.declare_clean(1);
    assert_eq!(store.state(1), "3");
    assert!(!store.revoke(1));
    assert_eq!(store.state(1), "3");
    let epoch = store.sql("SELECT epoch FROM {}.meta")[0].parse().expect("an epoch");
    let renewal = store.conn.renew(ProxyId(1), epoch, &[1], 2, &[], 0);
    assert!(!store.runtime.block_on(renewal).expect("renew").renewed);
    assert_eq!(store.sql("SELECT CONCAT(state,' ',rvn) FROM {}.proxies"), ["3 1"]);
}

fn i5_a_renewal_between_look_and_revoke_saves_the_proxy(server: &Server) {
    let mut store = Store::new(server);
    let one = store.join(1);
    let renewal = store.conn.renew(ProxyId(1), one.epoch, &[1], 2, &[], 0);
    assert!(store.runtime.block_on(renewal).expect("renew").renewed);
    assert!(!store.revoke(1), "the version seen was 1");
    assert_eq!(store.state(1), "1");
}

fn i9_tokens_grow_whatever_is_proposed(server: &Server) {
    let mut store = Store::new(server);
    let one = store.join(1);
    let mut last = 0;
    // Below, at and above the last one; alone, beside another key, and handed over.
    for (id, proposed) in (1..).zip([50, 50, 51, 60, 10, 61, 62, 7]) {
        let changes = if id % 2 == 0 {
            vec![acquire("j", 100 + id, 1), acquire("k", id, proposed)]
        } else {
            vec![acquire("k", id, proposed)]
        };
        let result = store.run(&one, &changes, &[]);
        let row = result.rows.iter().find(|r| r.key == b"Lk").expect("the row").clone();
        let at_store = store.sql("SELECT tok FROM {}.locks WHERE k='Lk'").concat();
        assert_eq!(row.token.to_string(), at_store);
        assert!(row.token > last, "{} after {last}", row.token);
        last = row.token;
        let mut releases = vec![release("k", last)];
        if let Some(beside) = result.rows.iter().find(|r| r.key == b"Lj") {
            releases.insert(0, release("j", beside.token));
        }
        store.run(&one, &releases, &[]);
    }
    let held = store.take(&one, "k", 90).token;
    let mut over = hand_over("k", held, 91);
    over.acquire.as_mut().expect("a grant").token = 3;
    assert_eq!(store.run_one(&one, over).rows[0].token, held + 1);
}

fn i9_a_batch_on_a_base_that_has_moved_on_does_nothing(server: &Server) {
    let mut store = Store::new(server);
    let one = store.join(1);
    let token = store.take(&one, "held", 1).token;
    let next = one.base + 100;
    let moved = |store: &mut Store, old, new| {
        let moved = store.conn.move_base(one.epoch, old, new);
        store.runtime.block_on(moved).expect("move")
    };
    assert!(moved(&mut store, one.base, next));
    assert!(!moved(&mut store, one.base, next + 1), "moved by another proxy");
    for batch in [vec![acquire("k", 2, 5)], vec![acquire("k", 2, 5), hand_over("l", 3, 4)]] {
        let result = store.run(&one, &batch, &[]);
        assert_eq!((result.guarded, result.base), (false, Some(next)));
        assert_eq!(store.sql("SELECT COUNT(*) FROM {}.locks"), ["1"]);
    }
    // A release alone is bound to its token, whatever the base.
    store.run_one(&one, release("held", token));
    assert_eq!(store.holder("held"), "0");
    let writer = BatchWriter { base: next, ..one.clone() };
    let result = store.run(&writer, &[acquire("k", 2, next + 1), acquire("l", 3, next + 2)], &[]);
    assert!(result.guarded && result.rows.len() == 2);
}

fn i9_a_collected_row_comes_back_above_its_last_token(server: &Server) {
    let mut store = Store::new(server);
    let one = store.join(1);
    for n in 0..30 {
        let name = format!("{n:02}");
        let token = store.take(&one, &name, n).token;
        // Every third stays held.
        if n % 3 != 0 {
            store.run_one(&one, release(&name, token));
        }
    }
    store.sql("UPDATE {}.locks SET tok=5000 WHERE k='L01'");
    let mut collect = |base| {
        let page = store.conn.collect(base, None);
        let page = store.runtime.block_on(page).expect("collect").expect("a page");
        let next = store.conn.collect(base, Some(&page.to));
        assert!(store.runtime.block_on(next).expect("collect").is_none());
        page.rows
    };
    assert_eq!(collect(FLOOR), 0, "none is below");
    assert_eq!(collect(FLOOR + 1), 19, "free ones, but not one with a greater token");
    assert_eq!(collect(FLOOR + 1), 0);
    assert_eq!(store.sql("SELECT COUNT(*) FROM {}.locks WHERE holder<>0"), ["10"]);
}

fn i9_whoever_takes_the_row_of_an_owner_that_is_gone_begins_above_its_window(server: &Server) {
    let mut store = Store::new(server);
    let (one, two) = (store.join(1), store.join(2));
    let tokens = ["k", "l", "m"].map(|name| store.take(&one, name, 10).token);
    // Alone, and beside another key.
    let taken = store.run(&two, &[acquire("k", 20, FLOOR)], &[ProxyId(1)]).rows[0].clone();
    assert_eq!((taken.holder, taken.token), (2, tokens[0] + WINDOW + 1));
    let rows = store.run(&two, &[acquire("j", 21, FLOOR), acquire("l", 22, FLOOR)], &[ProxyId(1)]);
    let taken = rows.rows.iter().find(|row| row.key == b"Ll").expect("the row");
    assert_eq!((taken.holder, taken.token), (2, tokens[1] + WINDOW + 1));
    assert!(store.revoke(1));
    store.declare_clean(1);
    let swept = store.conn.sweep_clean();
    store.runtime.block_on(swept).expect("sweep");
    assert_eq!(store.holder("m"), "0");
    assert!(store.take(&two, "m", 23).token > tokens[2] + WINDOW);
}

fn i9_a_row_that_is_given_away_keeps_the_last_token_that_was_handed_out(server: &Server) {
    let mut store = Store::new(server);
    let one = store.join(1);
    for beside in [false, true] {
        let token = store.take(&one, "k", 10).token;
        let given = RowRelease { token, last: token + 50 };
        let change = LockChange { release: Some(given), ..release("k", token) };
        let other = RowRelease { token: token + 1, last: token + 60 };
        // Bound to the token that the row has.
        store.run_one(&one, LockChange { release: Some(other), ..change.clone() });
        assert_eq!(store.holder("k"), "1");
        let before = if beside { vec![acquire("j", 11, FLOOR)] } else { Vec::new() };
        store.run(&one, &[before, vec![change]].concat(), &[]);
        assert_eq!(store.holder("k"), "0");
        let at_store = store.sql("SELECT tok FROM {}.locks WHERE k='Lk'").concat();
        assert_eq!(at_store, (token + 50).to_string());
    }
    assert!(store.take(&one, "k", 12).token > FLOOR + 50);
}

fn a_question_to_an_owner_takes_nothing(server: &Server) {
    let mut store = Store::new(server);
    let (one, two) = (store.join(1), store.join(2));
    let token = store.take(&one, "k", 10).token;
    let ask = |id| acquire_as(Precedence::Ask, "k", id);
    let row = store.run_one(&two, ask(20)).rows[0].clone();
    assert_eq!((row.holder, row.token, row.want), (1, token, 2));
    assert!(row.asks());
    // The owner takes the question out, and marks the row as exact. No other proxy can.
    for (owner, want, grant) in [(&two, 2, 10), (&one, 0, EXACT + 10)] {
        store.run_one(owner, acquire_as(Precedence::Answer, "k", 30));
        let at_store =
            store.sql("SELECT CONCAT(holder,' ',tok,' ',want,' ',sess) FROM {}.locks WHERE k='Lk'");
        assert_eq!(at_store, [format!("1 {token} {want} {grant}")]);
    }
    store.run_one(&one, release("k", token));
    let row = store.run_one(&two, ask(21)).rows[0].clone();
    assert_eq!((row.holder, row.grant), (0, EXACT + 10));
    // Another attempt's row is not exact any more.
    assert!(!store.take(&one, "k", 31).is_exact());
}

fn a_row_shows_another_hold_only_if_it_is_as_its_owner_knows_it(server: &Server) {
    let mut store = Store::new(server);
    let (one, two) = (store.join(1), store.join(2));
    for beside in [false, true] {
        let name = format!("k{beside}");
        let token = store.take(&one, &name, 10).token;
        let show = |id, token: u64| {
            let mut change = hand_over(&name, token, id | SHOW);
            let grant = change.acquire.as_mut().expect("a grant");
            (grant.turn, grant.token) = (Precedence::Show(token), token + 5);
            if beside { vec![acquire("j", id + 900, FLOOR), change] } else { vec![change] }
        };
        let shown = |store: &mut Store, changes: &[LockChange]| {
            let result = store.run(&one, changes, &[ProxyId(3)]);
            let key = format!("L{name}").into_bytes();
            let row = result.rows.into_iter().find(|row| row.key == key).expect("a row");
            (row.holder, row.token)
        };
        assert_eq!(shown(&mut store, &show(20, token)), (1, token + 5));
        // Released, and then taken and released by another proxy.
        store.run_one(&one, release(&name, token + 5));
        let theirs = store.take(&two, &name, 30).token;
        assert_eq!(shown(&mut store, &show(21, token + 5)), (2, theirs));
        store.run_one(&two, release(&name, theirs));
        assert_eq!(shown(&mut store, &show(22, token + 5)), (0, theirs));
        store.sql("DELETE FROM {}.locks WHERE k='Lj'");
    }
}

fn i13_a_renewal_counts_for_its_own_epoch_and_version(server: &Server) {
    let mut store = Store::new(server);
    let BatchWriter { epoch, .. } = store.join(1);
    let mut renew = |epoch, old: &[u64], new| {
        let renewal = store.conn.renew(ProxyId(1), epoch, old, new, &[7], 0);
        store.runtime.block_on(renewal).expect("renew").renewed
    };
    assert!(!renew(epoch + 1, &[1], 2), "another epoch");
    assert!(!renew(epoch, &[5, 6], 2), "a version that is not the row's: another process renewed");
    assert!(renew(epoch, &[5, 1], 2));
    assert!(renew(epoch, &[2], 3));
    assert_eq!(store.sql("SELECT conns FROM {}.proxies"), ["7"]);
}

/// A copy of the tables has the row, and must not take renewals for the server that is meant.
fn i14_nobody_renews_or_registers_in_another_epoch_or_on_another_server(server: &Server) {
    let mut store = Store::new(server);
    let BatchWriter { epoch, .. } = store.join(1);
    let row = |id| ProxyRow {
        id: ProxyId(id),
        state: ProxyState::Live,
        rvn: 1,
        epoch,
        ttl_ms: 9000,
        addr: "here".to_owned(),
        server_start: 0,
        conns: vec![],
        native: false,
        tables: 3,
        keeps: 0,
    };
    for (id, there) in [(2, "epoch=epoch+1"), (3, "epoch=epoch-2"), (4, "epoch=epoch+1, ident='x'")]
    {
        store.sql(&format!("UPDATE {{}}.meta SET {there}"));
        let renewal = store.conn.renew(ProxyId(1), epoch, &[1], 2, &[], 0);
        assert!(!store.runtime.block_on(renewal).expect("renew").renewed, "{there}");
        let row = row(id);
        let registered = store.conn.register(&row, epoch);
        store.runtime.block_on(registered).expect_err("another epoch or server");
    }
    assert_eq!(store.sql("SELECT CONCAT(id,' ',rvn) FROM {}.proxies"), ["1 1"]);
    assert_eq!(store.sql("SELECT ttl_ms FROM {}.meta"), ["1000"]);
}

/// Tables that have changed since they were read are not adopted.
fn i14_an_epoch_is_opened_only_on_tables_that_have_not_changed(server: &Server) {
    let mut store = Store::new(server);
    store.join(1);
    store.sql("UPDATE {}.meta SET ident='another'");
    let from = store.runtime.block_on(store.conn.standing()).expect("a standing");
    let epoch = from.meta.epoch + 7;
    let open = |store: &mut Store| {
        let opening = Opening { from: &from, epoch, who: "me" };
        store.runtime.block_on(store.conn.open_epoch(opening)).expect("an answer")
    };
    for (change, back) in [
        ("proxies SET rvn=2", "proxies SET rvn=1"),
        ("proxies SET state=2", "proxies SET state=1"),
        ("meta SET epoch=epoch+1", "meta SET epoch=epoch-1"),
        ("meta SET base=base+1", "meta SET base=base-1"),
        ("meta SET ident='a third'", "meta SET ident='another'"),
    ] {
        store.sql(&format!("UPDATE {{}}.{change}"));
        assert!(!open(&mut store), "{change}");
        assert_eq!(store.sql("SELECT COUNT(*) FROM {}.adoptions"), ["0"], "{change}");
        store.sql(&format!("UPDATE {{}}.{back}"));
    }
    assert_eq!(store.state(1), "1");
    assert!(open(&mut store));
    assert!(!open(&mut store), "done by another process");
    assert_eq!(store.state(1), "2");
    let meta = store.runtime.block_on(store.conn.read_meta()).expect("meta");
    assert!(meta.here && meta.epoch == epoch && meta.base == epoch << 31);
}

fn i14_nothing_is_written_in_another_epoch_or_on_another_server(server: &Server) {
    let mut store = Store::new(server);
    let one = store.join(1);
    let wrong = BatchWriter { epoch: one.epoch + 1, ..one.clone() };
    let batch = [acquire("a", 10, FLOOR), acquire("b", 11, FLOOR)];
    for changes in [&batch[..], &batch[..1]] {
        assert!(!store.run(&wrong, changes, &[]).guarded);
    }
    let mut root = server.root();
    let schema = store.url.schema.clone();
    for change in [
        "UPDATE {}.meta SET epoch=epoch+1",
        "UPDATE {}.meta SET epoch=epoch-1, ident=CONCAT('x',ident)",
    ] {
        root.run(&change.replace("{}", &schema));
        for changes in [&batch[..], &batch[..1]] {
            assert!(!store.run(&one, changes, &[]).guarded, "{change}");
        }
    }
    assert_eq!(store.sql("SELECT COUNT(*) FROM {}.locks"), ["0"]);
    let meta = store.runtime.block_on(store.conn.read_meta()).expect("meta");
    assert!(!meta.here);
}

/// Won, lost, released, missing and handed over, mixed in batches of all sizes: what is reported
/// is what the rows say.
fn a_batch_of_any_size_reports_the_outcome_for_each_key(server: &Server) {
    let mut store = Store::new(server);
    let (one, two) = (store.join(1), store.join(2));
    let mut id = 100;
    for size in (1..20).chain([31, 32, 33, 47, 48, 49, 96, 255, 256]) {
        for round in 0..3 {
            let mut changes = Vec::new();
            for n in 0..size {
                let name = format!("{n:03}");
                id += 1;
                // Every seventh is held by the other proxy, in the last round only.
                let rivalled = round == 2 && n % 7 == 3;
                if rivalled {
                    let result = store.run_one(&two, acquire(&name, id, FLOOR));
                    assert_eq!(result.rows[0].holder, 2);
                    id += 1;
                }
                changes.push(acquire(&name, id, FLOOR + id));
            }
            let result = store.run(&one, &changes, &[]);
            assert!(result.guarded);
            let rows = agree(&store, &result, &changes);
            let won: Vec<&LockRow> = rows.iter().filter(|r| r.holder == 1).collect();
            let lost = if round == 2 { (0..size).filter(|n| n % 7 == 3).count() } else { 0 };
            assert_eq!(won.len(), size - lost, "size {size}, round {round}");
            // Back again: half of them by a hand-over first.
            let mut changes: Vec<LockChange> = won
                .iter()
                .enumerate()
                .map(|(n, row)| LockChange {
                    key: key(std::str::from_utf8(&row.key[1..]).expect("ascii")),
                    release: Some(RowRelease::of(row.token)),
                    acquire: (n % 2 == 1)
                        .then(|| acquire("x", 100_000 + id + n as u64, FLOOR + id).acquire)
                        .flatten(),
                    withdraw: false,
                })
                .collect();
            let result = store.run(&one, &changes, &[]);
            if changes.len() > 1 {
                let rows = agree(&store, &result, &changes);
                changes.retain(|c| c.acquire.is_some());
                for change in &mut changes {
                    let row = rows.iter().find(|r| r.key == change.key.as_bytes()).expect("a row");
                    assert_eq!(row.holder, 1);
                    (change.release, change.acquire) = (Some(RowRelease::of(row.token)), None);
                }
                if !changes.is_empty() {
                    store.run(&one, &changes, &[]);
                }
            }
            for row in rows.iter().filter(|r| r.holder == 2) {
                let name = std::str::from_utf8(&row.key[1..]).expect("ascii").to_owned();
                store.run_one(&two, release(&name, row.token));
            }
            assert_eq!(store.sql("SELECT COUNT(*) FROM {}.locks WHERE holder<>0"), ["0"]);
        }
    }
}

/// The rows of a result, which must be those of the table.
pub(crate) fn agree(store: &Store, result: &BatchResult, changes: &[LockChange]) -> Vec<LockRow> {
    let mut there = store.sql("SELECT CONCAT_WS(' ',HEX(k),tok,holder) FROM {}.locks ORDER BY k");
    there.retain(|row| changes.iter().any(|c| row.starts_with(&hex(&c.key))));
    let mut rows = result.rows.clone();
    rows.sort_by(|a, b| a.key.cmp(&b.key));
    let told: Vec<String> = rows
        .iter()
        .map(|r| {
            let key = hex::encode_upper(&r.key);
            format!("{key} {} {}", r.token, r.holder)
        })
        .collect();
    assert_eq!(told, there);
    rows
}

fn a_name_of_any_bytes_arrives_as_it_is(server: &Server) {
    let mut store = Store::new(server);
    let one = store.join(1);
    let bytes: Vec<u8> = (0..=255).collect();
    let owner: Vec<u8> = bytes.iter().chain(&bytes).copied().take(400).collect();
    let names: Vec<&[u8]> = vec![&bytes[1..190], &bytes[100..255], b"?", b"'\\\"", b"\xff\xfe?"];
    let mut changes: Vec<LockChange> = (1..)
        .zip(&names)
        .map(|(id, name)| {
            let mut change = acquire("x", id, FLOOR);
            change.key = plain(name, Flavour::MariaDb).expect("valid").key;
            let grant = change.acquire.as_mut().expect("a grant");
            (grant.name, grant.owner) = ((*name).into(), owner.as_slice().into());
            change
        })
        .collect();
    changes.sort_by(|a, b| a.key.cmp(&b.key));
    let check = |store: &Store, changes: &[LockChange]| {
        let there = store.sql("SELECT CONCAT_WS(' ',HEX(k),HEX(name)) FROM {}.locks ORDER BY k");
        let wanted: Vec<String> = changes
            .iter()
            .map(|c| {
                let name = &c.acquire.as_ref().expect("a grant").name;
                format!("{} {}", hex(&c.key), hex::encode_upper(name))
            })
            .collect();
        assert_eq!(there, wanted);
    };
    // A batch with short names first: they must not decide how long others may be.
    let short = ["a", "b", "c", "d", "e"].map(|name| acquire(name, 1, FLOOR));
    store.run(&one, &short, &[]);
    store.sql("DELETE FROM {}.locks");
    store.run(&one, &changes, &[]);
    check(&store, &changes);
    let owners = store.sql("SELECT DISTINCT HEX(owner) FROM {}.locks");
    assert_eq!(owners, [hex::encode_upper(&owner)]);
    store.sql("DELETE FROM {}.locks");
    for change in &changes {
        store.run_one(&one, change.clone());
    }
    check(&store, &changes);
}

/// Applications may have used up what the server keeps of prepared statements.
fn a_batch_does_without_prepared_statements(server: &Server) {
    let own = OwnServer::start(flavour_of(server), &["--max-prepared-stmt-count=0"]);
    let mut store = Store::new(&own.server);
    let one = store.join(1);
    let token = store.take(&one, "a'?", 1).token;
    let batch = [hand_over("a'?", token, 2), acquire("b", 3, FLOOR), acquire("c", 4, FLOOR)];
    let result = store.run(&one, &batch, &[]);
    let rows = agree(&store, &result, &batch);
    assert!(rows.iter().all(|r| r.holder == 1), "{rows:?}");
    store.run_one(&one, release("b", rows[1].token));
    assert_eq!(store.holder("b"), "0");
}
