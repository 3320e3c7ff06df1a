//! Ids of prepared statements, as a session has them whose connection to the server is not always the same.
//!
//! MySQL counts the statements of a connection, and no reset begins again: the client of a session that has moved hears the numbers
//! that its first connection would have given. MariaDB counts those of all connections.

use super::frame::put_frame;
use super::status::Status;
use crate::types::Flavour;

/// The proxy's own statements have ids from here on, which no server reaches.
const HIDDEN: u32 = 1 << 31;
/// `ER_UNKNOWN_STMT_HANDLER` and `ER_STMT_HAS_NO_OPEN_CURSOR`: their texts hold the id.
const NAMING: [u16; 2] = [1243, 1421];
/// Longest error packet of one of these codes, in bytes.
const LONGEST: usize = 1024;

/// The ids of a session's statements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StatementNumbers {
    flavour: Flavour,
    /// The next statement's, if nothing else counts on the connection.
    next: u32,
    /// What is to be added to the server's ids, modulo 2³², as far as it is known on this connection.
    shift: Option<u32>,
    hidden: u32,
}

impl StatementNumbers {
    /// The numbers of a session right after its login: they are the server's.
    pub fn at_login(flavour: Flavour) -> Self {
        Self { flavour, next: 1, shift: Some(0), hidden: HIDDEN }
    }

    /// These numbers after a move to another connection.
    #[must_use]
    pub fn moved(self) -> Self {
        Self { shift: None, ..self }
    }

    /// The session's id of a statement that its client has prepared, and that is the server's `id`.
    pub(super) fn prepared(&mut self, id: u32) -> u32 {
        let said = match self.flavour {
            Flavour::MySql => {
                let next = self.next;
                id.wrapping_add(*self.shift.get_or_insert(next.wrapping_sub(id)))
            }
            // A server that has been restarted counts from the beginning.
            Flavour::MariaDb => id.max(self.next),
        };
        self.next = said.wrapping_add(1);
        said
    }

    /// The server has refused to prepare a statement of the client's, which it has counted.
    pub(super) fn refused(&mut self) {
        if self.flavour == Flavour::MySql {
            self.next = self.next.wrapping_add(1);
        }
    }

    /// The server has counted a statement of the proxy's own: the session's id of it.
    pub(super) fn hidden(&mut self) -> u32 {
        self.shift = self.shift.map(|shift| shift.wrapping_sub(1));
        self.hidden = self.hidden.wrapping_add(1).max(HIDDEN);
        self.hidden
    }
}

/// What a response calls its statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Naming {
    /// As the server does; a statement that it prepares is the client's.
    #[default]
    Session,
    /// The statement that it prepares is the proxy's own.
    Hidden,
    /// The server was asked about the statement `sent`, the client has asked about `said`.
    Renamed {
        /// The server's id.
        sent: u32,
        /// The session's.
        said: u32,
        /// The statement has been prepared again since, and has another number of columns.
        changed: bool,
    },
}

impl Naming {
    /// Flags that the status of the response has in addition.
    pub(super) fn status(self) -> u16 {
        match self {
            Self::Renamed { changed: true, .. } => Status::METADATA_CHANGED,
            Self::Renamed { changed: false, .. } | Self::Session | Self::Hidden => 0,
        }
    }

    /// Whether an error packet, by its number and its length, names the statement by another id.
    pub(super) fn renames(self, code: u16, len: usize) -> bool {
        matches!(self, Self::Renamed { .. }) && NAMING.contains(&code) && len <= LONGEST
    }

    /// Appends an error packet to `out` with the client's id in it.
    pub(super) fn rename(self, seq: u8, payload: &[u8], out: &mut Vec<u8>) {
        let Self::Renamed { sent, said, .. } = self else { return put_frame(out, seq, payload) };
        let (sent, said) = (format!("({sent})"), format!("({said})"));
        let named = memchr::memmem::find(payload, sent.as_bytes())
            .and_then(|at| payload.split_at_checked(at))
            .and_then(|(before, rest)| Some((before, rest.strip_prefix(sent.as_bytes())?)));
        match named {
            Some((before, after)) => {
                put_frame(out, seq, &[before, said.as_bytes(), after].concat());
            }
            None => put_frame(out, seq, payload),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::frame::HEADER;

    #[test]
    fn mysql_s_numbers_go_on_where_the_first_connection_s_were() {
        let mut numbers = StatementNumbers::at_login(Flavour::MySql);
        assert_eq!([numbers.prepared(1), numbers.prepared(2)], [1, 2]);
        numbers.refused();
        assert_eq!(numbers.prepared(4), 4, "the refused one was the third");
        assert!(numbers.hidden() > HIDDEN, "the server's fifth");
        assert_eq!(numbers.prepared(6), 5);
        let mut numbers = numbers.moved();
        numbers.hidden();
        numbers.refused();
        assert_eq!(numbers.prepared(300), 7);
        assert_eq!(numbers.prepared(301), 8);
        assert_eq!(numbers.prepared(303), 10, "a statement in SQL was counted between");
        let mut numbers = numbers.moved();
        assert_eq!([numbers.prepared(2), numbers.prepared(3)], [11, 12]);
    }

    #[test]
    fn mariadb_s_numbers_are_the_server_s_unless_it_has_begun_again() {
        let mut numbers = StatementNumbers::at_login(Flavour::MariaDb);
        assert_eq!(numbers.prepared(70), 70);
        numbers.hidden();
        numbers.refused();
        assert_eq!(numbers.moved().prepared(95), 95);
        assert_eq!(numbers.moved().prepared(3), 71);
    }

    #[test]
    fn an_error_names_the_statement_as_the_client_does() {
        let told = Naming::Renamed { sent: 17, said: 2, changed: false };
        let mut frame = Vec::new();
        put_frame(&mut frame, 1, b"\xff\xdb\x04#HY000Unknown handler (17) given to x");
        assert!(told.renames(1243, frame.len()) && !told.renames(1146, frame.len()));
        let mut out = Vec::new();
        told.rename(1, &frame[HEADER..], &mut out);
        let mut expected = Vec::new();
        put_frame(&mut expected, 1, b"\xff\xdb\x04#HY000Unknown handler (2) given to x");
        assert_eq!(out, expected);
    }
}
