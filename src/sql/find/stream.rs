//! A statement too long to be held back, which is searched for lock calls while it streams to the server. From the
//! first call on it is spoilt, so that the server refuses it.

use super::finder::Finder;
use super::mentions::Mentions;
use crate::protocol::attributes::AttributesAhead;
use crate::sql::lexer::dialect::Dialect;

/// What the search found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamFound {
    /// A call, however the server reads the text.
    Call,
    /// A call in some modes or character sets, in others a part of a string or a comment.
    PerhapsCall,
    /// A function's name in a text that the statement prepares.
    Prepared,
}

/// Readings that are distinguished. Only a crafted text has more: then each name counts as a call.
const MAX_READINGS: usize = 16;
/// Bytes that several readings scan until they are compared: few where they part, more elsewhere.
const STRIDES: [usize; 2] = [64, 1024];
/// Readings that part in such a piece, which each may do again and again before it ends.
const MAX_FORKS: usize = 64;
/// So far in front of a name its meaning is decided.
const NEAR: usize = 64;

/// What is in front of a statement.
#[derive(Debug, Clone)]
enum Ahead {
    /// This number of bytes.
    Bytes(usize),
    /// Query attributes.
    Attributes(AttributesAhead),
}

impl Ahead {
    /// How many bytes of a piece it takes.
    fn pass(&mut self, piece: &[u8]) -> usize {
        match self {
            Self::Bytes(left) => {
                let now = piece.len().min(*left);
                *left -= now;
                now
            }
            Self::Attributes(attributes) => {
                let (now, text) = attributes.pass(piece);
                if text {
                    *self = Self::Bytes(0);
                }
                now
            }
        }
    }
}

/// Passes a statement on.
#[derive(Debug, Clone)]
pub struct Stream {
    /// What is still to be passed over in front of the statement.
    ahead: Ahead,
    /// Bytes of the statement that were passed on.
    at: usize,
    /// A finder for each way in which the text so far may be read; none when there are too many.
    readings: Vec<Finder>,
    stride: usize,
    mentions: Mentions,
    /// Every name counts from here on.
    names_count: bool,
    /// Bytes that were spoilt.
    spoilt: Option<usize>,
    /// Nothing is spoilt: the statement is only searched.
    looks: bool,
    /// There are names that may be executed.
    named: bool,
}

impl Stream {
    /// A statement that starts after `skip` bytes.
    pub fn after(dialect: Dialect, skip: usize) -> Self {
        Self::from_start(dialect, Ahead::Bytes(skip))
    }

    /// A statement after a command byte and query attributes of any length.
    pub fn after_attributes(dialect: Dialect) -> Self {
        Self::from_start(dialect, Ahead::Attributes(AttributesAhead::default()))
    }

    fn from_start(dialect: Dialect, ahead: Ahead) -> Self {
        let readings = vec![Finder::in_any_mode(dialect)];
        Self {
            ahead,
            at: 0,
            readings,
            stride: STRIDES[0],
            mentions: Mentions::default(),
            names_count: false,
            spoilt: None,
            looks: false,
            named: false,
        }
    }

    /// A stream that is passed on as it is.
    #[must_use]
    pub fn looking(self) -> Self {
        Self { looks: true, ..self }
    }

    /// A stream in which EXECUTE counts as a call.
    #[must_use]
    pub fn with_names(self, named: bool) -> Self {
        Self { named, ..self }
    }

    /// Looks at a chunk. A call that begins in it is told once; what follows the call's
    /// parenthesis, here and in all later chunks, is overwritten.
    pub fn pass(&mut self, chunk: &mut [u8]) -> Option<StreamFound> {
        if self.spoilt.is_some() {
            self.spoil(chunk);
            return None;
        }
        let skipped = self.ahead.pass(chunk);
        let text = &mut chunk[skipped..];
        let (at, found) = self.find(text)?;
        self.spoil(&mut text[at..]);
        Some(found)
    }

    /// Bytes that no lexer takes outside of strings and comments, and that end neither: whatever
    /// the server is reading, what comes is a syntax error. Only a comment up to the end of the
    /// line has to be ended first.
    fn spoil(&mut self, text: &mut [u8]) {
        let spoilt = self.spoilt.get_or_insert(0);
        if self.looks {
            return;
        }
        for byte in text {
            *byte = if *spoilt == 1 { b'\n' } else { 1 };
            *spoilt = spoilt.saturating_add(1);
        }
    }

