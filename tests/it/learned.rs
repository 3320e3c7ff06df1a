//! What the proxy learns of accounts while the server judges their clients, and what it opens with that.

use std::net::{Ipv4Addr, TcpListener};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use lockstead::backend::encrypt::encrypt;
use lockstead::backend::given::SecretSource;
use lockstead::backend::greeted::{Greeted, connect};
use lockstead::backend::learned::LearnedSecrets;
use lockstead::backend::login_as::{NotOpened, OpenAs, login_as};
use lockstead::backend::proven::Proven;
use lockstead::config::tls::{BackendMode, BackendTls, ClientCertificate, ClientTls, Offer};
use lockstead::config::{HostPort, ServerAddress};
use lockstead::frontend::login::auth_exchange::{Broken, Exchange, Learning, Side, Verdict};
use lockstead::net::certificates::{Acceptor, Behalf, Connector, LegTls};
use lockstead::net::leg::Leg;
use lockstead::net::socket::Socket;
use lockstead::protocol::account_login::AccountLogin;
use lockstead::protocol::auth::Method;
use lockstead::protocol::capabilities::Capabilities;
use lockstead::protocol::frame::put_frame;
use lockstead::protocol::handshake::{Login, tagged_attributes};
use lockstead::protocol::recover::Scheme;
use lockstead::servers::writer::Writer;
use lockstead::types::LearnPasswords;
use prometheus::IntCounter;
use tokio::runtime::Runtime;
use tokio::time::Instant;

use crate::link::Link;
use crate::own_server::flavour_of;
use crate::proxy::fresh_schema;
use crate::script::{Flavour, Server};
use crate::stage::{Database, PATIENCE, on_both, own_address};
use crate::wire::{Account, Client};

on_both! {
    a_fast_login_over_tls_teaches_the_password
    a_login_without_tls_teaches_the_password_under_a_key
    the_server_s_verifier_and_one_login_open_an_account
    a_password_opens_whatever_plugin_the_server_greets_with
    wrong_passwords_are_refused_as_directly
    without_learning_nothing_is_learned
    refusals_of_the_server_come_whole
    failed_connections_count_against_no_host
}

const PASSWORD: &str = "a-secret-to-be-learned";
const LONGEST_LOGIN: usize = 80 * 1024;

/// An account for one test; dropped with it.
struct User {
    name: String,
    server: Server,
}

impl User {
    fn create(server: &Server) -> Self {
        let name = fresh_schema().replace("lockstead_t", "l");
        let user = Self { name, server: server.clone() };
        user.run("CREATE", PASSWORD);
        user
    }

    /// The server forgets what it knows by heart of the account.
    fn change_password(&self, password: &str) {
        self.run("ALTER", password);
    }

    fn run(&self, what: &str, password: &str) {
        let how = match flavour_of(&self.server) {
            Flavour::MySql => format!("IDENTIFIED WITH caching_sha2_password BY '{password}'"),
            Flavour::MariaDb => {
                format!("IDENTIFIED VIA mysql_native_password USING PASSWORD('{password}')")
            }
        };
        self.server.root().run(&format!("{what} USER {} {how}", self.name));
    }

    fn account(&self, tls: bool, password: &str) -> Account {
        let mut account = Account::new(&self.name, password);
        account.wrap.tls = tls;
        account
    }
}

impl Drop for User {
    fn drop(&mut self) {
        self.server.root().run(&format!("DROP USER {}", self.name));
    }
}

fn secrets(policy: LearnPasswords) -> Arc<LearnedSecrets> {
    let counter = IntCounter::new("unlocked", "of a test").expect("a counter");
    Arc::new(LearnedSecrets::new(policy, counter.clone(), counter).expect("a key"))
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime")
}

fn connector() -> Connector {
    let tls = BackendTls { mode: BackendMode::Required, ca: None, pairs: Vec::new(), local: false };
    Connector::load(&tls, ["localhost"]).expect("no files")
}

