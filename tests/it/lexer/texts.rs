//! Texts around one lock call, made of what matters to a lexer.

use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};

/// A session's modes and character set, and what it is sent.
pub(super) struct Case {
    pub(super) modes: Vec<&'static str>,
    pub(super) charset: String,
    pub(super) text: Vec<u8>,
}

/// What texts are drawn from.
pub(super) struct Source<'a> {
    pub(super) mariadb: bool,
    /// The server's own.
    pub(super) version: u32,
    /// Those that a client may have.
    pub(super) charsets: &'a [String],
    /// Of the calls: two as strings, and two as numbers in strings and comments.
    pub(super) names: &'a [String; 4],
}

/// White space in all character sets.
const SPACE: [&[u8]; 16] = [
    b" ",
    b"\t",
    b"\n",
    b"\x0b",
    b"\x0c",
    b"\r",
    b"/**/",
    b"/* ' */",
    b"/*+ ` */",
    b"/*/ */",
    b"/*!*/",
    b"/*!00000*/",
    b"-- \n",
    b"--\x01'\n",
    b"# '\n",
    b"/*!99999 ' /* \" */ ` */",
];

/// White space in some.
const ODD_SPACE: [&[u8]; 12] = [
    b"\xa0",
    b"\xff",
    b"\x85",
    b"/*!/* */*/",
    b"/*M!*/",
    b"/*M! /**/ */",
    b"--\x7f'\n",
    b"--\xa0'\n",
    b"--\x98`\n",
    b"--\xff`\n",
    b"--\n",
    b"#\"\r\n",
];

/// The contents of strings, quoted names and comments.
const INSIDE: [&[u8]; 18] = [
    b"a",
    b" ",
    b"\\\\",
    b"\\n",
    b"\\\x81",
    b"''",
    b"\"\"",
    b"``",
    b"]]",
    b"[",
    b"\x81",
    b"\xc3\xa9",
    b"\xa0",
    b"\0",
    b"\n",
    b"/*",
    b"-- ",
    b"#",
];

/// What may end them, and what may keep something from ending them.
const ODD_INSIDE: [&[u8]; 29] = [
    b"\\'",
    b"\\\"",
    b"\\`",
    b"\\",
    b"'",
    b"\"",
    b"`",
    b"]",
    b"\x81\\",
    b"\xa1\\",
    b"\xe0\\",
    b"\xfe\\",
    b"\xff\\",
    b"\\\x81\\\\",
    b"\\\xa1\\",
    b"\\\xa1",
    b"\x81'",
    b"\x81`",
    b"\xa1`",
    b"\xa1``",
    b"\x81\"",
    b"\x81]",
    b"\xa1]",
    b"\x81\x30\x81\x30",
    b"\xff",
    b"*/",
    b";",
    b"$$",
    b"@",
];

/// Other items of a list.
const ITEMS: [&[u8]; 28] = [
    b"1",
    b"1.5",
    b".5",
    b"1.",
    b"1e5",
    b"1e+5",
    b"0x41",
    b"0b1",
    b"x'41'",
    b"b'01'",
    b"n'1'",
    b"_latin1'1\\\\'",
    b"_utf8 x'41'",
    b"@a",
    b"@a.b",
    b"@'a'",
    b"@`a`",
    b"@\"a\"",
    b"@@version",
    b"@@`version`",
    b"1--1",
    b"1- -1",
    b"1 --\x02'\n+1",
    b"1*/**/1",
    b"1/1",
    b"(1)",
    b"NULL",
    b"\\N",
];

/// What may stand there on one server, or in some modes.
const ODD_ITEMS: [&[u8]; 12] = [
    b"X'4'",
    b"_gbk'\x81\\'",
    b"@",
    b"@[a]",
    b"@\x81`a`",
    b"{d'2020-01-01'}",
    b"/*! 1 /* x */ */* /* */ 2",
    b"/*! 1 /*!99999 /* x */ */ */",
    b"1 a\xa0",
    b"1 a\x81",
    b"1 `a\x81`",
    b"$$ ' $$",
];

const STARTS: [&[u8]; 12] = [
    b"SELECT",
    b"SELECT",
    b"SELECT",
    b"DO",
    b"SELECT/*+ `*/",
    b"SELECT /*+ '*/",
    b"SELECT ALL",
    b"SET @x=",
    b"/*!SELECT*/",
    b"/*!50000 SELECT*/",
    b"DO 1; SELECT",
    b"WITH get_lock (a) AS (SELECT 1) SELECT (SELECT a FROM get_lock),",
];

/// Ends what is open, in one mode or another.
const ENDS: [&[u8]; 18] = [
    b"",
    b"",
    b"",
    b"",
    b" -- '",
    b"#\"",
    b"-- `",
    b" */",
    b"\0",
    b";",
    b"; ",
    b";\0",
    b"'",
    b"\"",
    b"`",
    b"]",
    b" --",
    b" --\xa0'",
];

