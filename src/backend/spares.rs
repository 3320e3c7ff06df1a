//! Greeted connections whose client left before it logged in.
//!
//! A load balancer's probe connects, reads the greeting and hangs up. Passed on, each would count
//! at the server as a failed handshake, and after max_connect_errors of them the server blocks
//! the proxy's host. So the connection is kept for the next client, and before the server loses
//! patience it is completed with the proxy's own account.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::{MissedTickBehavior, interval, timeout};

use super::greeted::Greeted;
use crate::clock;
use crate::net::leg::Leg;
use crate::net::socket::Detached;
use crate::protocol::auth;
use crate::protocol::frame::{HEADER, put_frame};
use crate::protocol::handshake::Greeting;

/// An account for logins nobody else makes.
#[derive(Clone)]
pub struct Account {
    /// User.
    pub user: String,
    /// Password.
    pub password: String,
}

struct Spare {
    stream: Detached,
    frame: Vec<u8>,
    greeting: Greeting,
    opened: Duration,
}

/// The spare connections of one backend.
#[derive(Clone)]
pub struct Spares {
    list: Arc<Mutex<Vec<Spare>>>,
    /// How long the server waits for each packet of a handshake.
    connect_timeout: Duration,
}

impl Spares {
    /// Spares for a server that waits `connect_timeout` for a handshake.
    pub fn new(connect_timeout: Duration) -> Self {
        Self { list: Arc::default(), connect_timeout }
    }

    /// How long a client may take for a packet of a login that the server waits for. A login that
    /// the server gives up counts as a failed handshake there: the proxy must be the first.
    pub fn limit(&self) -> Duration {
        self.connect_timeout * 4 / 5
    }

    /// How long the server still waits for the first packet on a connection that was opened then.
    pub fn limit_since(&self, opened: Duration) -> Duration {
        self.limit().saturating_sub(clock::now().saturating_sub(opened))
    }

    /// How old a spare may get.
    fn patience(&self) -> Duration {
        (self.connect_timeout / 2).min(Duration::from_secs(5))
    }

    /// Keeps a connection. It is detached from its thread's event loop.
    pub fn keep(&self, greeted: Greeted) {
        let Greeted { stream, frame, greeting, opened } = greeted;
        if let Ok(stream) = stream.detach() {
            self.list.lock().push(Spare { stream, frame, greeting, opened });
        }
    }

    /// A connection that still waits for a login, if there is one: long enough for a client's.
    pub fn take(&self) -> Option<Greeted> {
        loop {
            let Spare { stream, frame, greeting, opened } = self.youngest()?;
            // One that the server has closed or spoken on meanwhile is dropped.
            if stream.is_quiet() {
                let stream = stream.attach().ok()?;
                return Some(Greeted { stream, frame, greeting, opened });
            }
        }
    }

    fn youngest(&self) -> Option<Spare> {
        let mut list = self.list.lock();
        let (at, spare) = list.iter().enumerate().max_by_key(|(_, spare)| spare.opened)?;
        // One that a client has sat on is to be completed, and not the next one's.
        let young = clock::now().saturating_sub(spare.opened) < self.patience();
        young.then(|| list.swap_remove(at))
    }

    /// Completes spares that have waited long enough; runs as long as the process.
    pub async fn tend(self, account: Account) {
        let mut tick = interval(Duration::from_millis(250));
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tick.tick().await;
            for spare in self.expired(self.patience()) {
                tokio::spawn(retire(spare, account.clone()));
            }
        }
    }

    /// Completes all spares, at shutdown.
    pub async fn finish(&self, account: &Account) {
        for spare in self.expired(Duration::ZERO) {
            retire(spare, account.clone()).await;
        }
    }

    fn expired(&self, age: Duration) -> Vec<Spare> {
        let now = clock::now();
        let mut list = self.list.lock();
        let (old, young) =
            list.drain(..).partition(|spare| now.saturating_sub(spare.opened) >= age);
        *list = young;
        old
    }
}

async fn retire(spare: Spare, account: Account) {
    let login = complete(spare, &account);
    match timeout(Duration::from_secs(3), login).await {
        Ok(Ok(())) => {}
        Ok(Err(e)) => tracing::debug!(error = %e, "a spare connection could not be completed"),
        Err(_) => tracing::debug!("a spare connection could not be completed in time"),
    }
}

async fn complete(spare: Spare, account: &Account) -> io::Result<()> {
    let greeting = spare.greeting;
    let mut server = Leg::new(spare.stream.attach()?);
    let mut out = Vec::new();
    put_frame(&mut out, 1, &auth::own_login(&greeting, &account.user, &account.password));
    let mut nonce = greeting.nonce;
    let mut plugin = greeting.plugin;
    loop {
        server.send_all(&out).await?;
        out.clear();
        let frame = loop {
            let frame = server.read_frame(4096).await?;
            // "Fast authentication worked": the OK follows.
            if frame[HEADER..] != [1, 3] {
                break frame;
            }
        };
        let seq = frame[3].wrapping_add(1);
        match frame.get(HEADER) {
            Some(0) => {
                put_frame(&mut out, 0, &[1]);
                return server.send_all(&out).await;
            }
            Some(0xfe) => {
                let rest = &frame[HEADER + 1..];
                let end = memchr::memchr(0, rest).unwrap_or(rest.len());
                plugin = rest[..end].to_vec();
                nonce = rest.get(end + 1..).unwrap_or_default().to_vec();
                let proof = auth::proof(&plugin, &nonce, &account.password);
                put_frame(&mut out, seq, &proof);
            }
            // Full authentication: ask for the key, then send the password under it.
            Some(1) if frame.get(HEADER + 1) == Some(&4) => put_frame(&mut out, seq, &[2]),
            Some(1) if plugin == b"caching_sha2_password" && nonce.len() >= 20 => {
                let password = [account.password.as_bytes(), &[0]].concat();
                let encrypted = auth::encrypted_password(&frame[HEADER + 1..], &nonce, &password)
                    .ok_or_else(|| io::Error::other("the server's key is no PEM"))?;
                put_frame(&mut out, seq, &encrypted);
            }
            _ => return Err(io::Error::other("the server refused the login")),
        }
    }
}