async fn greeted(server: &Server) -> Greeted {
    let backend = HostPort { host: server.host.clone(), port: server.port };
    let writer = Writer::among(vec![ServerAddress { store: backend.clone(), backend }]);
    connect(&writer.now().expect("the only one"), PATIENCE, None).await.expect("a greeting")
}

/// What came of a login through a [`Relay`].
#[derive(Debug, PartialEq, Eq)]
struct Report {
    accepted: bool,
    /// By what was known before it.
    recognised: bool,
    /// Connections can be opened by what it has taught.
    learned: bool,
}

/// Passes logins on and learns from them, as a proxy does; that is all it does.
struct Relay {
    port: u16,
    reports: Receiver<Report>,
}

impl Relay {
    fn start(server: &Server, server_tls: bool, secrets: &Arc<LearnedSecrets>) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        listener.set_nonblocking(true).expect("a socket");
        let port = listener.local_addr().expect("bound").port();
        let (report, reports) = channel();
        let (server, secrets) = (server.clone(), Arc::clone(secrets));
        std::thread::spawn(move || {
            runtime().block_on(serve(listener, &server, server_tls, &secrets, &report));
        });
        Self { port, reports }
    }

    fn log_in(&self, account: &Account) -> (Client, Report) {
        let client = Client::connect("127.0.0.1", self.port, account).expect("a connection");
        let report = self.reports.recv_timeout(PATIENCE).expect("a report");
        assert_eq!(client.login.succeeded(), report.accepted, "{report:?}");
        (client, report)
    }
}

async fn serve(
    listener: TcpListener,
    server: &Server,
    server_tls: bool,
    secrets: &LearnedSecrets,
    reports: &Sender<Report>,
) {
    let listener = tokio::net::TcpListener::from_std(listener).expect("a socket");
    let tls = ClientTls {
        offer: Offer::Prefer,
        pair: None,
        only_13: false,
        ca: None,
        asked: ClientCertificate::Off,
    };
    let acceptor = Acceptor::load(&tls, None).expect("a certificate");
    loop {
        let (stream, _) = listener.accept().await.expect("a client");
        let mut client = Leg::new(Socket::Tcp(stream));
        let greeted = greeted(server).await;
        let report = pass(&mut client, greeted, server_tls, &acceptor, secrets).await;
        // The test that asked may be over.
        let _ = reports.send(report);
    }
}

async fn pass(
    client: &mut Leg,
    greeted: Greeted,
    server_tls: bool,
    acceptor: &Acceptor,
    secrets: &LearnedSecrets,
) -> Report {
    let Greeted { stream, mut frame, greeting, .. } = greeted;
    let offered = greeting.capabilities;
    let offered = offered.without(Capabilities::HOPS).with(Capabilities::SSL);
    greeting.offer(&mut frame[4..], offered).expect("the greeting that it was parsed from");
    client.send_all(&frame).await.expect("a client");
    let mut frame = client.read_frame(LONGEST_LOGIN).await.expect("a login");
    if Login::asks_for_tls(&frame[4..]) {
        client.encrypt(acceptor.start_tls().expect("TLS")).await.expect("a handshake");
        frame = client.read_frame(LONGEST_LOGIN).await.expect("a login");
    }
    let login = Login::parse(&frame[4..]).expect("a login");
    let known = secrets.recognise(login.user, login.plugin, &greeting.nonce, login.proof);
    let mut server = Leg::new(stream);
    let hops = if server_tls { Capabilities::SSL } else { Capabilities(0) };
    let packet = |proof: Option<&[u8]>| login.for_server(offered, hops, proof, None);
    if server_tls {
        let login = packet(None);
        let behalf = client.tls().map_or(Behalf::Nobody, Behalf::Client);
        let encrypted =
            encrypt(&connector(), &mut server, behalf, (&greeting, "localhost"), &login).await;
        encrypted.expect("TLS with the server");
    }
    let mut exchange = Exchange::new(
        Side { leg: client, next: frame[3].wrapping_add(1) },
        Side { leg: &mut server, next: 1 + u8::from(server_tls) },
        None,
        Instant::now() + PATIENCE,
        Method { plugin: greeting.plugin.clone(), nonce: greeting.nonce.clone() },
    )
    .teaching(Learning { secrets, user: login.user });
    let Ok(proof) = exchange.first(login.plugin, login.proof).await else {
        panic!("the client's first packet is refused");
    };
    let verdict = exchange.run(&packet(proof.as_deref())).await;
    let proven = exchange.proven();
    let learned = match (&verdict, &proven) {
        (Ok(Verdict::Accepted(_)), Some(proven)) => secrets.learn(login.user, proven),
        (_, proven) => {
            assert!(proven.is_none() || secrets.policy() == LearnPasswords::Off);
            false
        }
    };
    match verdict {
        Ok(Verdict::Accepted(ok)) => {
            client.send_all(&ok).await.expect("a client");
            server.send_all(&[1, 0, 0, 0, 1]).await.expect("a server");
            Report { accepted: true, recognised: known.is_some(), learned }
        }
        Ok(Verdict::Denied) => Report { accepted: false, recognised: known.is_some(), learned },
        Err(Broken::Io(e)) => panic!("the login broke off: {e}"),
        Err(Broken::Refused(e)) => panic!("{e:?}"),
    }
}