/// Draws one case from a seed.
pub(super) fn draw(seed: u64, source: &Source<'_>) -> Case {
    let mut drawing = Drawing { random: StdRng::seed_from_u64(seed), source, out: Vec::new() };
    let modes = drawing.modes();
    let charset = drawing.charset();
    if drawing.one_in(150) {
        // Longer than what is held back.
        drawing.out.extend(b"/* it's \"long\" ` \\\x81 -- # /*".repeat(2500));
        drawing.text("*/");
    }
    drawing.statement();
    for _ in 0..drawing.random.random_range(0..5_u8).saturating_sub(3) {
        drawing.mutate();
    }
    Case { modes, charset, text: drawing.out }
}

struct Drawing<'a> {
    random: StdRng,
    source: &'a Source<'a>,
    out: Vec<u8>,
}

impl Drawing<'_> {
    fn one_in(&mut self, n: u32) -> bool {
        self.random.random_range(0..n) == 0
    }

    fn put(&mut self, from: &[&[u8]]) {
        let piece = from.choose(&mut self.random).copied().unwrap_or_default();
        self.out.extend_from_slice(piece);
    }

    fn text(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    fn modes(&mut self) -> Vec<&'static str> {
        let all = ["ANSI_QUOTES", "NO_BACKSLASH_ESCAPES", "IGNORE_SPACE", "MSSQL"];
        let all = if self.source.mariadb { &all[..] } else { &all[..3] };
        let drawn = all.iter().filter(|_| self.random.random_range(0..3) == 0);
        drawn.copied().collect()
    }

    fn charset(&mut self) -> String {
        const MATTER: [&str; 8] =
            ["utf8mb4", "latin1", "gbk", "big5", "sjis", "cp932", "gb18030", "utf8mb4"];
        let often = MATTER.choose(&mut self.random).copied().unwrap_or_default();
        let all = self.source.charsets;
        if self.one_in(3) || !all.iter().any(|name| name == often) {
            return all.choose(&mut self.random).cloned().unwrap_or_default();
        }
        often.to_owned()
    }

    fn statement(&mut self) {
        if self.one_in(8) {
            self.space();
        }
        self.put(&STARTS);
        // SET has no lists.
        let joins: &[&[u8]] = if self.out.ends_with(b"=") {
            &[b"<=>"]
        } else if self.out.ends_with(b"DO") {
            // MariaDB's does not evaluate what cannot be NULL.
            &[b","]
        } else {
            &[b",", b",", b", ", b"<=>"]
        };
        self.space();
        for _ in 0..self.random.random_range(0..3_u8) {
            self.item();
            self.put(joins);
            self.gap();
        }
        match self.random.random_range(0..8_u8) {
            0 | 1 => self.versioned(Self::call),
            2 | 3 => self.seeming_call(),
            _ => self.call(),
        }
        if self.one_in(4) {
            self.put(joins);
            self.item();
        }
        self.gap();
        if self.one_in(2) {
            self.put(&ENDS);
        }
    }

    /// Where white space may be left out.
    fn gap(&mut self) {
        if self.one_in(3) {
            self.space();
        }
    }

    fn space(&mut self) {
        if self.one_in(3) {
            self.put(&SPACE);
        }
        if self.one_in(16) {
            self.put(&ODD_SPACE);
        } else {
            self.put(&SPACE);
        }
    }

    fn inside(&mut self) {
        for _ in 0..self.random.random_range(0..4_u8) {
            match self.random.random_range(0..6_u8) {
                0 => self.decoy(),
                1 => self.put(&ODD_INSIDE),
                _ => self.put(&INSIDE),
            }
        }
    }

    /// Something that is a call where it is code.
    fn decoy(&mut self) {
        let name = self.source.names[2 + usize::from(self.one_in(2))].clone();
        self.put(&[b",", b" ", b"+"]);
        self.text(&format!("get_lock({name},0)"));
        self.put(&[b",", b" ", b"+"]);
    }

    /// A call in a string or a comment, which some modes turn into code.
    fn seeming_call(&mut self) {
        self.put(&[b"1/*", b"'", b"'", b"\"", b"1 `", b"1/*!999999 ", b"1--\x01"]);
        let opened = self.out.clone();
        if self.one_in(2) {
            self.inside();
        }
        self.decoy();
        if self.one_in(2) {
            self.inside();
        }
        self.text(match opened.last() {
            Some(b'\'') => "'",
            Some(b'"') => "\"",
            Some(b'`') => "`",
            Some(1) => "\n",
            _ => "*/",
        });
    }

    fn item(&mut self) {
        match self.random.random_range(0..8_u8) {
            0..3 => {
                let quote = [b'\'', b'"'][usize::from(self.one_in(3))];
                self.put(&[b"", b"", b"", b"_gbk", b"_binary ", b"n"]);
                self.quoted(quote, quote);
            }
            3 => {
                self.put(&[b"1 AS ", b"1 "]);
                let (open, close) = self.name_quotes();
                self.quoted(open, close);
                self.text(",1");
            }
            4 => self.versioned(Self::item),
            5 => {
                self.text("1/*");
                self.put(&[b"", b"+", b"M", b" ", b"/", b"*"]);
                self.inside();
                self.text("*/");
            }
            6 if self.one_in(3) => self.put(&ODD_ITEMS),
            _ => self.put(&ITEMS),
        }
    }

    fn name_quotes(&mut self) -> (u8, u8) {
        let all = [(b'`', b'`'), (b'`', b'`'), (b'`', b'`'), (b'"', b'"'), (b'[', b']')];
        all.choose(&mut self.random).copied().unwrap_or((b'`', b'`'))
    }

    fn quoted(&mut self, open: u8, close: u8) {
        self.out.push(open);
        self.text("q");
        self.inside();
        self.out.push(close);
    }

    /// Something in a comment that the server may execute.
    fn versioned(&mut self, what: fn(&mut Self)) {
        self.put(&[b"/*!", b"/*!", b"/*!", b"/*M!", b"/*m!", b"/* !"]);
        let own = self.source.version;
        let known = [0, 1, 50_000, 50_699, 50_700, 80_000, 99_999, 100_000, 999_999];
        let version = match self.random.random_range(0..4_u8) {
            0 => own.wrapping_add_signed(self.random.random_range(-1..2)),
            1 => known.choose(&mut self.random).copied().unwrap_or_default(),
            2 => self.random.random_range(0..2_000_000),
            _ => u32::MAX,
        };
        let width = self.random.random_range(4..8_usize);
        if version < u32::MAX {
            self.text(&format!("{version:0width$}"));
        }
        self.put(&[b" ", b" ", b"", b"\n", b"\xa0", b"0+", b"/**/"]);
        what(self);
        self.put(&[b" ", b"", b"/**/", b"/*'*/"]);
        self.text("*/");
    }

    fn call(&mut self) {
        let braces = self.one_in(8);
        if braces {
            self.text("{fn ");
        }
        if self.one_in(12) {
            self.put(&[
                b"_",
                b"1",
                b"x",
                b"n",
                b"$",
                b".",
                b"t.",
                b"@",
                b"\xc3\xa9",
                b"\x81",
                b"\xa0",
            ]);
        }
        let name: String = "get_lock"
            .chars()
            .map(|c| if self.one_in(2) { c.to_ascii_uppercase() } else { c })
            .collect();
        if self.one_in(4) {
            let (open, close) = self.name_quotes();
            self.out.push(open);
            self.text(&name);
            self.out.push(close);
        } else {
            self.text(&name);
        }
        if self.one_in(20) {
            self.put(&[b"\xc3", b"\xe2\x82", b"\xf0\x9f\x98", b"\x810", b"\x81", b"\xa1", b"\xff"]);
        }
        self.gap();
        self.text("(");
        self.argument();
        self.text(",");
        if self.one_in(4) {
            self.space();
        }
        self.put(&[b"0", b"0", b"0", b"0.0", b"/*!0*/", b"/*!000000*/", b"-0", b"x'30'"]);
        self.text(")");
        if braces {
            self.text("}");
        }
    }

    fn argument(&mut self) {
        let name = self.source.names[usize::from(self.one_in(2))].clone();
        let (head, tail) = name.split_at(2);
        match self.random.random_range(0..9_u8) {
            0 => self.text(&format!("\"{name}\"")),
            1 => self.text(&format!("_latin1'{name}'")),
            2 => self.text(&format!("n'{name}'")),
            3 => self.text(&format!("x'{}'", hex::encode(&name))),
            4 => self.text(&format!("0x{}", hex::encode(&name))),
            5 => self.text(&format!("'{head}' '{tail}'")),
            _ => self.text(&format!("'{name}'")),
        }
    }

    /// Puts a piece somewhere, or takes one away.
    fn mutate(&mut self) {
        let first = self.out.len().saturating_sub(300);
        let at = self.random.random_range(first..=self.out.len());
        let rest = self.out.split_off(at);
        match self.random.random_range(0..4_u8) {
            0 => self.put(&ODD_SPACE),
            1 => self.put(&ODD_INSIDE),
            2 => {
                let byte = self.random.random();
                self.out.push(byte);
            }
            _ => {
                self.out.extend_from_slice(rest.get(1..).unwrap_or_default());
                return;
            }
        }
        self.out.extend(rest);
    }
}
