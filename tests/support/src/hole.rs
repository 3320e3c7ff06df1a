//! A way to another network namespace, on which packets are dropped in silence, as a broken network does it.
//!
//! A namespace stands for the machine of a server, another for the router before it. The router drops by rules, as that
//! of `dev/topology/network.sh` does: an interface that is down, or a listener that stops reading, would tell the
//! sender.

use std::fs::File;
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::AsFd;
use std::process::Command;
use std::sync::atomic::{AtomicU8, Ordering};

use anyhow::{Context, Result, bail};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// Ways of this process.
static MADE: AtomicU8 = AtomicU8::new(0);

/// The way. Its namespaces go when it is dropped.
#[derive(Debug)]
pub struct BlackHole {
    name: String,
    net: [u8; 3],
}

impl BlackHole {
    /// A way on which all packets pass. Only root can make one.
    pub fn dig() -> Result<Self> {
        let process = std::process::id();
        let nth = MADE.fetch_add(1, Ordering::Relaxed);
        let name = format!("ls{process}-{nth}");
        // 10.64.0.0 to 10.127.255.0
        let net = [10, 64 + (process % 64).to_le_bytes()[0], nth];
        let hole = Self { name, net };
        hole.lay()
            .context("network namespaces, which root makes with ip, of the package iproute2")?;
        Ok(hole)
    }

    fn lay(&self) -> Result<()> {
        let (router, there, link) = (self.router(), self.there(), &self.name);
        let [a, b, c, d] = [1, 2, 3, 4].map(|host| self.address(host).to_string());
        for namespace in [&router, &there] {
            ip(&format!("netns add {namespace}"))?;
        }
        ip(&format!("link add {link} type veth peer name near netns {router}"))?;
        ip(&format!("addr add {a} peer {b}/32 dev {link}"))?;
        ip(&format!("link set {link} up"))?;
        ip(&format!("-n {router} addr add {b} peer {a}/32 dev near"))?;
        ip(&format!("-n {router} link set near up"))?;
        ip(&format!("link add far netns {router} type veth peer name end netns {there}"))?;
        ip(&format!("-n {router} addr add {c} peer {d}/32 dev far"))?;
        ip(&format!("-n {router} link set far up"))?;
        ip(&format!("-n {there} addr add {d} peer {c}/32 dev end"))?;
        ip(&format!("-n {there} link set end up"))?;
        ip(&format!("-n {there} route add default via {c}"))?;
        ip(&format!("route add {d}/32 via {b}"))?;
        inside(&router, || std::fs::write("/proc/sys/net/ipv4/ip_forward", "1"))
    }

    fn router(&self) -> String {
        format!("{}-router", self.name)
    }

    fn there(&self) -> String {
        format!("{}-there", self.name)
    }

    fn address(&self, host: u8) -> Ipv4Addr {
        let [a, b, c] = self.net;
        Ipv4Addr::new(a, b, c, host)
    }

    /// A listener at the other end of the way.
    pub fn listener(&self) -> Result<TcpListener> {
        let at = self.address(4);
        inside(&self.there(), move || TcpListener::bind((at, 0)))
    }

    /// Packets are dropped from now on, both ways.
    pub fn open(&self) -> Result<()> {
        self.rules("add")
    }

    /// Packets pass again.
    pub fn close(&self) -> Result<()> {
        self.rules("del")
    }

    fn rules(&self, change: &str) -> Result<()> {
        let (router, at) = (self.router(), self.address(4));
        ip(&format!("-n {router} rule {change} from {at} blackhole"))?;
        ip(&format!("-n {router} rule {change} to {at} blackhole"))
    }
}

impl Drop for BlackHole {
    fn drop(&mut self) {
        // The interfaces go with them.
        for namespace in [self.there(), self.router()] {
            let _ = ip(&format!("netns del {namespace}"));
        }
    }
}

/// Does something in a network namespace, in a thread that ends there.
fn inside<T: Send + 'static>(
    namespace: &str,
    what: impl FnOnce() -> std::io::Result<T> + Send + 'static,
) -> Result<T> {
    let place = File::open(format!("/run/netns/{namespace}"))?;
    let thread = std::thread::spawn(move || {
        move_into_link_name_space(place.as_fd(), Some(LinkNameSpaceType::Network))?;
        what()
    });
    thread.join().ok().context("a thread ended early")?.context("in a network namespace")
}

/// Runs `ip` with these words.
fn ip(words: &str) -> Result<()> {
    let output = Command::new("ip").args(words.split(' ')).output().context("ip")?;
    if !output.status.success() {
        bail!("ip {words}: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(())
}
