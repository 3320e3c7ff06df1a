//! How fast the byte scan is that every statement pays: `cargo bench --bench scan`.

use std::hint::black_box;
use std::time::{Duration, Instant};

use lockstead::sql::classify::named::may_be_named;
use lockstead::sql::find::prefilter::{Found, scan};

/// The time that a round may take for each text.
const ROUND: Duration = Duration::from_millis(60);
/// The best round counts: everything else is the machine's other work.
const ROUNDS: usize = 15;

fn main() {
    let texts = [
        ("point select", b"SELECT c FROM sbtest1 WHERE id=5023".to_vec()),
        ("ordinary statement", ordinary().to_vec()),
        ("words without underscores", without_underscores(ordinary().repeat(100))),
        ("ordinary statements, 60 KiB", ordinary().repeat(100)),
        ("INSERT, underscores in names", insert()),
        ("underscores before l and r", b"user_role, last_login, is_rated, ".repeat(2000)),
        ("blob", blob()),
    ];
    println!("{:<32}{:>10}{:>12}{:>10}", "", "bytes", "ns", "GB/s");
    for (name, text) in texts {
        assert_eq!(scan(&text), Found::default(), "{name} has no match");
        assert!(!may_be_named(&text, false), "{name} prepares nothing");
        let best = (0..ROUNDS).map(|_| round(&text)).fold(f64::INFINITY, f64::min);
        #[expect(clippy::cast_precision_loss, reason = "texts are short")]
        let speed = text.len() as f64 / best;
        println!("{name:<32}{:>10}{best:>12.1}{speed:>10.2}", text.len());
    }
}

/// Nanoseconds a scan.
fn round(text: &[u8]) -> f64 {
    let began = Instant::now();
    let mut scans = 0.0;
    while began.elapsed() < ROUND {
        for _ in 0..64 {
            let text = black_box(text);
            black_box((scan(text), may_be_named(text, false)));
        }
        scans += 64.0;
    }
    began.elapsed().as_secs_f64() * 1e9 / scans
}

fn ordinary() -> &'static [u8] {
    b"SELECT o.id, o.customer_id, c.last_name, SUM(l.quantity * l.unit_price) AS order_total \
      FROM orders AS o JOIN customers AS c ON c.id = o.customer_id \
      LEFT JOIN order_lines AS l ON l.order_id = o.id \
      WHERE o.created_at >= '2024-01-01 00:00:00' AND o.status IN ('paid', 'shipped') \
      GROUP BY o.id, o.customer_id, c.last_name HAVING order_total > 100 ORDER BY o.id LIMIT 50;\n"
}

/// Many rows after a list of long names.
fn insert() -> Vec<u8> {
    let mut text =
        b"INSERT INTO audit_log_entries (created_at, user_id, remote_addr, request_path, \
                     response_code, is_api_call) VALUES "
            .to_vec();
    for row in 0..600 {
        let row = format!(
            "('2024-05-17 12:{:02}:00', {row}, '10.0.0.{}', '/api/v1/user_accounts/{row}/order_history', 200, 1),",
            row % 60,
            row % 256
        );
        text.extend(row.into_bytes());
    }
    text
}

fn blob() -> Vec<u8> {
    let mut state = 7_u64;
    let mut byte = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state.to_be_bytes()[0]
    };
    (0..60_000).map(|_| byte()).collect()
}

fn without_underscores(mut text: Vec<u8>) -> Vec<u8> {
    text.iter_mut().filter(|b| **b == b'_').for_each(|b| *b = b'x');
    text
}
