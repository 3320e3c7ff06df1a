//! A proxy under attack, and what must not be harmed: another session, the proxy's memory and log,
//! its host's name at the server.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::own_server::flavour_of;
use crate::probes::Seen;
use crate::proxy::fresh_schema;

use crate::script::{Flavour, Server};
use crate::scripted::packet;
use crate::session::Session;
use crate::stage::PATIENCE;
use crate::wire::login::{Greeting, handshake_response};
use crate::wire::{Account, Library};

/// Bytes of answers that no attack asks for. Their time is no measure: thousands of empty packets in
/// one piece are thousands of commands.
const MOST_ANSWERS: usize = 64 << 20;
/// Attackers at the same time.
const AT_ONCE: u64 = 12;

pub(super) struct Stage {
    pub(super) seen: Seen,
    /// Without any right, so that no command that is guessed does harm.
    pub(super) account: Account,
    memory: u64,
    witness: Witness,
}

/// A setting of this run.
fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|value| value.parse().expect("a number"))
}

impl Stage {
    /// A proxy with these arguments, and a session that holds a lock and speaks all the while.
    pub(super) fn start(server: &Server, extra: &[&str]) -> Self {
        let seen = Seen::start(server, extra);
        let user = fresh_schema().replace("lockstead_t", "hostile_");
        seen.server.root().run(&format!("CREATE USER {user}@'%' IDENTIFIED BY 'secret'"));
        seen.server.warm_up(&user, "secret");
        let account = Account::new(&user, "secret");
        let memory = peak_memory(&seen);
        let witness = Witness::start(seen.proxy.port);
        Self { seen, account, memory, witness }
    }

    /// Attacks `count` times, each time with a random number generator of its own.
    pub(super) fn attack(&self, count: u64, attack: impl Fn(&Self, &mut StdRng) + Sync) {
        let first = setting("LOCKSTEAD_HOSTILE_SEED").unwrap_or(rand::random::<u64>() >> 32);
        let count = setting("LOCKSTEAD_HOSTILE_COUNT").unwrap_or(count);
        println!("LOCKSTEAD_HOSTILE_SEED={first} LOCKSTEAD_HOSTILE_COUNT={count}");
        let attack = &attack;
        std::thread::scope(|scope| {
            for worker in 0..AT_ONCE.min(count) {
                scope.spawn(move || {
                    for seed in (first + worker..first + count).step_by(12) {
                        let mut random = StdRng::seed_from_u64(seed);
                        let done = std::panic::AssertUnwindSafe(|| attack(self, &mut random));
                        if let Err(panic) = std::panic::catch_unwind(done) {
                            eprintln!("LOCKSTEAD_HOSTILE_SEED={seed} LOCKSTEAD_HOSTILE_COUNT=1");
                            std::panic::resume_unwind(panic);
                        }
                    }
                });
            }
        });
    }

    /// What a client library asks for at the server.
    pub(super) fn capabilities(&self, library: &Library) -> u64 {
        library.capabilities(flavour_of(&self.seen.server))
    }

    /// No other client was harmed.
    pub(super) fn assert_unharmed(self, grown_at_most: u64) {
        let statements = self.witness.stop();
        assert!(statements > 0, "the witness has not said anything");
        let log = self.seen.proxy.log();
        assert!(!log.contains("panicked"), "a panic:\n{log}");
        let grown = peak_memory(&self.seen).saturating_sub(self.memory);
        assert!(grown < grown_at_most, "the proxy grew by {grown} bytes");
        match flavour_of(&self.seen.server) {
            Flavour::MySql => self.seen.assert_unharmed(),
            Flavour::MariaDb => self.seen.assert_hardly_harmed(5),
        }
        self.seen.server.root().run(&format!("DROP USER {}@'%'", self.account.user));
    }
}

fn peak_memory(seen: &Seen) -> u64 {
    let path = format!("/proc/{}/status", seen.proxy.pid());
    let status = std::fs::read_to_string(path).expect("the proxy's status");
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:")).expect("VmHWM");
    let kib = line.split_whitespace().next().expect("a number");
    kib.parse::<u64>().expect("a number") * 1024
}

/// A session that holds a lock and runs statements until it is stopped.
struct Witness {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<u64>,
}

impl Witness {
    fn start(port: u16) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let mut session = Session::at(port);
        session.lock("witness");
        let thread = std::thread::spawn(move || {
            let mut said = 0_u64;
            let id = session.id().to_string();
            while !stopped.load(Ordering::SeqCst) {
                said += 1;
                let sql = format!("SELECT {said}");
                assert_eq!(session.value(&sql), Some(said.to_string()));
                let holder = session.value("SELECT IS_USED_LOCK('witness')");
                assert_eq!(holder.as_ref(), Some(&id), "the lock is lost");
                session.lock("another");
                session.unlock("another");
                std::thread::park_timeout(Duration::from_millis(5));
            }
            session.unlock("witness");
            said
        });
        Self { stop, thread }
    }

    fn stop(self) -> u64 {
        self.stop.store(true, Ordering::SeqCst);
        self.thread.join().expect("the witness was harmed")
    }
}

