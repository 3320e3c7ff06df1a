//! Replies in the form in which two runs are compared.
//!
//! Only what must differ is taken out. Connection ids become session names. MariaDB's statement ids (counted over the
//! whole server), the random salts of logins and the numbers of COM_STATISTICS are blanked. A packet that holds none of
//! these stays as it came, frame headers included.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::Flavour;
use super::action::{Action, Step};
use super::run::{Entry, Reply, Transcript};
use crate::wire::decode::{Column, binary_integer, binary_row, text_row};
use crate::wire::{End, Kind, Login, Packet, Response, render};

/// `ER_UNKNOWN_STMT_HANDLER` and `ER_STMT_HAS_NO_OPEN_CURSOR`, whose messages hold the statement's id.
const ABOUT_A_STATEMENT: [u16; 2] = [1243, 1421];

/// A reply as it is compared.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Canon {
    pub(crate) packets: Vec<CanonPacket>,
    pub(crate) end: Option<End>,
    pub(crate) pace: Option<&'static str>,
    pub(crate) blocked: Option<bool>,
}

#[derive(Debug)]
pub(crate) enum CanonPacket {
    /// As it came.
    Raw(Packet),
    /// With something taken out: what it is, its sequence id, and the rest in words; and as it came.
    Said(Kind, u8, String, Packet),
}

impl CanonPacket {
    fn raw(&self) -> &Packet {
        let (Self::Raw(packet) | Self::Said(.., packet)) = self;
        packet
    }
}

/// A number in a packet may be a connection's id by chance, and that on one side only: what came
/// alike is alike.
impl PartialEq for CanonPacket {
    fn eq(&self, other: &Self) -> bool {
        let words = |packet: &Self| match packet {
            Self::Said(kind, sequence, words, _) => Some((*kind, *sequence, words.clone())),
            Self::Raw(_) => None,
        };
        let said = words(self).is_some_and(|said| Some(said) == words(other));
        said || self.raw() == other.raw()
    }
}

impl Eq for CanonPacket {}

impl Canon {
    /// Leaves out what servers and clients say for a password after the first packets of a login, and the numbers
    /// of the packets after that; and the ids of statements.
    pub(crate) fn forget_proofs(&mut self) {
        let greets = |p: &CanonPacket| matches!(p, CanonPacket::Said(Kind::Auth, 0, ..));
        let proves = |p: &CanonPacket| matches!(p, CanonPacket::Said(Kind::Auth, 1.., ..));
        for packet in &mut self.packets {
            let CanonPacket::Raw(raw) = packet else { continue };
            match raw.kind {
                Kind::Eof => raw.payload.get_mut(4).into_iter().for_each(|high| *high &= 0xbf),
                Kind::PrepareOk => raw.payload.get_mut(1..5).into_iter().for_each(|id| id.fill(0)),
                Kind::Err if is_about_a_statement(&raw.payload) => {
                    raw.payload = without_numbers(&render::bytes(&raw.payload[1..])).into_bytes();
                }
                _ => {}
            }
        }
        if !self.packets.iter().any(|p| greets(p) || proves(p)) {
            return;
        }
        self.packets.retain(|packet| !proves(packet));
        for packet in &mut self.packets {
            if let CanonPacket::Raw(raw) = packet {
                let words = render::bytes(&raw.payload);
                *packet = CanonPacket::Said(raw.kind, 0, words, raw.clone());
            }
        }
    }
}

/// Whether an ERR packet's message holds the id of a statement.
fn is_about_a_statement(payload: &[u8]) -> bool {
    let code = payload.get(1..3).map(|code| u16::from_le_bytes([code[0], code[1]]));
    code.is_some_and(|code| ABOUT_A_STATEMENT.contains(&code))
}

/// The comparable form of an entry of `transcript`.
pub(crate) fn canon(entry: &Entry, transcript: &Transcript, flavour: Flavour) -> Canon {
    let by_id: BTreeMap<String, String> = transcript
        .connections
        .iter()
        .map(|(name, nth, id)| (id.to_string(), format!("<id of {name} {nth}>")))
        .collect();
    let mut out = Canon { packets: Vec::new(), end: None, pace: None, blocked: None };
    match &entry.reply {
        Reply::Login(login) => {
            out.packets = login_packets(login);
            out.end = Some(login.end);
        }
        Reply::Response(response) => {
            let ids = entry.shows_ids.then_some(&by_id);
            // A client reads the rows by the definitions that it has, whenever they came.
            let whole = response.with_definitions();
            out.packets = response_packets(&whole, ids, flavour, entry);
            out.end = Some(response.end);
            out.pace = entry.step.expected_ms.map(|expected| pace(response, &entry.step, expected));
        }
        Reply::Sent(blocked) => out.blocked = *blocked,
    }
    out
}

/// How long a response took, as coarsely as can be compared on a busy machine.
pub(crate) fn pace(response: &Response, step: &Step, expected_ms: u64) -> &'static str {
    let took = response.took.as_millis();
    if took < u128::from(step.at_once_ms) {
        "at once"
    } else if took * 10 < u128::from(expected_ms) * 9 {
        "too early"
    } else {
        "after the wait"
    }
}

