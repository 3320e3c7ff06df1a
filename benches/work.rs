//! The cost of the longest statements that are read in one piece, in milliseconds: `cargo bench --bench work`.

use std::hint::black_box;
use std::time::{Duration, Instant};

use lockstead::sql::classify::Judging;
use lockstead::sql::lexer::dialect::{Dialect, Multibyte};
use lockstead::sql::report::call_names::uses;
use lockstead::sql::report::coverage::{By, coverage};
use lockstead::sql::report::digest_text::normalise;
use lockstead::types::Flavour;

/// Bytes of each text.
const SIZE: usize = 61 * 1024;
/// Bytes that read differently in all modes and character sets.
const ODD: &[u8] = b"\"\\\\\x81a[\xa0 \xff --\x7f\"";
/// MariaDB has one mode more than MySQL.
const MARIADB: Dialect = Dialect {
    flavour: Flavour::MariaDb,
    version: 101_119,
    ansi_quotes: false,
    no_backslash_escapes: false,
    brackets: false,
    multibyte: Multibyte::Safe,
};

fn main() {
    println!(
        "{:<28}{:>9}{:>10}{:>10}{:>10}{:>10}",
        "", "readings", "judged", "one step", "observed", "shown"
    );
    for (name, text) in texts() {
        let (judged, step) = judge(&text);
        let observed = time(|| {
            black_box(coverage(&text, MARIADB, By::Query { several: true }));
            black_box(uses(&text, MARIADB));
        });
        let shown = time(|| {
            black_box(normalise(&text, MARIADB, 1024));
        });
        print!("{name:<28}{:>9}", MARIADB.readings(&text).len());
        for time in [judged, step, observed, shown] {
            print!("{:>10.2}", time.as_secs_f64() * 1e3);
        }
        println!();
    }
}

/// All readings, and the longest time without a chance for others.
fn judge(text: &[u8]) -> (Duration, Duration) {
    let once = || {
        let began = Instant::now();
        let mut judging = Judging::of(text, MARIADB);
        let mut longest = Duration::ZERO;
        loop {
            let step = Instant::now();
            let done = judging.step().is_some();
            longest = longest.max(step.elapsed());
            if done {
                return (began.elapsed(), longest);
            }
        }
    };
    let all: Vec<_> = std::iter::repeat_with(once).take(5).collect();
    let least = |nth: fn(&(Duration, Duration)) -> Duration| all.iter().map(nth).min();
    (least(|t| t.0).unwrap_or_default(), least(|t| t.1).unwrap_or_default())
}

/// The best of a few.
fn time(mut run: impl FnMut()) -> Duration {
    let once = || {
        let began = Instant::now();
        run();
        began.elapsed()
    };
    std::iter::repeat_with(once).take(5).min().unwrap_or_default()
}

/// `item` as often as it fits.
fn fill(before: &[u8], item: &[u8], after: &[u8]) -> Vec<u8> {
    let times = (SIZE - before.len() - after.len()) / item.len();
    [before, &item.repeat(times), after].concat()
}

fn texts() -> Vec<(&'static str, Vec<u8>)> {
    let call = b"SELECT GET_LOCK('k',0)";
    let calls = b"GET_LOCK('k',0),".repeat(64);
    let odd = [&call[..], b",", ODD].concat();
    let deep = SIZE / 2 - 20;
    let deep =
        [b"SET @a=", &b"(".repeat(deep)[..], b"GET_LOCK('k',0)", &b")".repeat(deep)].concat();
    let marks = [&b"/*!*/".repeat(SIZE / 10)[..], b"1)"].concat();
    let row = ",(12345, 'd\u{e9}j\u{e0} vu \"x\"')".as_bytes();
    vec![
        ("one-letter items", fill(call, b",a", b"")),
        ("rows", fill(b"INSERT INTO t VALUES (GET_LOCK('k',0),'')", b",(12345, 'some text')", b"")),
        ("rows in UTF-8", fill(b"INSERT INTO t VALUES (GET_LOCK('k',0),'')", row, b"")),
        ("without a call", fill(b"SELECT user_locked", b",a", b"")),
        ("many readings", fill(&odd, b",a", b"")),
        ("many readings of a string", fill(&[&odd[..], b",'"].concat(), b"x", b"'")),
        ("statements", fill(&[&odd[..], b";"].concat(), b"DO 1+GET_LOCK('k',0);", b"")),
        (
            "a text that is prepared",
            fill(b"PREPARE s FROM 'SELECT \"\", GET_LOCK(1,0)", b",a", b"'"),
        ),
        ("calls after items", fill(b"SELECT ", b"a,", &[&calls[..], b"1"].concat())),
        ("parentheses in SET", deep),
        ("half comments", fill(b"SELECT GET_LOCK(", b"x'',", &marks)),
    ]
}
