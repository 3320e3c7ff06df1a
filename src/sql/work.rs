//! Statements that are made to be looked at for long: no step takes much longer than a plain one.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use super::classify::Judging;
use super::lexer::dialect::Dialect;
use super::report::digest_text::normalise;

/// How many times as long as a plain text of the same length another may take.
pub(crate) const MOST: u32 = 12;

/// `item` as often as it fits.
fn fill(size: usize, before: &str, item: &str, after: &str) -> Vec<u8> {
    let times = (size - before.len() - after.len()) / item.len();
    [before, &item.repeat(times), after].concat().into_bytes()
}

pub(crate) fn plain(size: usize) -> Vec<u8> {
    fill(size, "SELECT GET_LOCK('k',0)", ",a", "")
}

/// Texts with bytes that read differently in all modes and character sets.
pub(crate) fn many_readings(size: usize) -> Vec<Vec<u8>> {
    let odd = b"\"\\\x81a[\xa0 \xff --\x7f\"";
    let texts = [
        ("SELECT GET_LOCK('k',0),#", ",a", ""),
        ("SELECT GET_LOCK('k',0)", " ", "#"),
        ("SELECT GET_LOCK('k',0),#", ",'\\\"'", ""),
        ("SELECT GET_LOCK('k',0);", "DO 1+GET_LOCK('k',0);", "DO #"),
        ("PREPARE s FROM 'SELECT GET_LOCK(1,0),#", ",a", "'"),
        ("PREPARE s FROM 'PREPARE s FROM \"PREPARE s FROM GET_LOCK #", ",a", "\"'"),
        ("PREPARE s FROM 'SELECT \"#\", GET_LOCK(1,0)", ",\"a\"", "'"),
    ];
    let with_odd = texts.map(|(before, item, after)| {
        let mut text = fill(size, before, item, after);
        let at = text.iter().position(|b| *b == b'#').expect("a place");
        text.splice(at..=at, odd.iter().copied());
        text
    });
    with_odd.to_vec()
}

/// Texts that are read in one way, with much of what is looked at from elsewhere in the text.
fn many_passes(size: usize) -> Vec<Vec<u8>> {
    let calls = "GET_LOCK('k',0),".repeat(64);
    let (opens, closes) = ("(".repeat(size / 2), ")".repeat(size / 2));
    let marks = "/*!*/".repeat(size / 10);
    vec![
        fill(size, "SELECT ", "a,", &format!("{calls}1")),
        format!("SET @a={opens}GET_LOCK('k',0){closes}").into_bytes(),
        fill(size, "SELECT GET_LOCK(", "-'',", &format!("{marks}1)")),
        fill(size, &format!("SELECT {calls}"), "/*!*/", "1"),
    ]
}

/// The time this thread has worked: others on the machine do not count.
pub(crate) fn worked() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or_default())
}

/// The best of a few.
pub(crate) fn best(run: impl FnMut() -> Duration) -> Duration {
    std::iter::repeat_with(run).take(3).min().unwrap_or_default()
}

fn longest_step(text: &[u8]) -> Duration {
    let mut judging = Judging::of(text, Dialect::MARIADB);
    let mut longest = Duration::ZERO;
    loop {
        let began = worked();
        let done = judging.step().is_some();
        longest = longest.max(worked().saturating_sub(began));
        if done {
            return longest;
        }
    }
}

fn normalised(text: &[u8]) -> Duration {
    let began = worked();
    let shown = normalise(text, Dialect::MARIADB, 1024);
    assert!(shown.len() < 2000);
    worked().saturating_sub(began)
}

#[test]
fn no_step_takes_much_longer_than_a_plain_text() {
    for (size, texts) in [(4096, many_readings(4096)), (40_000, many_passes(40_000))] {
        let plain = plain(size);
        let step = best(|| longest_step(&plain));
        let shown = best(|| normalised(&plain));
        for text in texts {
            let start = text[..48].escape_ascii();
            let took = best(|| longest_step(&text));
            assert!(took < MOST * step, "{start}: {took:?}, a plain text {step:?}");
            // In all readings, but only the beginning. On an idle machine it takes up to 85 times as long.
            let took = best(|| normalised(&text));
            assert!(took < 20 * MOST * shown, "{start}: {took:?} to show, a plain text {shown:?}");
        }
    }
}
