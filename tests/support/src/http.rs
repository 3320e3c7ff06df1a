//! Pages and metrics of a proxy.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// How long a page may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// Status line, headers and body of what a port of this machine replies to a GET; `None` without a reply.
pub fn page(port: u16, path: &str) -> Option<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).ok()?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).ok()?;
    let mut page = String::new();
    stream.read_to_string(&mut page).ok()?;
    Some(page)
}

/// Whether the proxy grants locks.
pub fn is_ready(port: u16) -> bool {
    page(port, "/readyz").is_some_and(|page| page.starts_with("HTTP/1.1 200"))
}

/// The value of a metric, by its full name with labels.
pub fn metric(port: u16, name: &str) -> Option<f64> {
    let page = page(port, "/metrics")?;
    page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok())
}