    /// Where the arguments of the first call start in this piece.
    fn find(&mut self, text: &[u8]) -> Option<(usize, StreamFound)> {
        let before = self.at;
        let named = self.readings.iter().any(Finder::expects_call);
        self.scan(text);
        if named && self.readings.is_empty() {
            // Whether this was its parenthesis is not known any more.
            return Some((0, StreamFound::PerhapsCall));
        }
        let calls = || self.readings.iter().map(|finder| finder.first(self.named));
        let call = calls().flatten().min().map(|end| {
            let found = if calls().all(|c| c == Some(end)) {
                StreamFound::Call
            } else {
                StreamFound::PerhapsCall
            };
            (end.saturating_sub(before), found)
        });
        let mention = self.mention(text, before);
        call.into_iter().chain(mention).min_by_key(|(at, _)| *at)
    }

    /// All readings scan the text, in step. Where no name is near, they need not look closely.
    fn scan(&mut self, text: &[u8]) {
        let mut at = 0;
        let mut name = 0;
        while at < text.len() && !self.readings.is_empty() {
            if at >= name {
                name = next_name(text, at);
            }
            let skim = name.saturating_sub(NEAR).saturating_sub(at);
            let end = if skim > 0 { at + skim } else { name };
            if let [only] = self.readings.as_mut_slice() {
                at += only.feed(&text[at..end], skim);
                let fork = only.fork();
                self.readings.extend(fork);
            } else {
                let end = end.min(at + self.stride);
                self.scan_apart(&text[at..end], skim);
                at = end;
            }
        }
        self.at += text.len();
        if self.readings.iter().any(Finder::is_unsure) {
            self.readings.clear();
            self.names_count = true;
        }
    }

    fn scan_apart(&mut self, text: &[u8], skim: usize) {
        let mut open = Vec::new();
        for reading in &mut self.readings {
            scan_forking(reading, text, 0, skim, &mut open);
        }
        let mut forks = 0;
        while let Some((mut fork, at)) = open.pop() {
            scan_forking(&mut fork, text, at, skim, &mut open);
            if !self.readings.iter_mut().any(|known| known.merge(&fork)) {
                self.readings.push(fork);
            }
            forks += 1;
            if forks > MAX_FORKS || self.readings.len() > MAX_READINGS {
                self.readings.clear();
                self.names_count = true;
                return;
            }
        }
        self.stride = if forks > 0 { STRIDES[0] } else { STRIDES[1].min(2 * self.stride) };
        for last in (1..self.readings.len()).rev() {
            let (known, rest) = self.readings.split_at_mut(last);
            if known.iter_mut().any(|known| known.merge(&rest[0])) {
                self.readings.swap_remove(last);
            }
        }
    }

    /// The position after the first name, where every name counts.
    fn mention(&mut self, text: &[u8], before: usize) -> Option<(usize, StreamFound)> {
        let blind = self.readings.is_empty();
        let prepares = self.readings.iter().filter_map(Finder::prepares_after).min();
        let mut from = 0;
        if let Some(at) = prepares.filter(|_| !self.names_count) {
            self.mentions = Mentions::default();
            self.names_count = true;
            from = at.saturating_sub(before).min(text.len());
        }
        if !self.names_count {
            self.mentions.remember(text);
            return None;
        }
        let end = self.mentions.feed(&text[from..])?;
        Some((from + end, if blind { StreamFound::PerhapsCall } else { StreamFound::Prepared }))
    }
}

/// Scans a piece from `at` on; readings that part on the way are left where they did.
fn scan_forking(
    reading: &mut Finder,
    text: &[u8],
    mut at: usize,
    skim: usize,
    open: &mut Vec<(Finder, usize)>,
) {
    while at < text.len() {
        at += reading.feed(&text[at..], skim.saturating_sub(at));
        open.extend(reading.fork().map(|fork| (fork, at)));
    }
}