fn login_packets(login: &Login) -> Vec<CanonPacket> {
    let mut out = Vec::new();
    if let Some(greeting) = &login.greeting {
        let words = format!(
            "greeting {} collation {} status {} plugin {} salt of {}; capabilities agreed {:032b}",
            render::bytes(&greeting.version),
            greeting.collation,
            greeting.status,
            render::bytes(&greeting.plugin),
            greeting.salt.len(),
            login.capabilities
        );
        let payload = words.clone().into_bytes();
        let packet = Packet { kind: Kind::Auth, headers: Vec::new(), payload };
        out.push(CanonPacket::Said(Kind::Auth, 0, words, packet));
    }
    out.extend(login.packets.iter().map(auth_packet));
    out
}

/// Salts and keys are blanked: an auth switch keeps its plugin, other data its first two bytes.
fn auth_packet(packet: &Packet) -> CanonPacket {
    if packet.kind != Kind::Auth {
        return CanonPacket::Raw(packet.clone());
    }
    let shown = match packet.payload.first() {
        Some(0xfe) => packet.payload.split(|b| *b == 0).next().unwrap_or_default(),
        _ => packet.payload.get(..2).unwrap_or_default(),
    };
    CanonPacket::Said(Kind::Auth, packet.sequence(), render::bytes(shown), packet.clone())
}

fn response_packets(
    response: &Response,
    ids: Option<&BTreeMap<String, String>>,
    flavour: Flavour,
    entry: &Entry,
) -> Vec<CanonPacket> {
    let mut out = Vec::new();
    for (i, packet) in response.packets.iter().enumerate() {
        let said = |words: String| {
            CanonPacket::Said(packet.kind, packet.sequence(), words, packet.clone())
        };
        out.push(match packet.kind {
            Kind::Auth => auth_packet(packet),
            Kind::Text if matches!(entry.step.action, Action::Statistics) => {
                said(without_numbers(&render::bytes(&packet.payload)))
            }
            Kind::PrepareOk if flavour == Flavour::MariaDb => {
                let mut words = render::bytes(&packet.payload[..1]);
                let _ = write!(words, "{:02x?}", packet.payload.get(5..).unwrap_or_default());
                said(words)
            }
            Kind::Err
                if flavour == Flavour::MariaDb
                    && response.error().is_some_and(|e| ABOUT_A_STATEMENT.contains(&e)) =>
            {
                said(without_numbers(&render::bytes(&packet.payload[1..])))
            }
            _ => match ids {
                Some(ids) => with_ids(packet, &response.columns_before(i), ids),
                None => CanonPacket::Raw(packet.clone()),
            },
        });
    }
    out
}

/// The packet with connection ids named, or as it came where it holds none.
fn with_ids(packet: &Packet, columns: &[Column], ids: &BTreeMap<String, String>) -> CanonPacket {
    let words = match packet.kind {
        Kind::TextRow => text_row(&packet.payload).map(|row| {
            let shown = |v: Option<&[u8]>| v.map_or_else(|| "NULL".to_owned(), named(ids));
            row.into_iter().map(shown).collect::<Vec<_>>().join(" | ")
        }),
        Kind::BinaryRow => binary_row(&packet.payload, columns).map(|row| {
            row.iter()
                .zip(columns)
                .map(|(v, c)| binary_value(*v, c, ids))
                .collect::<Vec<_>>()
                .join(" | ")
        }),
        Kind::Column => Column::parse(&packet.payload).map(|mut column| {
            let name = named(ids)(&std::mem::take(&mut column.name));
            format!("{name} {column:?}")
        }),
        Kind::Err => Some(named(ids)(&packet.payload[1..])),
        _ => None,
    };
    match words {
        Some(words) if words.contains("<id of ") => {
            CanonPacket::Said(packet.kind, packet.sequence(), words, packet.clone())
        }
        _ => CanonPacket::Raw(packet.clone()),
    }
}

fn binary_value(value: Option<&[u8]>, column: &Column, ids: &BTreeMap<String, String>) -> String {
    match value {
        None => "NULL".to_owned(),
        Some(raw) => match binary_integer(column, raw) {
            Some(number) => {
                let named = ids.get(&number).cloned();
                format!("{}:{}", column.kind, named.unwrap_or(number))
            }
            None => named(ids)(raw),
        },
    }
}

/// Replaces every run of digits that is a connection id.
fn named(ids: &BTreeMap<String, String>) -> impl Fn(&[u8]) -> String {
    |raw| {
        let text = render::bytes(raw);
        let mut out = String::new();
        let mut rest = text.as_str();
        while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
            out.push_str(&rest[..start]);
            rest = &rest[start..];
            let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
            let digits = &rest[..end];
            out.push_str(ids.get(digits).map_or(digits, String::as_str));
            rest = &rest[end..];
        }
        out + rest
    }
}

fn without_numbers(text: &str) -> String {
    let mut out = String::new();
    for ch in text.chars() {
        if !ch.is_ascii_digit() {
            out.push(ch);
        } else if !out.ends_with('#') {
            out.push('#');
        }
    }
    out
}
