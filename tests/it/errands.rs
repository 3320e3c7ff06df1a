//! Sessions whose server has fallen silent: whatever they wait for there, each hears at once that it is to end.

use std::process::Output;
use std::sync::Arc;

use crate::admin::Folder;
use crate::launch::{Launched, run};
use crate::link::Link;
use crate::own_server::{OwnServer, SharedServers, flavour_of};
use crate::pooling::ground::options;
use crate::proxy::fresh_schema;
use crate::script::Server;
use crate::session::{Session, account};
use crate::stage::{eventually, on_both};
use crate::wire::{Account, End, Execute, Shape, command};

mod black_hole;

on_both! {
    a_session_that_is_killed_hears_it_whatever_it_waits_for
    a_session_that_shares_its_connections_hears_it_too
    a_proxy_stops_whatever_its_sessions_wait_for
}

/// Sessions that wait together.
const TOGETHER: u16 = 2;

/// COM_PING.
const SIGN_OF_LIFE: &[u8] = &[1, 0, 0, 0, 14];

/// What a session waits for.
struct Errand {
    /// As the metric has it.
    name: &'static str,
    /// Has sessions wait for it, at a way to the server that falls silent when they do.
    begin: fn(&Stage) -> Vec<Session>,
}

const OF_ALL: [Errand; 5] = [
    Errand { name: "statement", begin: in_a_statement },
    Errand { name: "question", begin: in_a_question },
    Errand { name: "fence", begin: in_a_fence },
    Errand { name: "settle", begin: in_a_wait },
    Errand { name: "change_user", begin: in_a_change_of_user },
];

const OF_SHARED: [Errand; 4] = [
    Errand { name: "hand_over", begin: on_a_way_to_a_connection },
    Errand { name: "give_back", begin: on_a_way_from_a_connection },
    Errand { name: "prepare", begin: before_an_execution },
    Errand { name: "login", begin: after_a_login },
];

/// A proxy whose sessions' way to the server can fall silent; its lock tables stay where they are.
struct Stage {
    _own: Arc<OwnServer>,
    server: Server,
    way: Link,
    proxy: Launched,
    folder: Folder,
    schema: String,
    account: Account,
    /// The proxy's sessions share their connections.
    shares: bool,
    /// Sessions that wait together.
    together: u16,
}

impl Stage {
    /// Before a server of this family that suits sessions that share connections, too.
    fn start(server: &Server, settings: &[&str]) -> Self {
        static RUNNING: SharedServers = SharedServers::none();
        let flavour = flavour_of(server);
        let own = RUNNING.get(flavour, options(flavour));
        let way = Link::to(own.server.port);
        Self::at(own, way, TOGETHER, settings)
    }

    /// Before this server, on this way to it, for so many sessions that wait together.
    fn at(own: Arc<OwnServer>, way: Link, together: u16, settings: &[&str]) -> Self {
        let server = own.server.clone();
        let (folder, schema) = (Folder::new(), fresh_schema());
        let store = format!("mysql://root:rootpw@127.0.0.1:{}/{schema}", server.port);
        let admin = format!("unix:{}", folder.socket().display());
        let size = (together + 1).to_string();
        let fixed = ["--create-schema", "--admin", &admin];
        let shares = settings.contains(&"transaction");
        let pool: &[&str] = if shares { &["--pool-size", &size] } else { &[] };
        let all = [&fixed, pool, settings].concat();
        let proxy = Launched::start_with_pages(&way.at().to_string(), &store, &all);
        let account = stage_account(&server);
        let stage =
            Self { _own: own, server, way, proxy, folder, schema, account, shares, together };
        if stage.shares {
            stage.teach(&stage.account);
        }
        stage
    }

    /// Has the proxy know an account, whose logins teach it.
    fn teach(&self, account: &Account) {
        eventually("the proxy knows the account", || {
            Session::of(self.proxy.port, account).run("DO 0");
            let page = self.proxy.page("/metrics");
            let mut pins = page.lines().filter(|l| l.starts_with("lockstead_pinned_sessions{"));
            pins.all(|line| line.ends_with(" 0")).then_some(())
        });
    }

    /// How many there are, where they are shared.
    fn connections(&self) -> u16 {
        self.together + 1
    }

    fn sessions(&self) -> Vec<Session> {
        (0..self.together).map(|_| Session::of(self.proxy.port, &self.account)).collect()
    }

    /// So many that keep their connections, also where these are shared.
    fn inside(&self, count: u16) -> Vec<Session> {
        let begin = |_| {
            let mut session = Session::of(self.proxy.port, &self.account);
            session.run("BEGIN");
            session
        };
        (0..count).map(begin).collect()
    }

