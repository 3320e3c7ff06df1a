//! Load for the lock benchmarks: clients that lock and unlock, or that only stay connected.
//!
//! `dev/bench.sh` runs it against a server and against proxies. It prints one line of JSON.
//!
//! It speaks the protocol itself, with one blocking thread a client: a statement costs one write
//! and one read, so that on a small machine the load does not take the processor from what is
//! measured.

use std::fs::read_to_string;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::ops::Range;
use std::process::ExitCode;
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use clap::{Parser, ValueEnum};
use mysql_common::scramble::{scramble_native, scramble_sha256};
use serde_json::json;

/// Locks and unlocks, each client its own name, or holds idle sessions.
#[derive(Debug, Clone, Parser)]
#[command(name = "lockpairs")]
struct Arguments {
    /// What a client does.
    mode: Mode,
    /// Port on 127.0.0.1.
    #[arg(long)]
    port: u16,
    /// Clients, each with a connection of its own.
    #[arg(long, default_value_t = 1)]
    clients: usize,
    /// Seconds that are measured.
    #[arg(long, default_value_t = 5.0)]
    seconds: f64,
    /// Seconds of the same load before that.
    #[arg(long, default_value_t = 1.0)]
    warmup: f64,
    /// Account; it must be one that can log in without TLS.
    #[arg(long, default_value = "bench")]
    user: String,
    /// Its password.
    #[arg(long, default_value = "bench")]
    password: String,
    /// Default database.
    #[arg(long, default_value = "bench")]
    database: String,
    /// Distinguishes the names of several runs.
    #[arg(long, default_value = "bench")]
    prefix: String,
}

/// What a client does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Mode {
    /// GET_LOCK() and RELEASE_LOCK().
    Native,
    /// INSERT into and DELETE from a table with a unique key.
    Plain,
    /// Log in, run one statement, then nothing until standard input ends.
    Idle,
}

const HEADER: usize = 4;
const PROTOCOL_41: u32 = 1 << 9;
/// Long passwords, a default database, protocol 4.1, transactions, authentication by plugins. No
/// DEPRECATE_EOF: a result ends in an EOF packet.
const CAPABILITIES: u32 = 1 | 1 << 3 | PROTOCOL_41 | 1 << 13 | 1 << 15 | 1 << 19;

/// A connection that runs one statement at a time.
struct Client {
    stream: TcpStream,
    buffer: Vec<u8>,
    /// What of the buffer is not yet looked at.
    unread: Range<usize>,
    /// A command packet, built once.
    out: Vec<u8>,
}

