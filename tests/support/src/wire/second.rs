//! A second reading of responses, by the servers' protocol pages: each packet is read to its last byte, so that none can
//! be taken for another. It finds no end by itself; it says what a recorded response is, or why it is none.

use super::capability::{DEPRECATE_EOF, MARIADB_CACHE_METADATA, OPTIONAL_RESULTSET_METADATA};
use super::command;
use super::decode::{Column, Cursor, binary_row_whole, text_row};
use super::frame::MAX_PAYLOAD;
use super::response::Packet;

/// What comes after a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum After {
    /// More of the same result.
    More,
    /// Another result.
    Result,
    /// The client's file.
    File,
    /// Nothing: the response is complete.
    Nothing,
}

/// A recorded response.
pub struct Second<'a> {
    /// What both sides speak.
    pub capabilities: u64,
    /// The command's first bytes.
    pub asked: &'a [u8],
    /// The columns of the rows that a COM_STMT_FETCH gets, if they are known.
    pub fetched: Option<&'a [Column]>,
}

/// Status flags, by their names on the page `SERVER_STATUS_flags_enum`.
const MORE_RESULTS_EXISTS: u16 = 8;
const CURSOR_EXISTS: u16 = 64;
const PS_OUT_PARAMS: u16 = 4096;

/// The packets that are not read yet, and what follows those that are.
struct Rest<'a> {
    packets: &'a [Packet],
    read: Vec<After>,
}

impl<'a> Rest<'a> {
    fn next(&mut self) -> Result<&'a [u8], String> {
        let at = self.read.len();
        let packet = self.packets.get(at).ok_or("it ends too early")?;
        self.read.push(After::More);
        Ok(&packet.payload)
    }

    /// Another result follows the packet that was read last, or nothing does.
    fn ends(&mut self, after: After) {
        if let Some(last) = self.read.last_mut() {
            *last = after;
        }
    }
}

/// An OK, EOF or ERR packet, read whole.
enum Closing {
    Status(u16),
    Error,
}

