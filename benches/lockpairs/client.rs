//! A MySQL client that does no more than the load needs.
//!
//! This client speaks the protocol itself and blocks. A statement costs one write and one read, so that on a small
//! machine the load does not take the processor from what is measured.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::ops::Range;

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use lockstead_support::wire;
use mysql_common::scramble::{scramble_native, scramble_sha256};

/// Who logs in, and where to.
#[derive(Debug, Clone, Args)]
pub(crate) struct Account {
    /// Account; it must be one that can log in without TLS.
    #[arg(long, default_value = "bench")]
    user: String,
    /// Password of the account.
    #[arg(long, default_value = "bench")]
    password: String,
    /// Default database.
    #[arg(long, default_value = "bench")]
    database: String,
}

impl Account {
    /// The account for a client that speaks TLS.
    pub(crate) fn over_tls(&self) -> wire::Account {
        wire::Account {
            database: Some(self.database.clone()),
            wrap: wire::wrap::Wrap { tls: true, ..Default::default() },
            ..wire::Account::new(&self.user, &self.password)
        }
    }
}

const HEADER: usize = 4;
const PROTOCOL_41: u32 = 1 << 9;
/// Long passwords, a default database, protocol 4.1, transactions, authentication by plugins. No
/// DEPRECATE_EOF: a result ends in an EOF packet.
const CAPABILITIES: u32 = 1 | 1 << 3 | PROTOCOL_41 | 1 << 13 | 1 << 15 | 1 << 19;

/// A connection that runs one statement at a time.
pub(crate) struct Client {
    stream: TcpStream,
    buffer: Vec<u8>,
    /// The part of the buffer that is not yet read.
    unread: Range<usize>,
    /// A command packet, built once.
    out: Vec<u8>,
}

impl Client {
    pub(crate) fn open(account: &Account, port: u16) -> Result<Self> {
        let stream = TcpStream::connect(("127.0.0.1", port)).context("connect")?;
        stream.set_nodelay(true)?;
        let mut client = Self { stream, buffer: vec![0; 512], unread: 0..0, out: Vec::new() };
        client.log_in(account).context("log in")?;
        Ok(client)
    }

    /// The payload of the next packet, with its number.
    fn packet(&mut self) -> Result<(u8, Range<usize>)> {
        loop {
            let have = &self.buffer[self.unread.clone()];
            let mut need = HEADER;
            if let Some(&[a, b, c, number]) = have.first_chunk() {
                need += u32::from_le_bytes([a, b, c, 0]) as usize;
                if have.len() >= need {
                    let start = self.unread.start;
                    self.unread.start += need;
                    return Ok((number, start + HEADER..start + need));
                }
            }
            if self.unread.start + need > self.buffer.len() {
                self.buffer.copy_within(self.unread.clone(), 0);
                self.unread = 0..self.unread.len();
                let room = self.buffer.len().max(need);
                self.buffer.resize(room, 0);
            }
            let n = self.stream.read(&mut self.buffer[self.unread.end..])?;
            ensure!(n > 0, "the server closed the connection");
            self.unread.end += n;
        }
    }

    fn send(&mut self, number: u8, payload: &[u8]) -> Result<()> {
        self.out.clear();
        let length = u32::try_from(payload.len())?.to_le_bytes();
        self.out.extend_from_slice(&length[..3]);
        self.out.push(number);
        self.out.extend_from_slice(payload);
        self.stream.write_all(&self.out)?;
        Ok(())
    }