/// The position after the part that all five names share, or the end of the text, where one may begin.
fn next_name(text: &[u8], from: usize) -> usize {
    let rest = &text[from..];
    let is = |at: usize| rest.get(at..at + 5).is_some_and(|w| w.eq_ignore_ascii_case(b"_lock"));
    let at = memchr::memchr_iter(b'_', rest).find(|at| is(*at));
    at.map_or(text.len(), |at| from + at + 5)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::find::mentions::mention;
    use crate::sql::lexer::dialect::Multibyte;
    use crate::types::Flavour;
    const MYSQL: Dialect = Dialect::MYSQL;

    /// More than what is near.
    const LONG: &[u8] =
        b"so long a text (that has nothing, of interest, in it), x=1, and goes on and on \
        and on until there is no word that is near to any other that could matter";

    const MARIADB: Dialect = Dialect { flavour: Flavour::MariaDb, version: 101_119, ..MYSQL };

    fn pass(text: &[u8], size: usize) -> (Vec<u8>, Option<StreamFound>) {
        pass_in(MYSQL, text, size)
    }

    fn pass_in(dialect: Dialect, text: &[u8], size: usize) -> (Vec<u8>, Option<StreamFound>) {
        let mut stream = Stream::after(dialect, 0);
        let mut out = text.to_vec();
        let mut found = None;
        for chunk in out.chunks_mut(size) {
            found = found.or(stream.pass(chunk));
        }
        (out, found)
    }

    #[test]
    fn the_text_after_a_call_s_parenthesis_is_spoilt() {
        for size in 1..30 {
            let (out, found) = pass(b"SELECT 'x', GET_LOCK('k', 0)", size);
            assert_eq!(out, b"SELECT 'x', GET_LOCK(\x01\n\x01\x01\x01\x01\x01", "pieces of {size}");
            assert_eq!(found, Some(StreamFound::Call));
            let (out, found) = pass(b"PREPARE s FROM 'DO GET_LOCK(0)'", size);
            assert_eq!(out, b"PREPARE s FROM 'DO GET_LOCK\x01\n\x01\x01", "pieces of {size}");
            assert_eq!(found, Some(StreamFound::Prepared));
        }
    }

    #[test]
    fn texts_without_a_call_in_any_reading_pass() {
        for text in [
            "INSERT INTO t VALUES ('GET_LOCK(1)', \"it's GET_LOCK(2)\", 'it''s \\n \\\\', `é`, 'é\\n')",
            "SELECT get_lock FROM t -- GET_LOCK(1) isn't \"called\"\n# nor here: GET_LOCK(1)",
            "SELECT /* GET_LOCK(1) it's */ /*!99999 GET_LOCK(2) */ 1",
            "SELECT 'a\\n', 'GET_LOCK(1)'",
            "SELECT '\\\"', 'GET_LOCK(1)'",
            "SELECT 'PREPARE s FROM', 'GET_LOCK(1)'",
        ] {
            for size in [1, 2, 7, 1000] {
                assert_eq!(pass(text.as_bytes(), size), (text.as_bytes().to_vec(), None), "{text}");
            }
        }
    }

    #[test]
    fn a_call_in_one_reading_only_is_found() {
        for text in [
            &b"SELECT 'a\\', GET_LOCK(1)"[..],
            b"SELECT 'a\\'', 'GET_LOCK(1)",
            b"SELECT \"a\\\", GET_LOCK(1), \"\"",
            b"SELECT \"GET_LOCK\"(1)",
            b"SELECT '\x81\\', GET_LOCK(1)",
            b"SELECT '\x81\\\\', GET_LOCK(1), '",
            b"SELECT \x81`GET_LOCK(1)`",
            b"SELECT `\x81`, GET_LOCK(1)`",
        ] {
            for size in [1, 2, 7, 1000] {
                let (_, found) = pass(text, size);
                assert!(found.is_some(), "{}", String::from_utf8_lossy(text));
            }
        }
    }

    /// All dialects of a server that the proxy has to reckon with.
    fn dialects(server: Dialect, multibyte: &[Multibyte]) -> Vec<Dialect> {
        let mut all = Vec::new();
        for multibyte in multibyte {
            for n in 0..8 {
                let (ansi_quotes, no_backslash_escapes) = (n & 1 > 0, n & 2 > 0);
                all.push(Dialect {
                    ansi_quotes,
                    no_backslash_escapes,
                    brackets: n & 4 > 0 && server.flavour == Flavour::MariaDb,
                    multibyte: *multibyte,
                    ..server
                });
            }
        }
        all
    }

    /// A text made of pieces that matter to the lexer.
    fn random_text(seed: &mut u64, pieces: &[&[u8]]) -> Vec<u8> {
        let mut next = || {
            *seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(*seed >> 33).expect("31 bits")
        };
        let n = 3 + next() % 12;
        (0..n).flat_map(|_| pieces[next() % pieces.len()].to_vec()).chain(*b" ").collect()
    }

    #[test]
    fn no_call_of_any_reading_is_missed() {
        const PIECES: [&[u8]; 35] = [
            b"'",
            b"'",
            b"\"",
            b"`",
            b"\\",
            b"\\",
            b"\\'",
            b"\xc3\xa9",
            b"\x81",
            b"\xe0",
            b"x",
            b" ",
            b"\n",
            b"#",
            b"/*",
            b"*/",
            b"/*!",
            b"[",
            b"]",
            b"-- ",
            b"PREPARE x FROM ",
            b"EXECUTE IMMEDIATE ",
            LONG,
            LONG,
            b"GET_LOCK(",
            b", GET_LOCK(",
            b"GET_LOCK",
            b"GET_LOCK",
            b"\xa0",
            b"\xff",
            b"(",
            b"--",
            b"@",
            b"/*!500000",
            b"/*M!",
        ];
        use Multibyte::{Big5, Cp1250, Dos, Gb18030, Gbk, Hp8, Latin, Safe, Sjis};
        let sets = [Safe, Gbk, Gb18030, Sjis, Big5, Latin, Dos, Cp1250, Hp8];
        let servers = [MARIADB, MYSQL].map(|server| (server, dialects(server, &sets)));
        let mut seed = 1;
        for n in 0..3_000 {
            let (server, all) = &servers[n % 2];
            let text = random_text(&mut seed, &PIECES);
            let finders = all.iter().map(|d| Finder::of(&text, *d));
            let ends = finders.filter_map(|f| {
                let prepared = f.prepares_after().and_then(|at| Some(at + mention(&text[at..])?));
                f.first_call().into_iter().chain(prepared).min()
            });
            let first = ends.min();
            let (out, found) = pass_in(*server, &text, 1 + n % 400);
            let kept = out.iter().zip(&text).take_while(|(a, b)| a == b).count();
            if let Some(first) = first {
                let text = text.escape_ascii();
                assert!(found.is_some(), "missed: {text}");
                assert!(kept <= first, "{kept} bytes kept, {first} are good: {text}");
            }
        }
    }

    #[test]
    fn a_call_of_no_reading_is_not_found() {
        const PIECES: [&[u8]; 17] = [
            b"'",
            b"'",
            b"\"",
            b"`",
            b"\\",
            b"\\'",
            b"x",
            b" ",
            b"\n",
            b"#",
            b"/*",
            b"*/",
            b"/*!",
            b"[",
            b"]",
            b", GET_LOCK(",
            LONG,
        ];
        let all = dialects(MARIADB, &[Multibyte::Safe]);
        let mut seed = 2;
        for n in 0..15_000 {
            let text = random_text(&mut seed, &PIECES);
            let calls = all.iter().filter_map(|d| Finder::of(&text, *d).first_call()).count();
            let (_, found) = pass_in(MARIADB, &text, 1 + n % 400);
            assert_eq!(found.is_some(), calls > 0, "{}", String::from_utf8_lossy(&text));
        }
    }

    #[test]
    fn a_name_just_before_the_readings_are_too_many_is_found() {
        for name in ["get_lock(", "get_lock /* */ ("] {
            let text = [&b"\xff`\xff`  "[..], name.as_bytes(), &b"\xff`".repeat(4)].concat();
            for size in 1..text.len() {
                assert!(pass(&text, size).1.is_some(), "{name} in pieces of {size}");
            }
        }
    }

    #[test]
    fn a_text_made_to_be_read_in_too_many_ways_takes_little_work() {
        let text =
            [&b"SELECT '"[..], &b"\x81\\'\x81\\'\x81`\x81\\\"".repeat(20_000), b" get_lock(1)"];
        let (out, found) = pass(&text.concat(), 65_536);
        assert!(found.is_some());
        assert!(out.ends_with(&[1]));
    }
}
