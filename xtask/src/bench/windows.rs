//! The status page and metrics with much to show, and what lock calls pay for being watched.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::Run;
use crate::workplace::pause;

/// Browsers that have the page open.
const BROWSERS: u32 = 5;

impl Run<'_> {
    pub(super) fn measure_windows(&mut self) -> Result<()> {
        self.stage.start_lockstead("lockstead", &[])?;
        let audience = self.plan.audience;
        let open = self.open_sessions(
            "lockstead",
            &[
                ("--clients", audience.clients),
                ("--locks", 1),
                ("--waiters", audience.waiters),
                ("--beside", audience.beside),
            ],
        )?;
        self.say("the windows");
        let looks = self.plan.looks;
        self.look_at("page", "/", looks, Duration::ZERO)?;
        // A status is made once a second: a client that asks at once gets the same again.
        self.look_at("kept", "/api/v1/status", looks, Duration::ZERO)?;
        self.look_at("made", "/api/v1/status", looks / 5, Duration::from_millis(1050))?;
        self.look_at("metrics", "/metrics", looks, Duration::ZERO)?;
        for round in 1..=self.plan.window_rounds {
            self.say(&format!("lock pairs, alone and watched, round {round}"));
            let alone = self.timed_pairs("alone")?;
            let watched = self.while_watched(|run| run.timed_pairs("watched"))?;
            self.add("windows", (16, "watched"), "of_alone", watched / alone);
        }
        open.close()?;
        self.stage.stop_all();
        Ok(())
    }

    /// Times of requests one after the other, each so long after the last.
    fn look_at(
        &mut self,
        name: &'static str,
        path: &str,
        count: usize,
        after: Duration,
    ) -> Result<()> {
        let mut page = Page::open(self.stage.http_of("lockstead")?, path)?;
        page.get()?;
        let mut times = Vec::new();
        for _ in 0..count {
            pause(after);
            let began = Instant::now();
            page.get()?;
            times.push(began.elapsed().as_secs_f64() * 1e6);
        }
        times.sort_by(f64::total_cmp);
        let at = |hundredths: usize| times[(count - 1).min(count * hundredths / 100)];
        self.add("windows", (16, name), "p50_us", at(50));
        self.add("windows", (16, name), "p99_us", at(99));
        Ok(())
    }

    /// Pairs through Lockstead; the median of their times.
    fn timed_pairs(&mut self, variant: &'static str) -> Result<f64> {
        let load = self.load((16, "lockstead"), &[])?;
        let p50 = load.need("p50_us")?;
        self.add("windows", (16, variant), "p50_us", p50);
        self.add("windows", (16, variant), "p99_us", load.need("p99_us")?);
        Ok(p50)
    }

    /// Does something while browsers have the page open and a Prometheus scrapes.
    fn while_watched<T>(&mut self, what: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let port = self.stage.http_of("lockstead")?;
        let every = Duration::from_secs(2);
        let browsers = (0..BROWSERS).map(|n| ("/api/v1/status", every, every * n / BROWSERS));
        let eyes: Vec<_> =
            browsers.chain([("/metrics", Duration::from_secs(5), Duration::ZERO)]).collect();
        let over = AtomicBool::new(false);
        thread::scope(|scope| {
            let start = |(path, every, first)| {
                let over = &over;
                scope.spawn(move || watch(port, path, every, first, over))
            };
            let watching: Vec<_> = eyes.into_iter().map(start).collect();
            let done = what(self);
            over.store(true, Ordering::Relaxed);
            for eye in watching {
                eye.thread().unpark();
                eye.join()
                    .map_err(|_| anyhow::anyhow!("a watcher panicked"))?
                    .context("nobody looked")?;
            }
            done
        })
    }
}

/// Looks at a page again and again until it is over.
fn watch(port: u16, path: &str, every: Duration, first: Duration, over: &AtomicBool) -> Result<()> {
    let mut page = Page::open(port, path)?;
    let mut next = Instant::now() + first;
    while !over.load(Ordering::Relaxed) {
        let now = Instant::now();
        if now < next {
            thread::park_timeout(next - now);
            continue;
        }
        page.get()?;
        next = Instant::now() + every;
    }
    Ok(())
}

/// A page that is asked for over one connection.
struct Page<'a> {
    path: &'a str,
    stream: BufReader<TcpStream>,
}

impl<'a> Page<'a> {
    fn open(port: u16, path: &'a str) -> Result<Self> {
        let stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_secs(30)))?;
        Ok(Self { path, stream: BufReader::new(stream) })
    }

    /// Asks for it and reads it whole.
    fn get(&mut self) -> Result<()> {
        let request = format!("GET {} HTTP/1.1\r\nHost: localhost\r\n\r\n", self.path);
        self.stream.get_mut().write_all(request.as_bytes())?;
        let status = self.line()?;
        ensure!(status.starts_with("HTTP/1.1 200"), "{}: {status}", self.path);
        let mut length = None;
        loop {
            let header = self.line()?.to_ascii_lowercase();
            if header.is_empty() {
                break;
            }
            if let Some(value) = header.strip_prefix("content-length:") {
                length = Some(value.trim().parse()?);
            }
        }
        let mut body = vec![0; length.with_context(|| format!("{} has no length", self.path))?];
        self.stream.read_exact(&mut body)?;
        Ok(())
    }

    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        ensure!(self.stream.read_line(&mut line)? > 0, "{}: the connection was closed", self.path);
        Ok(line.trim_end().to_owned())
    }
}