fn known(secrets: &LearnedSecrets, user: &User) -> Option<String> {
    let password = secrets.clear_for(user.name.as_bytes())?;
    Some(String::from_utf8_lossy(&password).into_owned())
}

/// How a connection is opened.
#[derive(Clone, Copy)]
struct How<'a> {
    tls: bool,
    /// By what plugin the server seems to greet.
    greets: Option<&'a [u8]>,
    schema: Option<&'a str>,
}

const PLAIN: How<'_> = How { tls: false, greets: None, schema: None };
const WITH_TLS: How<'_> = How { tls: true, ..PLAIN };

/// Opens a connection with what is known, and asks who it is.
fn open(user: &User, secrets: &LearnedSecrets, how: How<'_>) -> Result<String, NotOpened> {
    runtime().block_on(async {
        let connector = connector();
        let mut greeted = greeted(&user.server).await;
        if let Some(plugin) = how.greets {
            greeted.greeting.plugin = plugin.to_vec();
        }
        let attributes = tagged_attributes(b"", b"42");
        let wanted = OpenAs {
            login: AccountLogin {
                user: user.name.as_bytes(),
                capabilities: Capabilities::MYSQL.with(Capabilities::PROTOCOL_41),
                collation: 8,
                schema: how.schema.map(str::as_bytes),
                attributes: &attributes,
            },
            secrets,
            source: secrets.source(user.name.as_bytes()).unwrap_or(SecretSource::Proved(0)),
            tls: how.tls.then_some((&connector, &LegTls::Nameless)),
            limit: Duration::from_secs(20),
        };
        let mut opened = login_as(greeted, &wanted).await?;
        assert_eq!(opened.ok.first(), Some(&0));
        assert_eq!(opened.leg.tls().is_some(), how.tls);
        let mut question = Vec::new();
        let sql = b"\x03SELECT CONCAT_WS(' ', CURRENT_USER(), DATABASE(), @@character_set_client)";
        put_frame(&mut question, 0, sql);
        opened.leg.send_all(&question).await?;
        let mut row = Vec::new();
        // A count, a column and its end, the row and its end.
        for n in 0..5 {
            let frame = opened.leg.read_frame(LONGEST_LOGIN).await?;
            assert_ne!(frame.get(4), Some(&0xff), "{}", String::from_utf8_lossy(&frame));
            if n == 3 {
                row = frame[5..].to_vec();
            }
        }
        opened.leg.send_all(&[1, 0, 0, 0, 1]).await?;
        Ok(String::from_utf8_lossy(&row).into_owned())
    })
}