    /// The way falls silent when these bytes are on it. The sessions say what has them sent, and wait.
    fn silent_at(&self, bytes: &[u8], sessions: &mut [Session], say: impl Fn(&mut Session)) {
        self.way.stall_at(bytes);
        for session in &mut *sessions {
            say(session);
        }
        self.until_silent(self.together);
    }

    /// Waits until so many have sent it. Of sessions that share connections, the others may still want one: in vain.
    fn until_silent(&self, count: u16) {
        let count = if self.shares { 1 } else { usize::from(count) };
        eventually("they wait", || (self.way.stalled() >= count).then_some(()));
    }

    fn kill(&self, id: u64) {
        let killed = self.try_kill(id);
        assert!(killed.status.success(), "{killed:?}");
    }

    fn try_kill(&self, id: u64) -> Output {
        let admin = format!("--admin=unix:{}", self.folder.socket().display());
        run(&["kill", &id.to_string(), &admin])
    }

    fn cut(&self, errand: &str) -> f64 {
        self.proxy.metric(&format!("lockstead_errands_cut_total{{errand=\"{errand}\"}}"))
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.way.heal();
        if !std::thread::panicking() {
            let mut root = self.server.root();
            root.run(&format!("DROP USER {}", self.account.user));
        }
    }
}

/// A new account without a password: each of its logins teaches the proxy.
fn stage_account(server: &Server) -> Account {
    let user = fresh_schema().replace("lockstead_t", "e");
    let mut root = server.root();
    root.run(&format!("CREATE USER {user}@'%' IDENTIFIED BY ''"));
    root.run(&format!("GRANT ALL ON *.* TO {user}@'%'"));
    Account { user, password: String::new(), ..account() }
}

/// The server evaluates an argument.
fn in_a_statement(stage: &Stage) -> Vec<Session> {
    let mut sessions = stage.inside(stage.together);
    stage.silent_at(b"REVERSE('eno')", &mut sessions, |session| {
        session.send("SELECT GET_LOCK(REVERSE('eno'), 0)");
    });
    sessions
}

/// The proxy asks for a setting.
fn in_a_question(stage: &Stage) -> Vec<Session> {
    let mut sessions = stage.inside(stage.together);
    for session in &mut sessions {
        session.run("SET sql_select_limit=DEFAULT");
    }
    stage.silent_at(b"@@sql_select_limit", &mut sessions, |session| {
        session.send("SELECT GET_LOCK('k', 0)");
    });
    sessions
}

/// A COMMIT under a lock is checked.
fn in_a_fence(stage: &Stage) -> Vec<Session> {
    let mut sessions = stage.inside(stage.together);
    let table = format!("{}.counter", stage.schema);
    stage.server.root().run(&format!("CREATE TABLE IF NOT EXISTS {table} (n INT)"));
    for (n, session) in sessions.iter_mut().enumerate() {
        session.lock(&format!("fenced {n}"));
        session.run(&format!("INSERT INTO {table} VALUES (1)"));
    }
    stage.silent_at(b"`.locks WHERE k IN", &mut sessions, |session| session.send("COMMIT"));
    sessions
}

/// The server was sent something in a wait, which has ended.
fn in_a_wait(stage: &Stage) -> Vec<Session> {
    let mut sessions = stage.inside(stage.connections());
    let mut holder = sessions.pop().expect("one more");
    for (n, session) in sessions.iter_mut().enumerate() {
        holder.lock(&format!("awaited {n}"));
        // Before the second call is looked at, the server is to have answered all.
        session.send(&format!("SELECT GET_LOCK('awaited {n}', 600), GET_LOCK(REVERSE('owt'), 0)"));
    }
    if stage.shares {
        stage.way.stall_at(SIGN_OF_LIFE);
        stage.until_silent(stage.together);
    } else {
        let shown = || stage.proxy.metric("lockstead_gates") > f64::from(stage.together) - 0.5;
        eventually("the server sees them wait", || shown().then_some(()));
        stage.way.stall();
    }
    // The lock tables say who has a lock, not that server.
    stage.kill(holder.id());
    eventually("their waits for the lock are over", || {
        (stage.proxy.metric("lockstead_locks_waiting") < 0.5).then_some(())
    });
    sessions
}

fn in_a_change_of_user(stage: &Stage) -> Vec<Session> {
    let mut sessions = stage.inside(stage.together);
    let said = [&[command::CHANGE_USER][..], stage.account.user.as_bytes()].concat();
    stage.silent_at(&said, &mut sessions, |session| {
        session.client.send_change_user(&stage.account);
    });
    sessions
}

