//! Asks a server for the state of a session that it does not report by itself.

use std::collections::BTreeSet;

use mysql_common::collations::{Collation, CollationId};

use super::bound::BindingDoubt;
use super::well_formed::is_well_formed;
use crate::backend::session_state::{
    SessionState, WAIT_TIMEOUT, is_plain, quoted, role_text, time_limit,
};
use crate::protocol::capabilities::Capabilities;
use crate::protocol::column::LiteralKind;
use crate::protocol::packet;
use crate::store::identity::run_expression;
use crate::types::Flavour;

/// The character sets of a session.
const CHARSETS: [&str; 3] =
    ["character_set_client", "character_set_connection", "character_set_results"];

/// Bytes of a user variable that is taken along. The answers to all that are asked for at once stay below what is
/// read of a reply.
const LARGEST: usize = 8 * 1024;
/// Bytes of the expressions for all of a session's, which are one statement.
const LARGEST_SUM: usize = 256 * 1024;

/// Names of variables that are asked for at once.
pub(super) const MOST_NAMES: usize = 50;

/// What has changed, perhaps, without a report.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Doubts {
    /// Character sets and the collation.
    pub charsets: bool,
    /// The character sets may still be those of the login, which have a collation of their own.
    pub handshake: bool,
    /// The active roles.
    pub role: bool,
    /// The name of the default schema: the login has told it in a character set of its own.
    pub schema: bool,
    /// LAST_INSERT_ID().
    pub insert_id: bool,
    /// FOUND_ROWS().
    pub found_rows: bool,
    /// FOUND_ROWS() of a query that may find more rows than it has: if the connection ends, it is the number of those that it
    /// has.
    pub found_more: bool,
    /// Whether the server runs statements at each login.
    pub init_connect: bool,
    /// The server's start, as this connection knows it.
    pub run: bool,
    /// All of it, but LAST_INSERT_ID() and user variables, is as a login leaves it: another one leaves the same.
    pub login: bool,
    /// SET NAMES has given them a collation, which servers keep for results.
    pub collated: bool,
    /// System variables that were set for one statement: a server reports the value that they had there. Those that
    /// were set by `@@` alone, of which MariaDB reports none. And time limits, which a session has from its login on.
    pub variables: BTreeSet<Box<[u8]>>,
    /// User variables.
    pub names: BTreeSet<Box<[u8]>>,
}

impl Doubts {
    /// Right after a login.
    pub(crate) fn at_login(flavour: Flavour) -> Self {
        let charsets = Self { charsets: true, handshake: true, ..Self::default() };
        let variables = BTreeSet::from([WAIT_TIMEOUT.into(), time_limit(flavour).into()]);
        Self { role: true, init_connect: true, run: true, login: true, variables, ..charsets }
    }

    /// After a reset of the connection: MariaDB goes back to the character sets of the login.
    pub(crate) fn after_reset(flavour: Flavour) -> Self {
        let handshake = flavour == Flavour::MariaDb;
        let variables = BTreeSet::from([WAIT_TIMEOUT.into(), time_limit(flavour).into()]);
        Self { charsets: true, handshake, role: true, variables, ..Self::default() }
    }

    /// Of a client with these capabilities. A login adds to the mode what it has asked for. A reset does so on MySQL, and on
    /// MariaDB takes it away: another connection may have either.
    pub(crate) fn of_client(mut self, capabilities: Capabilities) -> Self {
        if capabilities.has(Capabilities::IGNORE_SPACE) {
            self.variables.insert((*b"sql_mode").into());
        }
        self
    }

    /// After a login with this default schema.
    pub(crate) fn in_schema(mut self, schema: Option<&[u8]>) -> Self {
        self.schema = schema.is_some_and(|name| !is_plain(name));
        self
    }

    /// What is not known of a statement that is prepared now.
    pub(crate) fn of_bound(&self) -> BindingDoubt {
        BindingDoubt { charsets: self.charsets || !self.variables.is_empty(), schema: self.schema }
    }

    /// What a statement may change that is yet to run.
    pub(crate) fn add_effects(&mut self, ahead: Self) {
        self.role |= ahead.role;
        self.insert_id |= ahead.insert_id;
        self.names.extend(ahead.names);
    }

    /// Whether FOUND_ROWS() is in doubt.
    pub(crate) fn asks_for_found_rows(&self) -> bool {
        self.found_rows || self.found_more
    }