fn assert_opens(user: &User, secrets: &LearnedSecrets, how: How<'_>, case: &str) {
    let who = open(user, secrets, how).unwrap_or_else(|e| panic!("{case}: {e}"));
    let schema = how.schema.map(|schema| format!("{schema} ")).unwrap_or_default();
    assert_eq!(who, format!("{}@% {schema}latin1", user.name), "{case}");
}

/// Whether the client was told this while it logged in.
fn was_told(client: &Client, packet: &[u8]) -> bool {
    client.login.packets.iter().any(|p| p.payload == packet)
}

fn a_fast_login_over_tls_teaches_the_password(server: &Server) {
    if flavour_of(server) == Flavour::MariaDb {
        return;
    }
    for server_tls in [false, true] {
        let case = format!("TLS with the server: {server_tls}");
        let (user, secrets) = (User::create(server), secrets(LearnPasswords::Clear));
        server.warm_up(&user.name, PASSWORD);
        let relay = Relay::start(server, server_tls, &secrets);
        let (client, report) = relay.log_in(&user.account(true, PASSWORD));
        assert_eq!(report, Report { accepted: true, recognised: false, learned: true }, "{case}");
        assert!(was_told(&client, &[1, 4]) && !was_told(&client, &[1, 3]), "{case}");
        assert_eq!(known(&secrets, &user).as_deref(), Some(PASSWORD), "{case}");
        let (client, report) = relay.log_in(&user.account(true, PASSWORD));
        assert_eq!(report, Report { accepted: true, recognised: true, learned: true }, "{case}");
        assert!(was_told(&client, &[1, 3]) && !was_told(&client, &[1, 4]), "{case}");
        assert_opens(&user, &secrets, PLAIN, &case);
        assert_opens(&user, &secrets, WITH_TLS, &case);
    }
}

fn a_login_without_tls_teaches_the_password_under_a_key(server: &Server) {
    if flavour_of(server) == Flavour::MariaDb {
        return;
    }
    for server_tls in [false, true] {
        let case = format!("TLS with the server: {server_tls}");
        let (user, secrets) = (User::create(server), secrets(LearnPasswords::Clear));
        let relay = Relay::start(server, server_tls, &secrets);
        let own = secrets.own_key().expect("a key").pem().to_vec();
        let (client, report) = relay.log_in(&user.account(false, PASSWORD));
        assert_eq!(report, Report { accepted: true, recognised: false, learned: true }, "{case}");
        assert!(was_told(&client, &[&[1], &own[..]].concat()), "{case}");
        assert_eq!(known(&secrets, &user).as_deref(), Some(PASSWORD), "{case}");
        // The server remembers the account now; so does the proxy.
        let (client, report) = relay.log_in(&user.account(false, PASSWORD));
        assert_eq!(report, Report { accepted: true, recognised: true, learned: true }, "{case}");
        assert!(was_told(&client, &[1, 3]), "{case}");
        for how in [PLAIN, WITH_TLS] {
            assert_opens(&user, &secrets, how, &case);
            user.change_password(PASSWORD);
            assert_opens(&user, &secrets, how, &format!("{case}, cold"));
        }
    }
}

