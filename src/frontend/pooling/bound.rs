//! What a server binds to a statement that it prepares: the schema, the SQL mode, character sets and the collation
//! of that moment.

use super::change::literal;
use super::change::{SPEAK, is_wide_collation};
use crate::backend::session_state::{SessionState, is_plain};
use crate::protocol::capabilities::Capabilities;
use crate::protocol::command::Command;
use crate::protocol::packet;
use crate::sql::session::effects::SessionEffects;

/// Variables that both servers bind, or MySQL does.
const MODES: [&[u8]; 3] = [b"sql_mode", b"div_precision_increment", b"group_concat_max_len"];
/// The character sets, in the order in which they are set: the collation changes with the character set.
const CHARSETS: [&[u8]; 3] =
    [b"character_set_client", b"character_set_connection", b"character_set_results"];

/// A value; `None`: the server's default.
type Setting = Option<Box<[u8]>>;

/// What is not known of the state to which a statement is bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct BindingDoubt {
    /// The character sets and the collation.
    pub charsets: bool,
    /// How the schema is called.
    pub schema: bool,
}

/// The state of a session that is bound to a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BoundState {
    schema: Option<Box<[u8]>>,
    /// The schema's name is that of a login whose character set is in doubt.
    schema_in_doubt: bool,
    modes: [Setting; MODES.len()],
    /// `None`: they are in doubt.
    charsets: Option<Charsets>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Charsets {
    values: [Setting; 3],
    collation: Setting,
    /// What SET NAMES says in their place.
    names: Option<Box<[u8]>>,
}

impl Charsets {
    /// Whether the server reads literals as text of two or four bytes a character, and knows no value of a variable then.
    fn are_wide(&self) -> bool {
        self.collation.as_deref().is_some_and(is_wide_collation)
    }

    fn of(state: &SessionState) -> Self {
        Self {
            values: CHARSETS.map(|name| state.variable(name).map(Into::into)),
            collation: state.collation.clone(),
            names: state.names().map(Into::into),
        }
    }
}

impl BoundState {
    /// Of a statement that is prepared in this state.
    pub(crate) fn of(state: &SessionState, doubt: BindingDoubt) -> Self {
        Self {
            schema: state.schema.clone(),
            schema_in_doubt: doubt.schema,
            modes: MODES.map(|name| state.variable(name).map(Into::into)),
            charsets: (!doubt.charsets).then(|| Charsets::of(state)),
        }
    }

    /// Whether a schema is selected.
    pub(crate) fn has_schema(&self) -> bool {
        self.schema.is_some()
    }

    /// Whether all of it is known.
    pub(crate) fn is_certain(&self) -> bool {
        self.charsets.is_some() && !self.schema_in_doubt
    }

    /// With the parts of this state that were in doubt.
    #[must_use]
    pub(crate) fn made_certain(&self, state: &SessionState) -> Self {
        let schema = if self.schema_in_doubt { &state.schema } else { &self.schema };
        let charsets = self.charsets.clone().unwrap_or_else(|| Charsets::of(state));
        let (schema, charsets) = (schema.clone(), Some(charsets));
        Self { schema, schema_in_doubt: false, charsets, ..self.clone() }
    }

    /// Bytes that it takes, about.
    pub(crate) fn size(&self) -> usize {
        size_of::<Self>() + self.schema.as_ref().map_or(0, |name| name.len()) + 256
    }

    /// Before a PREPARE: has the server send the definitions of columns with the next execution in this state, if the client
    /// keeps those that it has got elsewhere. The server leaves them out, unless the character set has changed since the PREPARE.
    pub(crate) fn telling_definitions(&self, capabilities: Capabilities) -> Option<Vec<u8>> {
        if !capabilities.has(Capabilities::MARIADB_CACHE_METADATA) {
            return None;
        }
        let own = self.charsets.as_ref().and_then(|charsets| charsets.values[0].as_deref());
        let other: &[u8] = if own == Some(b"ascii") { b"latin1" } else { b"ascii" };
        Some(packet::query(&[b"SET character_set_client=", other].concat(), capabilities))
    }

    /// The packets, each answered by OK, that give this state to a connection on which it is `other`. A schema that both
    /// have is left alone, since it may be gone.
    pub(crate) fn setting(&self, other: &Self, capabilities: Capabilities) -> Vec<Vec<u8>> {
        let query = |text: &[u8]| packet::query(text, capabilities);
        let mut text = b"SET SESSION ".to_vec();
        let mut put = |name: &[u8], value: &Setting| {
            if name != MODES[0] {
                text.push(b',');
            }
            text.extend_from_slice(name);
            text.push(b'=');
            match value {
                Some(value) => text.extend_from_slice(&literal(name, value)),
                None => text.extend_from_slice(b"DEFAULT"),
            }
        };
        for (name, value) in MODES.iter().zip(&self.modes) {
            put(name, value);
        }
        let names = self.charsets.as_ref().and_then(|charsets| charsets.names.as_ref());
        if let Some(charsets) = self.charsets.as_ref().filter(|_| names.is_none()) {
            for (name, value) in CHARSETS.iter().zip(&charsets.values) {
                put(name, value);
            }
            // Without one it is the character set's own.
            if charsets.collation.is_some() {
                put(b"collation_connection", &charsets.collation);
            }
        }
        let mut packets = Vec::new();
        let schema = self.schema.as_ref().filter(|_| self.schema != other.schema);
        // The schema's name and the values are known in this character set.
        let unread =
            self.charsets.is_some() && other.charsets.as_ref().is_some_and(Charsets::are_wide);
        if unread || schema.is_some_and(|name| !is_plain(name)) {
            packets.push(query(SPEAK));
        }
        if let Some(name) = schema {
            packets.push(packet::command(&[&[Command::INIT_DB.0], name]));
        }
        packets.push(query(&text));
        packets.extend(names.map(|names| query(&[b"SET NAMES ", &**names].concat())));
        packets
    }
}

