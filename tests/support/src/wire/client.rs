//! One connection and its commands.

use std::collections::{HashMap, VecDeque};
use std::io::{self, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use super::capability::{PROTOCOL_41, QUERY_ATTRIBUTES};
use super::command;
use super::frame::Frames;
use super::login::{Account, Greeting, Login, change_user_body, converse, log_in};
use super::params::{Execute, Param, attribute_block};
use super::reader::Reader;
use super::response::{Kind, Packet, Response, Shape};
use crate::patience::Deadline;

/// How long a response may take before reading it is given up.
pub const PATIENCE: Duration = crate::PATIENCE;

/// As many bytes tell what a command is.
const ASKED: usize = 16;

/// A connection that has been through its login, successful or not.
pub struct Client {
    frames: Frames,
    pub login: Login,
    account: Account,
    sent: Instant,
    last_sequence: u8,
    /// Of executions whose response was not read yet: whether each asked for a cursor.
    executions: VecDeque<bool>,
    /// The first bytes of the last command that is answered.
    asked: Vec<u8>,
    /// The definitions of prepared statements' columns, by their ids, as they were sent last.
    described: HashMap<u32, Vec<Vec<u8>>>,
    /// How long [`Client::read_response`] waits.
    pub patience: Duration,
}

impl Client {
    /// Connects and logs in; `login` tells how that went.
    pub fn connect(host: &str, port: u16, account: &Account) -> io::Result<Client> {
        let stream = TcpStream::connect((host, port))?;
        stream.set_nodelay(true)?;
        Self::over(stream, account)
    }

    /// By a socket in the file system.
    pub fn connect_unix(path: &Path, account: &Account) -> io::Result<Client> {
        // After its connect, a socket is a socket.
        Self::over(TcpStream::from(OwnedFd::from(UnixStream::connect(path)?)), account)
    }

    fn over(stream: TcpStream, account: &Account) -> io::Result<Client> {
        (&stream).write_all(&account.preamble)?;
        let mut frames = Frames::new(stream);
        let login = log_in(&mut frames, account, PATIENCE);
        Ok(Client {
            frames,
            login,
            described: HashMap::new(),
            account: account.clone(),
            sent: Instant::now(),
            last_sequence: 0,
            executions: VecDeque::new(),
            asked: Vec::new(),
            patience: PATIENCE,
        })
    }

    pub fn connection_id(&self) -> u32 {
        self.login.connection_id()
    }

    /// Where it connects from.
    pub fn local_address(&self) -> SocketAddr {
        self.frames.stream().local_addr().expect("connected")
    }

    /// The capabilities both sides have.
    pub fn capabilities(&self) -> u64 {
        self.login.capabilities
    }

    /// Sends a command packet, numbered from 0. A write error shows as a closed response later.
    pub fn send(&mut self, payload: &[u8]) {
        self.sent = Instant::now();
        let unanswered = [command::QUIT, command::STMT_SEND_LONG_DATA, command::STMT_CLOSE];
        if !payload.first().is_some_and(|byte| unanswered.contains(byte)) {
            self.asked = payload[..payload.len().min(ASKED)].to_vec();
        }
        let _ = self.frames.write(payload, 0);
    }

    /// The first bytes of the last command that is answered.
    pub fn asked(&self) -> &[u8] {
        &self.asked
    }

    /// Whether the reply, or the end of the connection, begins to arrive within `patience`.
    pub fn readable_within(&mut self, patience: Duration) -> bool {
        self.frames.readable_by(Instant::now() + patience)
    }

    /// Reads what is owed; the time counts from the last `send`.
    pub fn read_response(&mut self, shape: Shape) -> Response {
        if shape == Shape::Auth {
            return self.read_auth();
        }
        let executed = if shape == Shape::Execute { self.executions.pop_front() } else { None };
        let mut reader = Reader {
            frames: &mut self.frames,
            capabilities: self.login.capabilities | PROTOCOL_41,
            deadline: Deadline::after(self.patience),
            cursor: executed.unwrap_or(false),
            packets: Vec::new(),
        };
        let end = reader.run(shape);
        let packets = reader.packets;
        if let Some(header) = packets.last().and_then(|p| p.headers.last()) {
            self.last_sequence = header[3];
        }
        let mut response =
            Response { packets, end, described: Vec::new(), took: self.sent.elapsed() };
        if let Some(id) = response.statement_id() {
            self.described.insert(id, response.prepared_columns());
        } else if let (Shape::Execute | Shape::Fetch, [_, a, b, c, d, ..]) =
            (shape, &self.asked[..])
        {
            let id = u32::from_le_bytes([*a, *b, *c, *d]);
            let known = self.described.entry(id).or_default();
            response.described.clone_from(known);
            let sent = response.first_definitions();
            if !sent.is_empty() {
                *known = sent;
            }
        }
        response
    }

    fn read_auth(&mut self) -> Response {
        let mut packets: Vec<Packet> = Vec::new();
        let greeting = self.last_greeting();
        let (keeps, deadline) = (self.account.keeps_nonce, Deadline::after(self.patience));
        let (frames, account) = (&mut self.frames, &self.account);
        let end = converse(frames, account, &greeting, keeps, deadline, &mut packets);
        Response { packets, end, described: Vec::new(), took: self.sent.elapsed() }
    }

    /// Reads so many packets of a response that goes on, or as many as come in time.
    pub fn read_packets(&mut self, count: usize) -> Vec<Packet> {
        let mut reader = Reader {
            frames: &mut self.frames,
            capabilities: self.login.capabilities | PROTOCOL_41,
            deadline: Deadline::after(self.patience),
            cursor: false,
            packets: Vec::new(),
        };
        while reader.packets.len() < count && reader.next(|_| Kind::Unsolicited).is_ok() {}
        reader.packets
    }

    /// Everything up to the peer's close, for packets nobody asked for.
    pub fn read_until_closed(&mut self) -> Response {
        self.read_response(Shape::UntilClosed)
    }

    pub fn query(&mut self, sql: &[u8]) -> Response {
        self.query_with(sql, &[])
    }

    pub fn query_with(&mut self, sql: &[u8], attributes: &[(String, Param)]) -> Response {
        self.send_query(sql, attributes);
        self.read_response(Shape::Query)
    }

    /// Sends COM_QUERY; the attributes go only where the capability allows them.
    pub fn send_query(&mut self, sql: &[u8], attributes: &[(String, Param)]) {
        let mut out = vec![command::QUERY];
        if self.capabilities() & QUERY_ATTRIBUTES != 0 {
            out.extend_from_slice(&attribute_block(attributes));
        }
        out.extend_from_slice(sql);
        self.send(&out);
    }

    pub fn prepare(&mut self, sql: &[u8]) -> Response {
        self.command(command::STMT_PREPARE, sql, Shape::Prepare)
    }

    pub fn send_execute(&mut self, statement: u32, execute: &Execute) {
        let mut out = vec![command::STMT_EXECUTE];
        out.extend_from_slice(&statement.to_le_bytes());
        out.extend_from_slice(&execute.body(self.capabilities() & QUERY_ATTRIBUTES != 0));
        self.executions.push_back(execute.cursor & 1 != 0);
        self.send(&out);
    }

    pub fn execute(&mut self, statement: u32, execute: &Execute) -> Response {
        self.send_execute(statement, execute);
        self.read_response(Shape::Execute)
    }

    pub fn fetch(&mut self, statement: u32, rows: u32) -> Response {
        let mut body = statement.to_le_bytes().to_vec();
        body.extend_from_slice(&rows.to_le_bytes());
        self.command(command::STMT_FETCH, &body, Shape::Fetch)
    }

    /// Closes a statement; no response is owed.
    pub fn close_statement(&mut self, statement: u32) -> Response {
        self.command(command::STMT_CLOSE, &statement.to_le_bytes(), Shape::Nothing)
    }

    pub fn reset_statement(&mut self, statement: u32) -> Response {
        self.command(command::STMT_RESET, &statement.to_le_bytes(), Shape::One)
    }

    /// Sends a piece of a parameter; no response is owed.
    pub fn send_long_data(&mut self, statement: u32, param: u16, piece: &[u8]) -> Response {
        let mut body = statement.to_le_bytes().to_vec();
        body.extend_from_slice(&param.to_le_bytes());
        body.extend_from_slice(piece);
        self.command(command::STMT_SEND_LONG_DATA, &body, Shape::Nothing)
    }

    pub fn init_db(&mut self, database: &[u8]) -> Response {
        self.command(command::INIT_DB, database, Shape::One)
    }

    pub fn ping(&mut self) -> Response {
        self.command(command::PING, &[], Shape::One)
    }

    pub fn change_user(&mut self, account: &Account) -> Response {
        self.send_change_user(account);
        self.read_response(Shape::Auth)
    }

    pub fn send_change_user(&mut self, account: &Account) {
        let greeting = self.last_greeting();
        let body = change_user_body(account, &greeting, self.capabilities());
        self.account = account.clone();
        self.send(&[&[command::CHANGE_USER][..], &body].concat());
    }

    /// The greeting, with the nonce by which the login was proved.
    fn last_greeting(&self) -> Greeting {
        let greeting = self.login.greeting.clone().unwrap_or_default();
        Greeting { salt: self.login.salt(), ..greeting }
    }

    pub fn reset_connection(&mut self) -> Response {
        self.command(command::RESET_CONNECTION, &[], Shape::One)
    }

    pub fn field_list(&mut self, table: &[u8], wildcard: &[u8]) -> Response {
        let mut body = table.to_vec();
        body.push(0);
        body.extend_from_slice(wildcard);
        self.command(command::FIELD_LIST, &body, Shape::FieldList)
    }

    pub fn statistics(&mut self) -> Response {
        self.command(command::STATISTICS, &[], Shape::One)
    }

    pub fn set_option(&mut self, option: u16) -> Response {
        self.command(command::SET_OPTION, &option.to_le_bytes(), Shape::One)
    }

    /// Says COM_QUIT and reads until the server closes.
    pub fn quit(&mut self) -> Response {
        self.command(command::QUIT, &[], Shape::UntilClosed)
    }

    /// Sends COM_QUIT and closes the connection without waiting for anything.
    pub fn say_quit(mut self) {
        self.send(&[command::QUIT]);
    }

    /// Ends this side of the connection; what the server says can still be read.
    pub fn end_sending(&self) {
        let _ = self.frames.stream().shutdown(Shutdown::Write);
    }

    /// Sends a file's contents, in one packet, and the empty packet that ends it.
    pub fn answer_infile(&mut self, contents: &[u8]) -> Response {
        self.sent = Instant::now();
        let mut sequence = self.last_sequence.wrapping_add(1);
        if !contents.is_empty() {
            sequence = self.frames.write(contents, sequence).unwrap_or_default();
        }
        let _ = self.frames.write(&[], sequence);
        self.read_response(Shape::Query)
    }

    /// A command byte with its body, and the response of `shape`.
    pub fn command(&mut self, byte: u8, body: &[u8], shape: Shape) -> Response {
        let mut out = vec![byte];
        out.extend_from_slice(body);
        self.send(&out);
        self.read_response(shape)
    }

    /// Ends the connection with a FIN and no COM_QUIT.
    pub fn hang_up(self) {
        let _ = self.frames.stream().shutdown(Shutdown::Both);
    }

    /// Ends the connection with a RST, as the kernel of a crashed client's machine does.
    pub fn reset_tcp(self) {
        // std cannot set a zero linger time on stable, and only that turns close() into a reset.
        let socket = socket2::SockRef::from(self.frames.stream());
        socket.set_linger(Some(Duration::ZERO)).expect("a zero linger time");
    }
}