    /// Whether all is known.
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The questions: one for what has a type of its own, and one for the types of user variables.
    pub(crate) fn questions(&self, capabilities: Capabilities, flavour: Flavour) -> Vec<Vec<u8>> {
        let mut columns: Vec<Vec<u8>> = Vec::new();
        let mut ask = |sql: &[u8]| columns.push(sql.to_vec());
        if self.charsets {
            ask(b"@@character_set_client");
            ask(b"@@character_set_connection");
            ask(b"@@character_set_results");
            ask(b"@@collation_connection");
        }
        if self.role {
            ask(b"HEX(CONVERT(CURRENT_ROLE() USING utf8mb4))");
        }
        if self.schema {
            ask(b"HEX(CONVERT(DATABASE() USING utf8mb4))");
        }
        if self.insert_id {
            ask(b"LAST_INSERT_ID()");
        }
        if self.asks_for_found_rows() {
            ask(b"FOUND_ROWS()");
        }
        if self.init_connect {
            ask(b"LENGTH(@@init_connect)>0");
        }
        if self.run {
            ask(started(flavour));
        }
        for name in &self.variables {
            // Of one that sessions do not have, or that does not exist, an error is the answer.
            ask(&[b"@@session.", &**name].concat());
        }
        for name in &self.names {
            let name = quoted(name);
            ask(&[b"LENGTH(@", &*name, b")"].concat());
            ask(&[b"CHARSET(@", &*name, b")"].concat());
            ask(&[b"COLLATION(@", &*name, b")"].concat());
            ask(&[b"IF(LENGTH(@", &*name, b")<=8192,HEX(@", &*name, b"),NULL)"].concat());
            // MySQL rounds a double to 22 characters where it becomes a string; MariaDB gives a decimal more digits where it
            // does not.
            let [before, after]: [&[u8]; 2] = match flavour {
                Flavour::MySql => [b"@", b""],
                Flavour::MariaDb => [b"CONCAT(@", b")"],
            };
            let value = [before, &*name, after].concat();
            ask(&[b"IF(LENGTH(@", &*name, b")<=400,", &*value, b",NULL)"].concat());
        }
        let select = |columns: &[u8], end: &[u8]| {
            packet::query(&[b"SELECT ", columns, end].concat(), capabilities)
        };
        let mut questions = vec![select(&columns.join(&b','), b" LIMIT 1")];
        if !self.names.is_empty() {
            let names: Vec<_> = self.names.iter().map(|n| [b"@", &*quoted(n)].concat()).collect();
            questions.push(select(&names.join(&b','), b" LIMIT 0"));
        }
        questions
    }

    /// Takes in the answers: the values of the first, and the kinds of the second one's columns. `None`: they cannot be
    /// understood.
    pub(crate) fn answered(
        &self,
        values: &[Option<Vec<u8>>],
        kinds: &[LiteralKind],
        (flavour, collation): (Flavour, u8),
        state: &mut SessionState,
    ) -> Option<Captured> {
        let mut values = values.iter();
        let mut next = || values.next();
        let mut captured = Captured::default();
        if self.charsets {
            for name in CHARSETS {
                let value = next()?.as_deref().unwrap_or_default();
                state.set(name.as_bytes(), value);
            }
            state.collation = next()?.as_deref().map(Into::into);
        }
        if self.handshake {
            // Set by name, a character set would have another collation, which clients are told.
            let is_login =
                || state.collation.as_ref().is_some_and(|name| is_named(collation, name));
            match flavour {
                Flavour::MySql if is_login() => {
                    let id = collation.to_string().into_bytes();
                    for name in CHARSETS {
                        state.set(name.as_bytes(), &id);
                    }
                }
                Flavour::MySql if !self.collated => {}
                // MariaDB takes no numbers of other collations than a character set's first. A login sets all of them to
                // one collation, as SET NAMES does; it may be another one than the client has named.
                Flavour::MySql | Flavour::MariaDb => state.set_names(),
            }
        }
        if self.role {
            let name = name_of(next()?.as_deref())?;
            state.role = Some(role_text(name.as_deref(), flavour));
        }
        if self.schema {
            state.schema = name_of(next()?.as_deref())?.map(Into::into);
        }
        if self.insert_id {
            let text = std::str::from_utf8(next()?.as_deref()?).ok()?;
            state.last_insert_id = text.parse().ok()?;
        }
        if self.asks_for_found_rows() {
            let text = std::str::from_utf8(next()?.as_deref()?).ok()?;
            captured.found_rows = Some(text.parse().ok()?);
        }
        if self.init_connect {
            captured.init_connect = next()?.as_deref() == Some(b"1");
        }
        if self.run {
            captured.run = to_start(next()?.as_deref());
        }
        for name in &self.variables {
            state.set(name, next()?.as_deref().unwrap_or_default());
        }
        for (n, name) in self.names.iter().enumerate() {
            let length = next()?.as_deref();
            let (charset, collation) = (next()?.as_deref(), next()?.as_deref());
            let (hex, text) = (next()?.as_deref(), next()?.as_deref());
            let Some(length) = length else {
                match null(*kinds.get(n)?, charset?, collation?) {
                    Some(null) => state.user_variables.insert(name.clone(), null.into()),
                    None => state.user_variables.remove(name),
                };
                continue;
            };
            let length: usize = std::str::from_utf8(length).ok()?.parse().ok()?;
            let kind = *kinds.get(n)?;
            let is_text = kind == LiteralKind::Other;
            let fits = length <= LARGEST && (!is_text || is_well_formed(hex?, charset?));
            captured.large |= !fits;
            if fits {
                let value = user_value(kind, hex?, text, charset?, collation?)?;
                state.user_variables.insert(name.clone(), value.into());
            }
        }
        let sizes = state.user_variables.iter().map(|(name, value)| name.len() + value.len());
        captured.large |= sizes.sum::<usize>() > LARGEST_SUM;
        Some(captured)
    }
}