/// Whether a text may read one of the user variables that it names. MySQL binds their types. One that is named
/// after INTO at the end is not read.
pub(super) fn reads_variables(text: &[u8], effects: &SessionEffects) -> bool {
    if effects.variables.is_empty() && !effects.more_variables {
        return false;
    }
    let lower = text.to_ascii_lowercase();
    let Some(into) = memchr::memmem::rfind(&lower, b"into ") else { return true };
    let (before, after) = lower.split_at(into);
    let is_variable = |name: &[u8]| {
        let name = name.trim_ascii();
        name.first() == Some(&b'@') && !name[1..].iter().any(u8::is_ascii_whitespace)
    };
    before.contains(&b'@') || !after[b"into ".len()..].split(|b| *b == b',').all(is_variable)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::lexer::dialect::Dialect;
    use crate::sql::session::session_effects;
    use crate::types::Flavour;

    #[test]
    fn all_that_is_bound_is_set() {
        let mut state = SessionState::default();
        let text = |bound: &BoundState| {
            let other = BoundState::of(&SessionState::default(), BindingDoubt::default());
            let packets = bound.setting(&other, Capabilities(0));
            let there = bound.setting(bound, Capabilities(0));
            assert_eq!(there, packets[packets.len() - there.len()..], "the schema is left alone");
            let names = packets.iter().any(|p| p[4] == Command::INIT_DB.0);
            assert!(
                there.iter().all(|p| p[4] != Command::INIT_DB.0) && names == bound.has_schema()
            );
            packets
                .iter()
                .map(|p| String::from_utf8_lossy(&p[5..]).into_owned())
                .collect::<Vec<_>>()
        };
        let doubtful =
            BoundState::of(&state, BindingDoubt { charsets: true, ..BindingDoubt::default() });
        assert!(!doubtful.is_certain() && !doubtful.has_schema());
        assert_eq!(
            text(&doubtful),
            [
                "SET SESSION sql_mode=DEFAULT,div_precision_increment=DEFAULT,group_concat_max_len=DEFAULT"
            ]
        );
        for name in CHARSETS {
            state.set(name, b"latin1");
        }
        state.set(b"sql_mode", b"ANSI");
        state.set(b"div_precision_increment", b"2");
        state.collation = Some((*b"latin1_bin").into());
        state.schema = Some((*b"db").into());
        let set = "SET SESSION sql_mode='ANSI',div_precision_increment=2,group_concat_max_len=DEFAULT,\
                   character_set_client='latin1',\
                   character_set_connection='latin1',character_set_results='latin1',\
                   collation_connection='latin1_bin'";
        assert_eq!(text(&BoundState::of(&state, BindingDoubt::default())), ["db", set]);
        state.set_names();
        let bound = BoundState::of(&state, BindingDoubt::default());
        let modes =
            "SET SESSION sql_mode='ANSI',div_precision_increment=2,group_concat_max_len=DEFAULT";
        let names = "SET NAMES latin1 COLLATE latin1_bin";
        assert_eq!(text(&bound), ["db", modes, names]);
        state.schema = Some("d\u{e9}".as_bytes().into());
        let spoken = ["SET NAMES utf8mb4", "d\u{e9}", modes, names];
        assert_eq!(text(&BoundState::of(&state, BindingDoubt::default())), spoken);
        let mut wide = state.clone();
        wide.collation = Some((*b"utf16_bin").into());
        let wide = BoundState::of(&wide, BindingDoubt::default());
        let packets = bound.setting(&wide, Capabilities(0));
        assert_eq!(packets[0][5..], *SPEAK, "values in utf16 are none");
        let doubt = BindingDoubt { schema: true, ..BindingDoubt::default() };
        let bound_later = BoundState::of(&state, doubt);
        state.schema = Some((*b"db").into());
        assert!(!bound_later.is_certain() && bound_later.made_certain(&state) == bound);
        assert_ne!(doubtful.made_certain(&state), bound, "another schema");
    }

    #[test]
    fn a_client_that_keeps_definitions_gets_those_of_another_connection() {
        let caches = Capabilities::MARIADB_CACHE_METADATA;
        let tells = |charset: &[u8]| {
            let mut state = SessionState::default();
            state.set(CHARSETS[0], charset);
            let bound = BoundState::of(&state, BindingDoubt::default());
            assert_eq!(bound.telling_definitions(Capabilities(0)), None);
            bound.telling_definitions(caches).map(|packet| packet[5..].to_vec())
        };
        assert_eq!(tells(b"utf8mb4").as_deref(), Some(&b"SET character_set_client=ascii"[..]));
        assert_eq!(tells(b"ascii").as_deref(), Some(&b"SET character_set_client=latin1"[..]));
    }

    #[test]
    fn a_variable_after_into_is_not_read() {
        let reads = |text: &str| {
            let effects =
                session_effects(text.as_bytes(), Dialect::by_default(Flavour::MySql, 90700));
            reads_variables(text.as_bytes(), &effects)
        };
        assert!(
            !reads("SELECT 1") && !reads("SELECT ? INTO @x") && !reads("SELECT 1, 2 INTO @a, @b ")
        );
        assert!(reads("SELECT @x") && reads("SELECT @x INTO @y") && reads("SET @x = ?"));
        assert!(reads("SELECT 1 INTO @x FROM t WHERE v = @y"));
    }
}
