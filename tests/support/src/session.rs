//! A client's session as tests speak with it: statements in, values out.

use std::io::Write;
use std::net::TcpStream;

use crate::server::Root;
use crate::wire::capability::{DEFAULT, MULTI_STATEMENTS};
use crate::wire::decode::text_row;
use crate::wire::frame::Frames;
use crate::wire::login::log_in;
use crate::wire::response::ErrPacket;
use crate::wire::{Account, Client, End, Kind, Response, Shape, render};
use crate::{PATIENCE, eventually};

/// A logged-in session that may send several statements in one packet.
pub struct Session {
    /// The connection.
    pub client: Client,
}

/// The account of sessions.
pub fn account() -> Account {
    Account { capabilities: DEFAULT | MULTI_STATEMENTS, ..Account::new("root", "rootpw") }
}

impl Session {
    /// A session of root's at a port of this machine.
    pub fn at(port: u16) -> Self {
        Self::of(port, &account())
    }

    /// A session of this account.
    pub fn of(port: u16, account: &Account) -> Self {
        let client = Client::connect("127.0.0.1", port, account);
        let mut client = client.unwrap_or_else(|e| panic!("no connection to port {port}: {e}"));
        assert!(client.login.succeeded(), "no login at port {port}: {:?}", client.login);
        client.patience = PATIENCE;
        Self { client }
    }

    /// CONNECTION_ID().
    pub fn id(&self) -> u64 {
        u64::from(self.client.connection_id())
    }

    /// Runs a statement that must succeed.
    pub fn run(&mut self, sql: &str) -> Response {
        self.send(sql);
        let response = self.client.read_response(Shape::Query);
        assert_good(sql, &response);
        response
    }

    /// The first value of the first row, which there must be; `None` is NULL.
    pub fn value(&mut self, sql: &str) -> Option<String> {
        first_value(sql, &self.run(sql))
    }

    /// Sends a statement and goes on.
    pub fn send(&mut self, sql: &str) {
        self.client.send_query(sql.as_bytes(), &[]);
    }

    /// The first value of the reply to what was sent.
    pub fn reply(&mut self) -> Option<String> {
        let response = self.client.read_response(Shape::Query);
        assert_good("what was sent before", &response);
        first_value("what was sent before", &response)
    }

    /// Takes a lock that must be free.
    pub fn lock(&mut self, name: &str) {
        let got = self.value(&format!("SELECT GET_LOCK('{name}', 0)"));
        assert_eq!(got.as_deref(), Some("1"), "{name} is not free");
    }

    /// Releases a lock that must be held.
    pub fn unlock(&mut self, name: &str) {
        let got = self.value(&format!("SELECT RELEASE_LOCK('{name}')"));
        assert_eq!(got.as_deref(), Some("1"), "{name} is not held");
    }

    /// Whether a lock is free.
    pub fn is_free(&mut self, name: &str) -> bool {
        self.value(&format!("SELECT IS_FREE_LOCK('{name}')")).as_deref() == Some("1")
    }

    /// Asks for a lock and goes on.
    pub fn ask_for(&mut self, name: &str) {
        self.send(&format!("SELECT GET_LOCK('{name}', 600)"));
    }

    /// The lock asked for must come.
    pub fn gets_it(&mut self) {
        assert_eq!(self.reply().as_deref(), Some("1"));
    }

    /// The last error packet before the connection ended, which it must.
    pub fn last_words(&mut self) -> Option<ErrPacket> {
        let response = self.client.read_until_closed();
        assert_eq!(response.end, End::Closed, "open still:\n{}", render::response(&response));
        response.packets.last().filter(|p| p.payload.first() == Some(&0xff)).map(|p| {
            assert!(matches!(p.kind, Kind::Err | Kind::Unsolicited));
            ErrPacket::parse(&p.payload)
        })
    }
}

fn assert_good(sql: &str, response: &Response) {
    assert!(
        response.error().is_none() && response.end == End::Complete,
        "{sql}: {:?}\n{}",
        response.end,
        render::response(response)
    );
}

/// The first value of the first row, which there must be.
pub fn first_value(sql: &str, response: &Response) -> Option<String> {
    let row = response.packets.iter().find(|p| p.kind == Kind::TextRow);
    let row = row.unwrap_or_else(|| panic!("no row: {sql}\n{}", render::response(response)));
    let value = text_row(&row.payload).and_then(|r| r.first().copied()).expect("a value");
    value.map(|v| String::from_utf8_lossy(v).into_owned())
}

/// Waits until a session is seen inside a statement at the server.
pub fn until_busy(root: &mut Root, id: u64) {
    let id = u32::try_from(id).expect("a connection id");
    eventually("the statement runs", || root.waits(id).then_some(()));
}

/// A logged-in connection that sends what no client should.
pub struct Raw {
    /// Packets of the connection.
    pub frames: Frames,
}

impl Raw {
    /// Logs in at a port of this machine.
    pub fn at(port: u16) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", port)).expect("a connection");
        stream.set_nodelay(true).expect("no delay");
        let mut frames = Frames::new(stream);
        assert!(log_in(&mut frames, &account(), PATIENCE).succeeded(), "no login");
        Self { frames }
    }

    /// Sends a command in a packet of its own.
    pub fn command(&mut self, payload: &[u8]) {
        self.frames.write(payload, 0).expect("a command is sent");
    }

    /// Sends bytes as they are.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.frames.stream().write_all(bytes).expect("bytes are sent");
    }
}