/// What the answers say beside the state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Captured {
    /// The server's start.
    pub run: Option<i64>,
    /// FOUND_ROWS().
    pub found_rows: Option<i64>,
    /// A user variable cannot be taken along, by its size or its bytes, or all of them are too large.
    pub large: bool,
    /// The server runs statements at each login.
    pub init_connect: bool,
}

/// A name that was asked for in hexadecimal digits, which are the same in all character sets. `None`: it is none.
#[expect(clippy::option_option, reason = "NULL is a value")]
fn name_of(hex: Option<&[u8]>) -> Option<Option<Vec<u8>>> {
    hex.map(|hex| hex::decode(hex).ok()).map_or(Some(None), |name| name.map(Some))
}

/// Whether a collation of this number has this name. The server is not asked: to look it up begins a transaction
/// where each statement is not one of its own.
fn is_named(id: u8, name: &[u8]) -> bool {
    let known = Collation::resolve(CollationId::from(u16::from(id)));
    // One server writes utf8 where the other writes utf8mb3.
    let name = String::from_utf8_lossy(name).to_ascii_lowercase().replace("utf8mb3_", "utf8_");
    known.collation().to_ascii_lowercase().replace("utf8mb3_", "utf8_") == name
}

/// The expression for the run of the server (`store::identity::same_run` compares them). Every account may read it.
pub(crate) fn started(flavour: Flavour) -> &'static [u8] {
    run_expression(flavour).as_bytes()
}

/// The run as a number, from the value of [`started`].
pub(crate) fn to_start(value: Option<&[u8]>) -> Option<i64> {
    std::str::from_utf8(value?).ok()?.parse().ok()
}

/// NULL as an expression of a type; `None`: the variable is not set.
fn null(kind: LiteralKind, charset: &[u8], collation: &[u8]) -> Option<Vec<u8>> {
    Some(match kind {
        LiteralKind::Integer { unsigned: false } => b"CAST(NULL AS SIGNED)".to_vec(),
        LiteralKind::Integer { unsigned: true } => b"CAST(NULL AS UNSIGNED)".to_vec(),
        LiteralKind::Decimal => b"CAST(NULL AS DECIMAL)".to_vec(),
        LiteralKind::Double => b"NULL+0e0".to_vec(),
        LiteralKind::Other if charset == b"binary" => return None,
        LiteralKind::Other => [b"CONVERT(NULL USING ", charset, b") COLLATE ", collation].concat(),
    })
}