/// An attacker's connection. That it cannot be written to any more is no surprise.
pub(super) struct Enemy {
    pub(super) stream: TcpStream,
}

impl Enemy {
    pub(super) fn connect(stage: &Stage) -> Self {
        let stream = stage.seen.probe();
        stream.set_nodelay(true).expect("no delay");
        stream.set_write_timeout(Some(PATIENCE)).expect("a timeout");
        Self { stream }
    }

    pub(super) fn send(&mut self, bytes: &[u8]) -> bool {
        if setting("LOCKSTEAD_HOSTILE_TRACE").is_some() {
            eprintln!("> {}", bytes[..bytes.len().min(400)].escape_ascii());
        }
        self.stream.write_all(bytes).is_ok()
    }

    /// The next frame, or `None` at the end of the connection, which must come some time.
    pub(super) fn frame(&mut self) -> Option<Vec<u8>> {
        let mut frame = self.receive(4)?;
        let length = u32::from_le_bytes([frame[0], frame[1], frame[2], 0]) as usize;
        frame.extend(self.receive(length)?);
        Some(frame)
    }

    fn receive(&mut self, count: usize) -> Option<Vec<u8>> {
        let mut bytes = vec![0; count];
        match self.stream.read_exact(&mut bytes) {
            Ok(()) => Some(bytes),
            Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => {
                panic!("neither an answer nor an end")
            }
            Err(_) => None,
        }
    }

    pub(super) fn greeting(&mut self) -> Greeting {
        let frame = self.frame().expect("a greeting");
        Greeting::parse(&frame[4..]).expect("a greeting")
    }

    /// Reads up to the end, which must come.
    pub(super) fn until_end(&mut self) {
        let mut answers = 0;
        let mut room = [0; 8192];
        loop {
            match self.stream.read(&mut room) {
                Ok(0) => return,
                Ok(n) => {
                    answers += n;
                    assert!(answers < MOST_ANSWERS, "answers without an end");
                }
                Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => panic!("no end"),
                Err(_) => return,
            }
        }
    }

    /// Leaves: at once, or when the proxy has noticed that nothing more comes.
    pub(super) fn leave(mut self, random: &mut StdRng) {
        if random.random_bool(0.3) {
            return;
        }
        if self.stream.shutdown(Shutdown::Write).is_ok() {
            self.until_end();
        }
    }

    /// Logs in as a client library does, with further capabilities, and what they add to the packet.
    pub(super) fn log_in(
        stage: &Stage,
        library: &Library,
        more: u64,
        tail: &[u8],
    ) -> (Self, Greeting, u64) {
        let mut enemy = Self::connect(stage);
        let greeting = enemy.greeting();
        let capabilities = stage.capabilities(library) | more;
        let login = handshake_response(&stage.account, &greeting, capabilities);
        let capabilities = capabilities & greeting.capabilities;
        enemy.send(&packet(1, &[&login, tail].concat()));
        loop {
            let frame = enemy.frame().expect("an answer");
            match frame[4] {
                0 => return (enemy, greeting, capabilities),
                // Known to the server: the account is warm.
                1 => assert_eq!(frame[5], 3, "the account is not warm"),
                _ => panic!("no login: {}", frame.escape_ascii()),
            }
        }
    }
}

/// Any client library.
pub(super) fn any_library(random: &mut StdRng) -> &'static Library {
    Library::in_turn(random.random_range(0..1000))
}

/// Random bytes, of a kind that is likely to mean something.
pub(super) fn noise(random: &mut StdRng, most: usize) -> Vec<u8> {
    let count = random.random_range(0..=most);
    let small = random.random_bool(0.5);
    (0..count)
        .map(|_| match random.random_range(0..8) {
            0..4 if small => random.random_range(0..4),
            4..6 => *b"\0\xff\xfe\xfd\xfc\xfb\x01\x80".get(random.random_range(0..8)).expect("one"),
            _ => random.random(),
        })
        .collect()
}

/// A packet with some of its bytes changed, left out or put in.
pub(super) fn mutated(random: &mut StdRng, bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..random.random_range(1..6) {
        let at = random.random_range(0..=bytes.len());
        match random.random_range(0..5) {
            0 => bytes.truncate(at),
            1 => drop(bytes.drain(at..(at + 3).min(bytes.len()))),
            2 => drop(bytes.splice(at..at, noise(random, 5))),
            _ => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = if random.random_bool(0.5) { random.random() } else { *byte ^ 1 };
                }
            }
        }
    }
    bytes
}