fn the_server_s_verifier_and_one_login_open_an_account(server: &Server) {
    if flavour_of(server) == Flavour::MySql {
        // MySQL keeps no hash that a login can be compared with.
        return;
    }
    let (user, secrets) = (User::create(server), secrets(LearnPasswords::Clear));
    let name = user.name.as_bytes();
    let relay = Relay::start(server, false, &secrets);
    let (_, report) = relay.log_in(&user.account(true, PASSWORD));
    assert_eq!(report, Report { accepted: true, recognised: false, learned: false });
    let kept = server.root().column(&format!(
        "SELECT JSON_VALUE(Priv, '$.authentication_string') FROM mysql.global_priv WHERE User = '{}'",
        user.name
    ));
    let verifier = kept[0].strip_prefix('*').and_then(|digits| hex::decode(digits).ok());
    secrets.learn_verifier(name, Scheme::Native, &verifier.expect("a hash"));
    assert!(!secrets.knows(name));
    let unopened = open(&user, &secrets, PLAIN);
    assert!(matches!(unopened, Err(NotOpened::NothingKnown)), "{unopened:?}");
    let (_, report) = relay.log_in(&user.account(false, "another"));
    assert_eq!(report, Report { accepted: false, recognised: false, learned: false });
    let (_, report) = relay.log_in(&user.account(false, PASSWORD));
    assert_eq!(report, Report { accepted: true, recognised: true, learned: true });
    assert_opens(&user, &secrets, PLAIN, "in clear");
    assert_opens(&user, &secrets, WITH_TLS, "by TLS");
    secrets.refused(name, secrets.source(name).expect("known"));
    let unopened = open(&user, &secrets, PLAIN);
    assert!(matches!(unopened, Err(NotOpened::NothingKnown)), "{unopened:?}");
}

fn a_password_opens_whatever_plugin_the_server_greets_with(server: &Server) {
    let (user, secrets) = (User::create(server), secrets(LearnPasswords::Clear));
    let database = Database::create(server);
    server.root().run(&format!("GRANT SELECT ON {}.* TO {}", database.name, user.name));
    secrets.learn(user.name.as_bytes(), &Proven::Clear(PASSWORD.as_bytes().to_vec().into()));
    let schema = Some(database.name.as_str());
    let others: [&[u8]; 3] =
        [b"caching_sha2_password", b"mysql_native_password", b"sha256_password"];
    for plugin in others {
        for how in [PLAIN, WITH_TLS] {
            let case = String::from_utf8_lossy(plugin).into_owned();
            let how = How { greets: Some(plugin), schema, ..how };
            assert_opens(&user, &secrets, how, &case);
        }
    }
}

/// The end of a login: an error's whole packet, less its header.
fn told(client: &Client) -> Vec<u8> {
    client.login.packets.last().map(|p| p.payload.clone()).unwrap_or_default()
}

fn wrong_passwords_are_refused_as_directly(server: &Server) {
    let secrets = secrets(LearnPasswords::Clear);
    for server_tls in [false, true] {
        let relay = Relay::start(server, server_tls, &secrets);
        for tls in [false, true] {
            let user = User::create(server);
            for cold in [true, false] {
                for wrong in ["wrong", ""] {
                    let case = format!("{tls} {server_tls} cold={cold} {wrong:?}");
                    let account = user.account(tls, wrong);
                    let direct = Client::connect("127.0.0.1", server.port, &account);
                    let direct = told(&direct.expect("a connection"));
                    let (client, report) = relay.log_in(&account);
                    assert!(!report.accepted && !report.learned, "{case}: {report:?}");
                    let through = told(&client);
                    assert_eq!(through, direct, "{case}: {}", String::from_utf8_lossy(&through));
                }
                assert_eq!(secrets.knows(user.name.as_bytes()), !cold && knows_more(server));
                let (_, report) = relay.log_in(&user.account(tls, PASSWORD));
                assert!(report.accepted, "{report:?}");
            }
        }
    }
}

/// Whether one login is enough to learn of an account.
fn knows_more(server: &Server) -> bool {
    flavour_of(server) == Flavour::MySql
}

