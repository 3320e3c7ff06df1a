//! What a server binds to a statement that it prepares: the schema, the SQL mode, character sets and the collation
//! of that moment.

use super::restore::literal;
use super::state::SessionState;
use crate::protocol::capabilities::Capabilities;
use crate::protocol::command::Command;
use crate::protocol::packet;

/// The variables, in the order in which they are set: the collation changes with the character set.
const CHARSETS: [&[u8]; 3] =
    [b"character_set_client", b"character_set_connection", b"character_set_results"];

/// A value; `None`: the server's default.
type Setting = Option<Box<[u8]>>;

/// The state of a session that is bound to a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BoundState {
    schema: Option<Box<[u8]>>,
    sql_mode: Setting,
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
    fn of(state: &SessionState) -> Self {
        Self {
            values: CHARSETS.map(|name| state.variable(name).map(Into::into)),
            collation: state.collation.clone(),
            names: state.names().map(Into::into),
        }
    }
}

impl BoundState {
    /// Of a statement that is prepared in this state. `doubt`: its character sets are not known.
    pub(crate) fn of(state: &SessionState, doubt: bool) -> Self {
        Self {
            schema: state.schema.clone(),
            sql_mode: state.variable(b"sql_mode").map(Into::into),
            charsets: (!doubt).then(|| Charsets::of(state)),
        }
    }

    /// Whether a schema is selected.
    pub(crate) fn has_schema(&self) -> bool {
        self.schema.is_some()
    }

    /// Whether all of it is known.
    pub(crate) fn is_certain(&self) -> bool {
        self.charsets.is_some()
    }

    /// The character sets, which were in doubt, are those of this state.
    #[must_use]
    pub(crate) fn with_charsets_of(&self, state: &SessionState) -> Self {
        Self { charsets: Some(Charsets::of(state)), ..self.clone() }
    }

    /// Bytes that it takes, about.
    pub(crate) fn size(&self) -> usize {
        size_of::<Self>() + self.schema.as_ref().map_or(0, |name| name.len()) + 256
    }

    /// The packets, each answered by OK, that make it the state of a connection on which it may be another.
    pub(crate) fn setting(&self, capabilities: Capabilities) -> Vec<Vec<u8>> {
        let query = |text: &[u8]| packet::query(text, capabilities);
        let mut text = b"SET SESSION sql_mode=".to_vec();
        let mut put = |name: &[u8], value: &Setting| {
            if name != b"sql_mode" {
                text.push(b',');
                text.extend_from_slice(name);
                text.push(b'=');
            }
            match value {
                Some(value) => text.extend_from_slice(&literal(name, value)),
                None => text.extend_from_slice(b"DEFAULT"),
            }
        };
        put(b"sql_mode", &self.sql_mode);
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
        let mut packets = vec![query(&text)];
        packets.extend(names.map(|names| query(&[b"SET NAMES ", &**names].concat())));
        let schema = self.schema.as_ref();
        packets.extend(schema.map(|name| packet::command(&[&[Command::INIT_DB.0], name])));
        packets
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_is_bound_is_set() {
        let mut state = SessionState::default();
        let text = |bound: &BoundState| {
            let packets = bound.setting(Capabilities(0));
            packets
                .iter()
                .map(|p| String::from_utf8_lossy(&p[5..]).into_owned())
                .collect::<Vec<_>>()
        };
        let doubtful = BoundState::of(&state, true);
        assert!(!doubtful.is_certain() && !doubtful.has_schema());
        assert_eq!(text(&doubtful), ["SET SESSION sql_mode=DEFAULT"]);
        for name in CHARSETS {
            state.set(name, b"latin1");
        }
        state.set(b"sql_mode", b"ANSI");
        state.collation = Some((*b"latin1_bin").into());
        state.schema = Some((*b"db").into());
        let set = "SET SESSION sql_mode='ANSI',character_set_client='latin1',\
                   character_set_connection='latin1',character_set_results='latin1',\
                   collation_connection='latin1_bin'";
        assert_eq!(text(&BoundState::of(&state, false)), [set, "db"]);
        state.set_names();
        let bound = BoundState::of(&state, false);
        let set = ["SET SESSION sql_mode='ANSI'", "SET NAMES latin1 COLLATE latin1_bin", "db"];
        assert_eq!(text(&bound), set);
        assert_ne!(doubtful.with_charsets_of(&state), bound, "another schema");
    }
}