impl Client {
    fn open(arguments: &Arguments) -> Result<Self> {
        let stream = TcpStream::connect(("127.0.0.1", arguments.port)).context("connect")?;
        stream.set_nodelay(true)?;
        let mut client = Self { stream, buffer: vec![0; 512], unread: 0..0, out: Vec::new() };
        client.log_in(arguments).context("log in")?;
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

    fn log_in(&mut self, arguments: &Arguments) -> Result<()> {
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
        out.extend_from_slice(arguments.user.as_bytes());
        out.push(0);
        let proof = proof(&plugin, &nonce, &arguments.password)?;
        out.push(u8::try_from(proof.len())?);
        out.extend_from_slice(&proof);
        out.extend_from_slice(arguments.database.as_bytes());
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
                    let proof = self::proof(&plugin, &nonce, &arguments.password)?;
                    self.send(number.wrapping_add(1), &proof)?;
                }
                Some(1) if answer.get(1) == Some(&3) => {}
                _ => bail!(
                    "the server does not have the password's hash yet: log in once with a client that can ask for its public key"
                ),
            }
        }
    }

    /// Runs a statement; for a result, the first column of its first row.
    fn run(&mut self, command: &[u8], found: &mut Vec<u8>) -> Result<()> {
        found.clear();
        self.unread = 0..0;
        self.stream.write_all(command)?;
        let (_, first) = self.packet()?;
        refused(&self.buffer[first.clone()])?;
        if self.buffer[first.start] == 0 {
            return Ok(());
        }
        let mut ends = 0;
        while ends < 2 {
            let (_, packet) = self.packet()?;
            let packet = &self.buffer[packet];
            refused(packet)?;
            if packet[0] == 0xfe && packet.len() < 9 {
                ends += 1;
            } else if ends == 1 && found.is_empty() {
                let length = usize::from(packet[0]);
                found.extend_from_slice(packet.get(1..=length).unwrap_or(&[]));
            }
        }
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
fn command(sql: &str) -> Result<Vec<u8>> {
    let length = u32::try_from(sql.len() + 1)?.to_le_bytes();
    let mut out = vec![length[0], length[1], length[2], 0, 3];
    out.extend_from_slice(sql.as_bytes());
    Ok(out)
}

/// The two statements of a pair, and the value that each must return.
fn pair(mode: Mode, name: &str) -> Result<[(Vec<u8>, &'static [u8]); 2]> {
    Ok(match mode {
        Mode::Native => [
            (command(&format!("SELECT GET_LOCK('{name}', 10)"))?, b"1"),
            (command(&format!("SELECT RELEASE_LOCK('{name}')"))?, b"1"),
        ],
        Mode::Plain => {
            let insert = format!(
                "INSERT INTO plain_locks (name, owner, since) VALUES ('{name}', CONNECTION_ID(), NOW(3))"
            );
            let delete = format!("DELETE FROM plain_locks WHERE name = '{name}'");
            [(command(&insert)?, b""), (command(&delete)?, b"")]
        }
        Mode::Idle => bail!("idle clients lock nothing"),
    })
}

/// What a client measured.
struct Measured {
    /// Durations of its pairs, in nanoseconds. The last one may have ended after the time was up:
    /// without it, a pair that takes very long would go unseen.
    pairs: Vec<u64>,
    /// How many of them ended in time.
    in_time: usize,
    /// Processor time it took itself, in nanoseconds, where the kernel counts it.
    processor: Option<u64>,
}

fn client(arguments: &Arguments, number: usize, start: &Barrier) -> Result<Measured> {
    let client = Client::open(arguments);
    // Every client passes here, or the others would wait for ever.
    start.wait();
    let mut client = client?;
    let statements = pair(arguments.mode, &format!("{}-{number}", arguments.prefix))?;
    let mut value = Vec::new();
    let mut pairs = Vec::with_capacity(1 << 16);
    let mut in_time = 0;
    let warm = Instant::now() + Duration::from_secs_f64(arguments.warmup);
    let end = warm + Duration::from_secs_f64(arguments.seconds);
    let mut processor = own_time();
    let mut now = Instant::now();
    let mut warming = true;
    while now < end {
        if warming && now >= warm {
            warming = false;
            processor = own_time();
        }
        for (statement, expected) in &statements {
            client.run(statement, &mut value)?;
            ensure!(
                value == *expected,
                "a lock call returned {:?}",
                String::from_utf8_lossy(&value)
            );
        }
        let done = Instant::now();
        // One that began before the measurement and ends in it counts: as many are cut off at
        // its end, and a long one must be seen.
        if done >= warm {
            pairs.push(u64::try_from((done - now).as_nanos())?);
            in_time += usize::from(done <= end);
        }
        now = done;
    }
    let processor = own_time().zip(processor).map(|(now, then)| now - then);
    Ok(Measured { pairs, in_time, processor })
}

fn own_time() -> Option<u64> {
    let text = read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().next()?.parse().ok()
}

fn lock_pairs(arguments: &Arguments) -> Result<()> {
    let start = Arc::new(Barrier::new(arguments.clients));
    let clients: Vec<_> = (0..arguments.clients)
        .map(|number| {
            let (arguments, start) = (arguments.clone(), Arc::clone(&start));
            thread::Builder::new()
                .stack_size(256 * 1024)
                .spawn(move || client(&arguments, number, &start))
        })
        .collect::<io::Result<_>>()?;
    let mut pairs = Vec::new();
    let mut in_time = 0;
    let mut processor = Some(0);
    for client in clients {
        let Ok(measured) = client.join() else {
            bail!("a client panicked");
        };
        let measured = measured?;
        pairs.extend(measured.pairs);
        in_time += measured.in_time;
        processor = processor.zip(measured.processor).map(|(a, b)| a + b);
    }
    ensure!(!pairs.is_empty(), "no pair was finished in time");
    pairs.sort_unstable();
    #[expect(clippy::cast_precision_loss, reason = "nanoseconds of a short run")]
    let line = {
        let at = |percent: usize| pairs[(pairs.len() - 1) * percent / 100] as f64 / 1e3;
        let count = pairs.len() as f64;
        let rate = in_time as f64 / arguments.seconds;
        json!({
            "clients": arguments.clients,
            "pairs": pairs.len(),
            "pairs_per_second": rate,
            "mean_us": pairs.iter().sum::<u64>() as f64 / 1e3 / count,
            "p50_us": at(50),
            "p99_us": at(99),
            "max_us": at(100),
            "driver_us_per_pair": processor.map(|p| p as f64 / 1e3 / count),
        })
    };
    println!("{line}");
    Ok(())
}

/// Opens sessions, says so, and keeps them until standard input ends.
fn idle(arguments: &Arguments) -> Result<()> {
    let select = command("SELECT 1")?;
    let mut value = Vec::new();
    let mut clients = Vec::with_capacity(arguments.clients);
    for n in 0..arguments.clients {
        let mut client = Client::open(arguments).with_context(|| format!("session {n}"))?;
        client.run(&select, &mut value)?;
        clients.push(client);
    }
    println!("{}", json!({ "sessions": clients.len() }));
    io::copy(&mut io::stdin().lock(), &mut io::sink())?;
    // The sessions were all there until the end, or what was measured is not what it is called.
    for client in &mut clients {
        client.run(&select, &mut value).context("an idle session")?;
    }
    Ok(())
}

fn main() -> ExitCode {
    // Cargo runs benchmarks with arguments of its own, or with none: nothing to do without a
    // server.
    if !std::env::args().any(|a| a == "--port") {
        println!("lockpairs: run by dev/bench.sh");
        return ExitCode::SUCCESS;
    }
    let arguments = Arguments::parse();
    let done = match arguments.mode {
        Mode::Idle => idle(&arguments),
        Mode::Native | Mode::Plain => lock_pairs(&arguments),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("lockpairs: {e:#}");
            ExitCode::FAILURE
        }
    }
}