fn without_learning_nothing_is_learned(server: &Server) {
    let (user, secrets) = (User::create(server), secrets(LearnPasswords::Off));
    let relay = Relay::start(server, false, &secrets);
    // A cold login with TLS, and a warm one; and without.
    for tls in [true, true, false] {
        let (client, report) = relay.log_in(&user.account(tls, PASSWORD));
        let direct = Client::connect("127.0.0.1", server.port, &user.account(tls, PASSWORD));
        assert_eq!(told(&client), told(&direct.expect("a connection")));
        assert_eq!(report, Report { accepted: true, recognised: false, learned: false });
        assert!(!secrets.knows(user.name.as_bytes()));
        let unopened = open(&user, &secrets, PLAIN);
        assert!(matches!(unopened, Err(NotOpened::NothingKnown)), "{unopened:?}");
    }
}

fn refusals_of_the_server_come_whole(server: &Server) {
    let (user, secrets) = (User::create(server), secrets(LearnPasswords::Clear));
    secrets.learn(user.name.as_bytes(), &Proven::Clear(PASSWORD.as_bytes().to_vec().into()));
    assert_opens(&user, &secrets, WITH_TLS, "the right one");
    let nowhere = fresh_schema();
    let mut account = user.account(false, PASSWORD);
    account.database = Some(nowhere.clone());
    let refused = |how: How<'_>| match open(&user, &secrets, how) {
        Err(NotOpened::Refused { code, packet }) => (code, packet),
        other => panic!("{other:?}"),
    };
    let direct = |account: &Account| {
        let client = Client::connect("127.0.0.1", server.port, account);
        told(&client.expect("a connection"))
    };
    let (code, packet) = refused(How { schema: Some(&nowhere), ..PLAIN });
    assert_eq!(packet, direct(&account), "{}", String::from_utf8_lossy(&packet));
    assert!(matches!(code, 1044 | 1049), "{code}");
    user.change_password("another");
    account.database = None;
    for how in [PLAIN, WITH_TLS] {
        let (code, packet) = refused(how);
        assert_eq!(packet, direct(&account), "{}", String::from_utf8_lossy(&packet));
        assert_eq!(code, 1045);
    }
}

/// Servers count broken handshakes by address, and block one with many.
fn failed_connections_count_against_no_host(server: &Server) {
    if flavour_of(server) == Flavour::MariaDb {
        // MariaDB shows its counts only where it is told to.
        return;
    }
    let address = own_address();
    let link = Link::start(server.port, address);
    let there = Server { port: link.port(), ..server.clone() };
    let (user, secrets) = (User::create(&there), secrets(LearnPasswords::Clear));
    let errors = || {
        server.root().column(&format!(
            "SELECT CONCAT_WS(' ', SUM_CONNECT_ERRORS, COUNT_HOST_BLOCKED_ERRORS, \
             COUNT_HANDSHAKE_ERRORS) FROM performance_schema.host_cache WHERE IP='{address}'"
        ))
    };
    let before = errors();
    assert_eq!(before, ["0 0 0"]);
    let relay = Relay::start(&there, false, &secrets);
    for how in [PLAIN, WITH_TLS] {
        let name = user.name.as_bytes();
        if let Some(source) = secrets.source(name) {
            secrets.refused(name, source);
        }
        assert!(matches!(open(&user, &secrets, how), Err(NotOpened::NothingKnown)));
        let proven = Scheme::Native.hash(PASSWORD.as_bytes());
        secrets.learn(user.name.as_bytes(), &Proven::Hashed(Scheme::Native, proven));
        // The server asks for another plugin's answer.
        assert!(matches!(open(&user, &secrets, how), Err(NotOpened::NeedsClear)));
        let proven = Scheme::CachingSha2.hash(PASSWORD.as_bytes());
        secrets.learn(user.name.as_bytes(), &Proven::Hashed(Scheme::CachingSha2, proven));
        user.change_password(PASSWORD);
        assert!(matches!(open(&user, &secrets, how), Err(NotOpened::NeedsClear)));
        let (_, report) = relay.log_in(&user.account(how.tls, PASSWORD));
        assert!(report.learned, "{report:?}");
        assert_opens(&user, &secrets, how, "after all that");
    }
    assert_eq!(errors(), before, "errors of connections, blocks, handshakes");
}