    fn log_in(&mut self, account: &Account) -> Result<()> {
        let (number, greeting) = self.packet()?;
        let greeting = self.buffer[greeting].to_vec();
        refused(&greeting)?;
        // Version 10: version\0, connection, 8 bytes of nonce, filler, capabilities and others in
        // 19 bytes, the other 12 bytes of the nonce, \0, name of the plugin\0.
        let version = greeting.iter().position(|b| *b == 0).context("greeting")?;
        let rest = greeting.get(version + 5..).context("greeting")?;
        ensure!(rest.len() > 40, "a short greeting");
        let mut nonce = [&rest[..8], &rest[27..39]].concat();
        let mut plugin = until_nul(&rest[40..]).to_vec();

        let mut out = CAPABILITIES.to_le_bytes().to_vec();
        out.extend_from_slice(&(1u32 << 24).to_le_bytes());
        out.push(45); // utf8mb4
        out.extend_from_slice(&[0; 23]);
        out.extend_from_slice(account.user.as_bytes());
        out.push(0);
        let proof = proof(&plugin, &nonce, &account.password)?;
        out.push(u8::try_from(proof.len())?);
        out.extend_from_slice(&proof);
        out.extend_from_slice(account.database.as_bytes());
        out.push(0);
        out.extend_from_slice(&plugin);
        out.push(0);
        self.send(number.wrapping_add(1), &out)?;
        loop {
            let (number, answer) = self.packet()?;
            let answer = self.buffer[answer].to_vec();
            refused(&answer)?;
            match answer.first() {
                Some(0) => return Ok(()),
                // Asks for another plugin's proof.
                Some(0xfe) => {
                    plugin = until_nul(&answer[1..]).to_vec();
                    nonce = answer.get(plugin.len() + 2..).unwrap_or(&[]).to_vec();
                    nonce.truncate(20);
                    let proof = self::proof(&plugin, &nonce, &account.password)?;
                    self.send(number.wrapping_add(1), &proof)?;
                }
                Some(1) if answer.get(1) == Some(&3) => {}
                _ => bail!(
                    "the server does not have the password's hash yet: log in once with a client that can ask for its public key"
                ),
            }
        }
    }

    /// Takes leave, and closes the connection.
    pub(crate) fn quit(mut self) -> Result<()> {
        self.ask(&[1, 0, 0, 0, 1])
    }

    /// The socket, to wait for a reply on.
    pub(crate) fn socket(&self) -> &TcpStream {
        &self.stream
    }

    /// Runs a statement that must return a value, or none at all: "".
    pub(crate) fn expect(&mut self, command: &[u8], expected: &[u8]) -> Result<()> {
        self.ask(command)?;
        self.answered(expected)
    }

    /// Sends a statement.
    pub(crate) fn ask(&mut self, command: &[u8]) -> Result<()> {
        self.unread = 0..0;
        self.stream.write_all(command)?;
        Ok(())
    }

    /// Reads the reply, which must have this in the first column of its first row.
    pub(crate) fn answered(&mut self, expected: &[u8]) -> Result<()> {
        let (_, first) = self.packet()?;
        refused(&self.buffer[first.clone()])?;
        if self.buffer[first.start] == 0 {
            ensure!(expected.is_empty(), "a statement returned nothing");
            return Ok(());
        }
        let mut ends = 0;
        let mut rows = 0;
        while ends < 2 {
            let (_, packet) = self.packet()?;
            let packet = &self.buffer[packet];
            refused(packet)?;
            if packet[0] == 0xfe && packet.len() < 9 {
                ends += 1;
            } else if ends == 1 {
                let value = packet.get(1..=usize::from(packet[0])).unwrap_or(&[]);
                let text = String::from_utf8_lossy(value);
                ensure!(value == expected, "a statement returned {text:?}");
                rows += 1;
            }
        }
        ensure!(rows == 1, "a statement returned {rows} rows");
        Ok(())
    }
}

/// An error packet as an error.
fn refused(packet: &[u8]) -> Result<()> {
    if packet.first() == Some(&0xff) {
        let text = packet.get(3..).unwrap_or(&[]);
        bail!("the server says: {}", String::from_utf8_lossy(text));
    }
    ensure!(!packet.is_empty(), "an empty packet");
    Ok(())
}

fn until_nul(bytes: &[u8]) -> &[u8] {
    bytes.split(|b| *b == 0).next().unwrap_or(&[])
}

fn proof(plugin: &[u8], nonce: &[u8], password: &str) -> Result<Vec<u8>> {
    let password = password.as_bytes();
    let proof = match plugin {
        b"mysql_native_password" => scramble_native(nonce, password).map(|p| p.to_vec()),
        b"caching_sha2_password" => scramble_sha256(nonce, password).map(|p| p.to_vec()),
        other => bail!("cannot do {}", String::from_utf8_lossy(other)),
    };
    Ok(proof.unwrap_or_default())
}

/// A COM_QUERY packet.
pub(crate) fn command(sql: &str) -> Result<Vec<u8>> {
    let length = u32::try_from(sql.len() + 1)?.to_le_bytes();
    let mut out = vec![length[0], length[1], length[2], 0, 3];
    out.extend_from_slice(sql.as_bytes());
    Ok(out)
}