/// A user variable's value as an expression of the same type.
fn user_value(
    kind: LiteralKind,
    hex: &[u8],
    text: Option<&[u8]>,
    charset: &[u8],
    collation: &[u8],
) -> Option<Vec<u8>> {
    Some(match kind {
        LiteralKind::Integer { unsigned: false } => text?.to_vec(),
        // Without a point the literal would be an integer.
        LiteralKind::Decimal => {
            let text = text?;
            let point: &[u8] = if text.contains(&b'.') { b"" } else { b"." };
            [text, point].concat()
        }
        LiteralKind::Integer { unsigned: true } => [b"CAST(", text?, b" AS UNSIGNED)"].concat(),
        LiteralKind::Double => {
            let text = text?;
            let exponent: &[u8] = if text.contains(&b'e') { b"" } else { b"e0" };
            [text, exponent].concat()
        }
        LiteralKind::Other if charset == b"binary" => [b"_binary x'", hex, b"'"].concat(),
        LiteralKind::Other => [b"_", charset, b" x'", hex, b"' COLLATE ", collation].concat(),
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn variables_come_back_with_their_types() {
        let mut doubts = Doubts::at_login(Flavour::MySql);
        doubts.insert_id = true;
        for name in [&b"b"[..], b"d", b"i", b"n", b"s", b"u", b"w"] {
            doubts.names.insert(name.into());
        }
        let questions = doubts.questions(Capabilities(0), Flavour::MySql);
        assert_eq!(questions.len(), 2);
        assert!(questions[1].ends_with(b"SELECT @`b`,@`d`,@`i`,@`n`,@`s`,@`u`,@`w` LIMIT 0"));
        let some = |text: &str| Some(text.as_bytes().to_vec());
        let mut values: Vec<Option<Vec<u8>>> = ["utf8mb4", "latin1"].map(some).to_vec();
        values.extend([None, some("latin1_bin"), some("4E4F4E45"), some("9"), some("0")]);
        values.extend([some("1700000000"), some("0"), some("28800")]);
        let variable = |length: &str, charset: &str, collation: &str, hex: &str, text: &str| {
            [some(length), some(charset), some(collation), some(hex), some(text)]
        };
        values.extend(variable("1", "binary", "binary", "FF", "\u{fffd}"));
        values.extend(variable("3", "binary", "binary", "2", "1.5"));
        values.extend(variable("2", "binary", "binary", "FB", "-5"));
        values.extend([None, some("binary"), some("binary"), None, None]);
        values.extend(variable("2", "utf8mb4", "utf8mb4_bin", "C3A9", "\u{e9}"));
        values.extend(variable("1", "binary", "binary", "5", "5"));
        values.extend(variable("1", "binary", "binary", "5", "5"));
        let kinds = [
            LiteralKind::Other,
            LiteralKind::Double,
            LiteralKind::Integer { unsigned: false },
            LiteralKind::Other,
            LiteralKind::Other,
            LiteralKind::Integer { unsigned: true },
            LiteralKind::Decimal,
        ];
        let mut state = SessionState::default();
        let captured = doubts.answered(&values, &kinds, (Flavour::MySql, 8), &mut state);
        let run = Some(1_700_000_000);
        assert_eq!(captured, Some(Captured { run, ..Captured::default() }));
        let expressions: Vec<_> =
            state.user_variables.values().map(|v| String::from_utf8_lossy(v)).collect();
        let string = "_utf8mb4 x'C3A9' COLLATE utf8mb4_bin";
        let expected = ["_binary x'FF'", "1.5e0", "-5", string, "CAST(5 AS UNSIGNED)", "5."];
        assert_eq!(expressions, expected);
        assert_eq!(state.last_insert_id, 9);
        assert_eq!(state.wait_timeout(), Some(Duration::from_hours(8)));
        assert_eq!(state.collation.as_deref(), Some(&b"latin1_bin"[..]));
        assert_eq!(doubts.answered(&values[1..], &kinds, (Flavour::MySql, 8), &mut state), None);
    }

    #[test]
    fn collations_are_known_by_number() {
        for (id, name, same) in [
            (255, "utf8mb4_0900_ai_ci", true),
            (45, "utf8mb4_general_ci", true),
            (33, "utf8mb3_general_ci", true),
            (33, "utf8_general_ci", true),
            (47, "latin1_swedish_ci", false),
            (0, "latin1_swedish_ci", false),
        ] {
            assert_eq!(is_named(id, name.as_bytes()), same, "{id} {name}");
        }
    }

    #[test]
    fn a_login_on_mariadb_may_have_another_collation_than_its_client_has_named() {
        let values = ["utf8mb4", "utf8mb4", "utf8mb4", "utf8mb4_uca1400_ai_ci"];
        let values = values.map(|value| Some(value.as_bytes().to_vec()));
        let doubts = Doubts { charsets: true, handshake: true, ..Doubts::default() };
        let names = |flavour| {
            let mut state = SessionState::default();
            doubts.answered(&values, &[], (flavour, 45), &mut state).expect("understood");
            state.names().map(<[u8]>::to_vec)
        };
        let one = b"utf8mb4 COLLATE utf8mb4_uca1400_ai_ci".to_vec();
        assert_eq!(names(Flavour::MariaDb), Some(one));
        assert_eq!(names(Flavour::MySql), None);
    }

    #[test]
    fn a_variable_that_is_too_large_is_said_to_be() {
        let mut doubts = Doubts::default();
        doubts.names.insert((*b"x").into());
        let some = |text: &str| Some(text.as_bytes().to_vec());
        let values = [some("8193"), some("utf8mb4"), some("utf8mb4_bin"), None, None];
        let mut state = SessionState::default();
        let captured =
            doubts.answered(&values, &[LiteralKind::Other], (Flavour::MySql, 8), &mut state);
        assert_eq!(captured, Some(Captured { large: true, ..Captured::default() }));
        assert!(state.user_variables.is_empty());
    }
}
