//! Random responses that servers may give, read by the protocol's pages and by the product: both know what follows each
//! packet.

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::script::readings::product;
use crate::wire::capability::{DEPRECATE_EOF, OPTIONAL_RESULTSET_METADATA, PROTOCOL_41};
use crate::wire::decode::{put_lenenc, put_lenenc_bytes};
use crate::wire::second::{After, Second};
use crate::wire::{Kind, Packet, command};

const AUTOCOMMIT: u16 = 2;
const MORE_RESULTS: u16 = 8;
const CURSOR_EXISTS: u16 = 64;
/// A string and a number of four bytes.
const TYPES: [u8; 2] = [0xfd, 3];

/// A response in the making.
struct Making {
    random: StdRng,
    capabilities: u64,
    asked: Vec<u8>,
    packets: Vec<Packet>,
    after: Vec<After>,
}

impl Making {
    fn new(seed: u64) -> Self {
        let mut random = StdRng::seed_from_u64(seed);
        let mut capabilities = PROTOCOL_41;
        for bit in [DEPRECATE_EOF, OPTIONAL_RESULTSET_METADATA] {
            if random.random() {
                capabilities |= bit;
            }
        }
        let commands =
            [command::QUERY, command::STMT_EXECUTE, command::STMT_PREPARE, command::FIELD_LIST];
        let byte = commands[random.random_range(0..commands.len())];
        let asked = vec![byte, 1, 0, 0, 0, random.random_range(0..2), 1, 0, 0, 0];
        Self { random, capabilities, asked, packets: Vec::new(), after: Vec::new() }
    }

    fn say(&mut self, payload: Vec<u8>, after: After) {
        let n = u8::try_from(self.packets.len() % 256).expect("a byte");
        let [a, b, c, ..] = payload.len().to_le_bytes();
        let headers = vec![[a, b, c, n.wrapping_add(1)]];
        self.packets.push(Packet { kind: Kind::Unsolicited, headers, payload });
        self.after.push(after);
    }

    fn deprecates_eof(&self) -> bool {
        self.capabilities & DEPRECATE_EOF != 0
    }

    fn optional(&self) -> bool {
        self.capabilities & OPTIONAL_RESULTSET_METADATA != 0
    }

    fn ok(&mut self, first: u8, status: u16, after: After) {
        let mut out = vec![first];
        put_lenenc(&mut out, self.random.random_range(0..70_000));
        put_lenenc(&mut out, self.random.random_range(0..300));
        out.extend_from_slice(&status.to_le_bytes());
        out.extend_from_slice(&[0, 0]);
        self.say(out, after);
    }

    fn eof(&mut self, status: u16, after: After) {
        let [low, high] = status.to_le_bytes();
        self.say(vec![0xfe, 0, 0, low, high], after);
    }

    fn error(&mut self) {
        self.say(b"\xff\x28\x04#42000no".to_vec(), After::Nothing);
    }

    fn definition(&mut self, kind: u8) {
        let mut out = b"\x03def\0\0\0\x01x\0\x0c\x2d\0\x10\0\0\0".to_vec();
        out.extend_from_slice(&[kind, 0, 0, 0, 0, 0]);
        if self.asked[0] == command::FIELD_LIST {
            out.push(0xfb);
        }
        self.say(out, After::More);
    }

    /// Ends rows or definitions.
    fn end(&mut self, status: u16, after: After) {
        if self.deprecates_eof() { self.ok(0xfe, status, after) } else { self.eof(status, after) }
    }

    fn row(&mut self, columns: usize) {
        let binary = self.asked[0] == command::STMT_EXECUTE;
        let mut out = if binary { vec![0; 1 + (columns + 9) / 8] } else { Vec::new() };
        for n in 0..columns {
            // Bytes that begin other packets, in lengths that count in one byte and in three.
            let byte = [0x00, 0xfb, 0xfe, 0xff][self.random.random_range(0..4)];
            let length = [0, 1, 8, 251, 254, 300][self.random.random_range(0..6)];
            let value = vec![byte; length];
            match (binary, self.random.random_range(0..3)) {
                (true, 0) => out[1 + (n + 2) / 8] |= 1 << ((n + 2) % 8),
                (false, 0) => out.push(0xfb),
                (true, _) if TYPES[n % 2] == 3 => out.extend_from_slice(&[byte; 4]),
                _ => put_lenenc_bytes(&mut out, &value),
            }
        }
        self.say(out, After::More);
    }

    /// One result, after which others follow or not.
    fn result(&mut self, more: bool) {
        let (several, after) =
            if more { (MORE_RESULTS, After::Result) } else { (0, After::Nothing) };
        let status = AUTOCOMMIT | several;
        if self.random.random_bool(0.3) {
            return self.ok(0, status, after);
        }
        let columns = self.random.random_range(1..20_usize);
        let described = !self.optional() || self.random.random();
        let mut head = vec![u8::try_from(columns).expect("few")];
        if self.optional() {
            head.push(described.into());
        }
        self.say(head, After::More);
        for n in 0..if described { columns } else { 0 } {
            self.definition(TYPES[n % 2]);
        }
        // A cursor that was asked for, or one of a stored program's.
        let shown = if self.random.random() { CURSOR_EXISTS } else { 0 };
        let asks = self.asked[0] == command::STMT_EXECUTE && self.asked[5] == 1;
        if !self.deprecates_eof() {
            if asks && shown != 0 && !more {
                return self.eof(status | shown, After::Nothing);
            }
            self.eof(status | shown, After::More);
        }
        for _ in 0..self.random.random_range(0..4) {
            self.row(columns);
        }
        if !more && self.random.random_bool(0.1) {
            return self.error();
        }
        self.end(status | shown, after);
    }

    fn prepared(&mut self) {
        let (columns, params) = (self.random.random_range(0..3_u8), self.random.random_range(0..3));
        let mut head = vec![0, 1, 0, 0, 0, columns, 0, params, 0, 0, 0, 0];
        let described = !self.optional() || self.random.random();
        if self.optional() {
            head.push(described.into());
        }
        self.say(head, After::More);
        for count in [params, columns].into_iter().filter(|count| *count > 0) {
            for _ in 0..if described { count } else { 0 } {
                self.definition(3);
            }
            if !self.deprecates_eof() {
                self.eof(AUTOCOMMIT, After::More);
            }
        }
        *self.after.last_mut().expect("a head") = After::Nothing;
    }

    fn make(mut self) -> Self {
        match self.asked[0] {
            _ if self.random.random_bool(0.1) => self.error(),
            command::STMT_PREPARE => self.prepared(),
            command::FIELD_LIST => {
                for _ in 0..self.random.random_range(0..3) {
                    self.definition(3);
                }
                self.end(AUTOCOMMIT, After::Nothing);
            }
            _ => {
                for left in (0..self.random.random_range(1..4)).rev() {
                    self.result(left > 0);
                }
            }
        }
        self
    }
}

#[test]
fn both_readings_of_random_responses_agree() {
    for seed in 0..3000 {
        let Making { capabilities, asked, packets, after, .. } = Making::new(seed).make();
        let second = Second { capabilities, asked: &asked, fetched: None }.read(&packets);
        assert_eq!(second.as_ref(), Ok(&after), "{seed}: {packets:02x?}");
        assert_eq!(product(capabilities, &asked, &packets), after, "{seed}: {packets:02x?}");
    }
}