impl Second<'_> {
    /// What follows each packet of a response that is complete, or ends with a request for a file. An error says what it
    /// is instead of a response.
    pub fn read(&self, packets: &[Packet]) -> Result<Vec<After>, String> {
        let mut rest = Rest { packets, read: Vec::new() };
        let read = match self.asked.first().copied() {
            Some(command::STMT_PREPARE) => self.prepared(&mut rest),
            Some(command::STMT_FETCH) => self.fetched(&mut rest),
            Some(command::FIELD_LIST) => Self::fields(&mut rest),
            Some(command::STATISTICS) => {
                let text = rest.next()?;
                rest.ends(After::Nothing);
                if text.is_ascii() { Ok(()) } else { Err("no text".to_owned()) }
            }
            _ => self.results(&mut rest),
        };
        let at = |rest: &Rest<'_>| format!("packet {} of {}", rest.read.len(), packets.len());
        read.map_err(|why| format!("{}: {why}", at(&rest)))?;
        if rest.read.len() != packets.len() {
            return Err(format!("{}: it has ended, but there are more", at(&rest)));
        }
        Ok(rest.read)
    }

    fn deprecates_eof(&self) -> bool {
        self.capabilities & DEPRECATE_EOF != 0
    }

    /// `COM_QUERY Response`, and `COM_STMT_EXECUTE Response` with binary rows.
    fn results(&self, rest: &mut Rest<'_>) -> Result<(), String> {
        loop {
            let head = rest.next()?;
            let status = match head.first() {
                Some(0x00 | 0xfe) => match closing(head)? {
                    Closing::Status(status) => status,
                    Closing::Error => return Err("no OK".to_owned()),
                },
                Some(0xff) => {
                    closing(head)?;
                    rest.ends(After::Nothing);
                    return Ok(());
                }
                Some(0xfb) => {
                    rest.ends(After::File);
                    return Ok(());
                }
                _ => match self.result_set(head, rest)? {
                    Closing::Status(status) => status,
                    Closing::Error => {
                        rest.ends(After::Nothing);
                        return Ok(());
                    }
                },
            };
            if status & MORE_RESULTS_EXISTS == 0 {
                rest.ends(After::Nothing);
                return Ok(());
            }
            rest.ends(After::Result);
        }
    }

    /// `Text Resultset` or `Binary Protocol Resultset`, after its number of columns.
    fn result_set(&self, head: &[u8], rest: &mut Rest<'_>) -> Result<Closing, String> {
        let mut c = Cursor(head);
        let count = c.lenenc().filter(|n| *n > 0).ok_or("no number of columns")?;
        let count = usize::try_from(count).map_err(|_| "no number of columns")?;
        let flagged =
            self.capabilities & (OPTIONAL_RESULTSET_METADATA | MARIADB_CACHE_METADATA) != 0;
        let described = if flagged { c.u8().ok_or("no flag of metadata")? != 0 } else { true };
        if !c.0.is_empty() {
            return Err("more than a number of columns".to_owned());
        }
        let mut columns = Vec::new();
        while described && columns.len() < count {
            let packet = rest.next()?;
            if packet.first() == Some(&0xff) {
                return closing(packet);
            }
            columns.push(definition(packet, false)?);
        }
        let executes = self.asked.first() == Some(&command::STMT_EXECUTE);
        let mut follows = None;
        if !self.deprecates_eof() {
            let packet = rest.next()?;
            let Closing::Status(status) = closing(packet)? else { return Ok(Closing::Error) };
            if packet.first() != Some(&0xfe) || packet.len() != 5 {
                return Err("no EOF after the columns".to_owned());
            }
            // "If a cursor was requested and could be opened": the only result of its statement.
            let cursor = executes && self.asked.get(5).is_some_and(|flags| flags & 1 != 0);
            let several = status & MORE_RESULTS_EXISTS;
            if cursor && several == 0 && status & CURSOR_EXISTS != 0 {
                return Ok(Closing::Status(status));
            }
            // MySQL's EOF after OUT parameters does not tell that the OK of the CALL follows.
            follows = (status & PS_OUT_PARAMS != 0).then_some(several);
        }
        let binary = executes || self.asked.first() == Some(&BULK_EXECUTE);
        let columns = described.then_some(&columns[..]);
        match self.rows(rest, binary, (count, columns))? {
            Closing::Status(status) => Ok(Closing::Status(status | follows.unwrap_or_default())),
            Closing::Error => Ok(Closing::Error),
        }
    }

    /// Rows up to their end. Each of them is read value by value.
    fn rows(
        &self,
        rest: &mut Rest<'_>,
        binary: bool,
        (count, columns): (usize, Option<&[Column]>),
    ) -> Result<Closing, String> {
        loop {
            let packet = rest.next()?;
            let ends = match packet.first() {
                Some(0xff) => true,
                // A row may begin so if its first value is longer than all of such a packet.
                Some(0xfe) if self.deprecates_eof() => packet.len() < MAX_PAYLOAD,
                Some(0xfe) => packet.len() == 5,
                _ => false,
            };
            if ends {
                if packet.first() == Some(&0xfe) && (packet.len() == 5) == self.deprecates_eof() {
                    return Err("an end of rows for another client".to_owned());
                }
                return closing(packet);
            }
            let is_row = match (binary, columns) {
                (false, _) => text_row(packet).is_some_and(|row| row.len() == count),
                (true, Some(columns)) => binary_row_whole(packet, columns),
                (true, None) => packet.first() == Some(&0),
            };
            if !is_row {
                return Err(format!("no row of {count} columns: {packet:02x?}"));
            }
        }
    }

    /// `COM_STMT_FETCH Response`.
    fn fetched(&self, rest: &mut Rest<'_>) -> Result<(), String> {
        self.rows(rest, true, (self.fetched.map_or(0, <[_]>::len), self.fetched))?;
        rest.ends(After::Nothing);
        Ok(())
    }

    /// `COM_FIELD_LIST Response`.
    fn fields(rest: &mut Rest<'_>) -> Result<(), String> {
        loop {
            let packet = rest.next()?;
            if matches!(packet.first(), Some(0xfe | 0xff)) {
                closing(packet)?;
                rest.ends(After::Nothing);
                return Ok(());
            }
            definition(packet, true)?;
        }
    }

    /// `COM_STMT_PREPARE Response`.
    fn prepared(&self, rest: &mut Rest<'_>) -> Result<(), String> {
        let head = rest.next()?;
        if head.first() == Some(&0xff) {
            closing(head)?;
            rest.ends(After::Nothing);
            return Ok(());
        }
        let mut c = Cursor(head);
        let read = (|| {
            c.u8().filter(|byte| *byte == 0)?;
            c.u32()?;
            let (columns, params) = (c.u16()?, c.u16()?);
            c.u8().filter(|filler| *filler == 0)?;
            c.u16()?;
            let optional = self.capabilities & OPTIONAL_RESULTSET_METADATA != 0;
            let described = if optional { c.u8()? != 0 } else { true };
            c.0.is_empty().then_some((params, columns, described))
        })();
        let (params, columns, described) = read.ok_or("no head of a prepared statement")?;
        for count in [params, columns].into_iter().filter(|count| *count > 0) {
            for _ in 0..if described { count } else { 0 } {
                definition(rest.next()?, false)?;
            }
            if !self.deprecates_eof() {
                let packet = rest.next()?;
                closing(packet)?;
                if packet.first() != Some(&0xfe) || packet.len() != 5 {
                    return Err("no EOF after definitions".to_owned());
                }
            }
        }
        rest.ends(After::Nothing);
        Ok(())
    }
}

/// MariaDB's command for many rows of parameters.
const BULK_EXECUTE: u8 = 0xfa;

/// `Protocol::ColumnDefinition41`, whole; that of COM_FIELD_LIST has a default value at its end.
fn definition(packet: &[u8], with_default: bool) -> Result<Column, String> {
    let column = Column::parse_whole(packet, with_default);
    column.ok_or_else(|| format!("no definition of a column: {packet:02x?}"))
}

/// `OK_Packet`, `EOF_Packet` or `ERR_Packet`, whole as far as their ends are told.
fn closing(packet: &[u8]) -> Result<Closing, String> {
    let mut c = Cursor(packet);
    let status = (|| match c.u8()? {
        0xff => {
            c.u16()?;
            Some(Closing::Error)
        }
        0xfe if packet.len() == 5 => {
            c.u16()?;
            c.u16().map(Closing::Status)
        }
        0x00 | 0xfe if packet.len() >= 7 => {
            c.lenenc()?;
            c.lenenc()?;
            let status = c.u16()?;
            c.u16()?;
            Some(Closing::Status(status))
        }
        _ => None,
    })();
    status.ok_or_else(|| format!("no OK, EOF or ERR: {packet:02x?}"))
}