/// A session without a connection gets one, and its state on it.
fn on_a_way_to_a_connection(stage: &Stage) -> Vec<Session> {
    let mut sessions = stage.sessions();
    for session in &mut sessions {
        session.run("SET @state = 'handed'");
    }
    give_away(stage);
    // 'handed'
    stage.silent_at(b"68616E646564", &mut sessions, |session| session.send("SELECT 7"));
    sessions
}

/// A session that gives its connection away is asked for what the server does not report.
fn on_a_way_from_a_connection(stage: &Stage) -> Vec<Session> {
    let mut sessions = stage.sessions();
    for session in &mut sessions {
        session.run("SET @asked = 1");
    }
    stage.way.stall_at(b"LENGTH(@`asked`)");
    let mut others = Vec::new();
    for _ in 0..stage.connections() {
        let mut other = Session::of(stage.proxy.port, &stage.account);
        other.send("BEGIN");
        others.push(other);
    }
    stage.until_silent(stage.together);
    sessions.extend(others);
    sessions
}

/// A statement that was prepared on another connection is prepared again.
fn before_an_execution(stage: &Stage) -> Vec<Session> {
    let mut sessions = stage.sessions();
    let prepare = |session: &mut Session| {
        let response = session.client.prepare(b"SELECT 'prepared again'");
        let id =
            response.packets.first().and_then(|packet| packet.payload.get(1..5)).expect("an id");
        u32::from_le_bytes(id.try_into().expect("four bytes"))
    };
    let ids: Vec<u32> = sessions.iter_mut().map(prepare).collect();
    give_away(stage);
    for session in &mut sessions {
        session.run("BEGIN");
    }
    stage.way.stall_at(b"'prepared again'");
    for (session, id) in sessions.iter_mut().zip(ids) {
        session.client.send_execute(id, &Execute::default());
    }
    stage.until_silent(stage.together);
    sessions
}

/// Others take all connections, and leave.
fn give_away(stage: &Stage) {
    let mut others = stage.inside(stage.connections());
    for other in &mut others {
        other.run("SET @state = 'strange'");
    }
    for other in &mut others {
        other.run("COMMIT");
    }
}

/// What the first login of an account has given is read.
fn after_a_login(stage: &Stage) -> Vec<Session> {
    let account = stage_account(&stage.server);
    stage.way.stall_at(b"CURRENT_ROLE()");
    let session = Session::of(stage.proxy.port, &account);
    stage.until_silent(1);
    stage.server.root().run(&format!("DROP USER {}", account.user));
    vec![session]
}

/// The proxy ends a session, perhaps with answers that it had before, and last words.
fn until_closed(session: &mut Session, errand: &str) {
    loop {
        match session.client.read_response(Shape::Query).end {
            End::Complete => {}
            End::Closed => return,
            end => panic!("{errand}: {end:?}"),
        }
    }
}

/// Sessions in this errand are killed one by one, and each hears it.
fn kill_in(stage: &Stage, errand: &Errand) {
    let mut sessions = (errand.begin)(stage);
    for session in &mut sessions {
        stage.kill(session.id());
        until_closed(session, errand.name);
    }
    assert!(stage.cut(errand.name) > 0.5, "{}: {}", errand.name, stage.proxy.log());
    stage.way.heal();
}

fn a_session_that_is_killed_hears_it_whatever_it_waits_for(server: &Server) {
    let stage = Stage::start(server, &["--mode", "durable"]);
    for errand in &OF_ALL {
        kill_in(&stage, errand);
    }
}

fn a_session_that_shares_its_connections_hears_it_too(server: &Server) {
    let settings = ["--mode", "durable", "--pooling", "transaction"];
    let all: Vec<&Errand> = OF_ALL.iter().chain(&OF_SHARED).collect();
    let stage = Stage::start(server, &settings);
    for errand in &all {
        kill_in(&stage, errand);
    }
    let page = stage.proxy.page("/metrics");
    let known = page.lines().filter(|line| line.starts_with("lockstead_errands_cut_total{"));
    assert_eq!(known.count(), all.len(), "an errand is not tried here: {page}");
}

fn a_proxy_stops_whatever_its_sessions_wait_for(server: &Server) {
    for errand in &OF_ALL[..2] {
        let mut stage = Stage::start(server, &["--mode", "durable", "--drain-timeout", "1s"]);
        let mut sessions = (errand.begin)(&stage);
        stage.proxy.signal("TERM");
        for session in &mut sessions {
            until_closed(session, errand.name);
        }
        assert!(stage.proxy.wait().is_some(), "{}: it was killed", errand.name);
    }
}
