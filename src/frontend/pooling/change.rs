//! What must change on a connection for it to have a session's state.

use crate::backend::session_state::{
    COUPLED, OF_SCHEMA, SessionState, is_of_names, is_plain, quoted,
};
use crate::mutants::{self, Mutant};
use crate::protocol::capabilities::Capabilities;
use crate::protocol::command::Command;
use crate::protocol::packet;

/// What the server is to report of a session that may move. With `*`, MySQL also reports a number of each statement, which
/// is cut as the rest is.
pub(super) const REPORTS: &str = "session_track_system_variables='*',session_track_schema=1,\
     session_track_state_change=1,session_track_transaction_info='CHARACTERISTICS'";

/// The parts of a session's state that a connection does not have.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Change<'a> {
    to: &'a SessionState,
    /// The server reports nothing yet.
    reports: bool,
    several: bool,
    role: bool,
    /// Character sets and the collation.
    charsets: bool,
    /// System variables but for these, with their values; `None`: the server's default.
    variables: Vec<Assignment<'a>>,
    last_insert_id: bool,
    schema: bool,
    user_variables: Vec<(&'a [u8], &'a [u8])>,
    /// What the next transaction is like.
    characteristics: bool,
}

impl<'a> Change<'a> {
    /// From what a reset leaves of a session's state, or from a connection that no session had. A reset keeps the
    /// roles and the right to several statements; also the schema, but not its character set.
    pub(super) fn after_reset(left: Option<&SessionState>, to: &'a SessionState) -> Self {
        let of_names = |name: &[u8]| is_of_names(name);
        let values = |(name, value): (&'a [u8], &'a [u8])| (name, Some(value));
        let kept = |same: fn(&SessionState, &SessionState) -> bool| {
            left.is_some_and(|left| same(left, to))
        };
        Self {
            to,
            reports: true,
            several: !kept(|left, to| left.several == to.several),
            role: to.role.is_some() && !kept(|left, to| left.role == to.role),
            charsets: to.names().is_some()
                || to.collation.is_some()
                || to.variables().any(|(name, _)| is_of_names(name)),
            variables: in_order(
                to.variables().filter(|(name, _)| !of_names(name)).map(values).collect(),
                to,
            ),
            last_insert_id: to.last_insert_id != 0,
            schema: to.schema.is_some(),
            user_variables: user_variables(to).collect(),
            characteristics: to.has_characteristics(),
        }
    }

    /// From the state that another session has left. `None`: only a reset leads there.
    pub(super) fn from(left: &'a SessionState, to: &'a SessionState) -> Option<Self> {
        let lost = |name| !to.user_variables.contains_key(name);
        if !left.characteristics.is_empty()
            || left.user_variables.keys().any(lost)
            || left.role.is_some() && to.role.is_none()
            || is_wide(left)
        {
            return None;
        }
        let of_names = |state: &'a SessionState| {
            let [client, connection, results] = CHARSETS.map(|name| state.variable(name));
            (client, connection, results, state.collation.as_deref(), state.names())
        };
        let charsets = of_names(left) != of_names(to);
        if charsets && CHARSETS.iter().any(|name| to.variable(name).is_none()) {
            return None;
        }
        let others = |state: &'a SessionState| state.variables().filter(|v| !is_of_names(v.0));
        let of_schema = |name: &[u8]| OF_SCHEMA.contains(&name);
        // Only the schema has their values, unless the session has set them.
        let set_there = |name: &&[u8]| left.variable(name).is_some() && to.variable(name).is_none();
        let schema = left.schema != to.schema || OF_SCHEMA.iter().any(set_there);
        let selects = schema && to.schema.is_some();
        let changed = others(to).filter(|(name, value)| {
            left.variable(name) != Some(value) || selects && of_schema(name)
        });
        let back = others(left)
            .filter(|(name, _)| to.variable(name).is_none() && !(selects && of_schema(name)));
        let changed = changed.map(|(name, value)| (name, Some(value)));
        let changed = changed.chain(back.map(|(name, _)| (name, None)));
        let variables = in_order(changed.collect(), to);
        let news = |(name, value): &(&[u8], &[u8])| {
            left.user_variables.get(*name).is_none_or(|left| **left != **value)
        };
        Some(Self {
            to,
            reports: false,
            several: left.several != to.several,
            role: left.role != to.role,
            charsets,
            variables,
            last_insert_id: left.last_insert_id != to.last_insert_id,
            schema,
            user_variables: user_variables(to).filter(news).collect(),
            characteristics: to.has_characteristics(),
        })
    }

    /// The packets that make it, each answered by OK.
    pub(super) fn packets(&self, capabilities: Capabilities) -> Vec<Vec<u8>> {
        let to = self.to;
        let query = |text: &[u8]| packet::query(text, capabilities);
        let mut packets = Vec::new();
        if self.several {
            let option = mutants::or(Mutant::LeaveSeveralOn, u8::from(!to.several), 0);
            packets.push(packet::command(&[&[Command::SET_OPTION.0, option, 0]]));
        }
        let role = to.role.as_ref().filter(|_| self.role);
        let role = mutants::or(Mutant::ForgetRole, role, None);
        let schema = to.schema.as_ref().filter(|_| self.schema);
        // Names are known in this character set, whatever that of the client is, which is set after them.
        let spoken = !role.into_iter().chain(schema).all(|name| is_plain(name));
        if spoken {
            packets.push(query(SPEAK));
        }
        if let Some(role) = role {
            packets.push(query(&[b"SET ROLE ", &**role].concat()));
        }
        if let Some(schema) = schema {
            packets.push(packet::command(&[&[Command::INIT_DB.0], schema]));
        }
        let settings = self.settings(spoken);
        if !settings.is_empty() {
            packets.push(query(&[&b"SET "[..], &settings.join(&b","[..])].concat()));
        }
        if self.characteristics {
            let texts = to.characteristics.split(|b| *b == b';').map(<[u8]>::trim_ascii);
            packets.extend(texts.filter(|text| !text.is_empty()).map(query));
        }
        packets
    }

    /// The parts of one SET. `spoken`: the character sets are not those of the client.
    fn settings(&self, spoken: bool) -> Vec<Vec<u8>> {
        let to = self.to;
        let mut settings = Vec::new();
        if self.reports {
            settings.push([b"SESSION ", REPORTS.as_bytes()].concat());
        }
        let set = |name: &[u8], value: &[u8]| [b"SESSION ", name, b"=", value].concat();
        if self.charsets || spoken {
            settings.extend(charsets(to));
        }
        settings.extend(self.variables.iter().map(|(name, value)| {
            set(name, &value.map_or_else(|| default(name), |value| literal(name, value)))
        }));
        if self.last_insert_id {
            settings.push(set(b"last_insert_id", to.last_insert_id.to_string().as_bytes()));
        }
        settings.extend(
            self.user_variables
                .iter()
                .map(|(name, value)| [b"@", &*quoted(name), b"=", value].concat()),
        );
        settings
    }
}

/// MySQL takes DEFAULT for the opposite of these variables' default.
const DEFAULT_IS_OFF: [&[u8]; 2] = [b"foreign_key_checks", b"unique_checks"];

/// What a variable has after a login.
fn default(name: &[u8]) -> Vec<u8> {
    if DEFAULT_IS_OFF.contains(&name) {
        return [b"@@global.", name].concat();
    }
    b"DEFAULT".to_vec()
}

/// A variable, and its value; `None`: the server's default.
type Assignment<'a> = (&'a [u8], Option<&'a [u8]>);

/// Sets variables after those that change them.
fn in_order<'a>(mut variables: Vec<Assignment<'a>>, to: &'a SessionState) -> Vec<Assignment<'a>> {
    for (first, second) in COUPLED {
        let assigned = |name| variables.iter().any(|(assigned, _)| *assigned == name);
        let value = to.variable(second);
        if assigned(first) && (value.is_some() || assigned(second)) {
            variables.retain(|(name, _)| *name != second);
            variables.push((second, value));
        }
    }
    variables
}

/// Whether servers take literals for text of two or four bytes a character. They know no value of
/// `lc_time_names` then.
fn is_wide(state: &SessionState) -> bool {
    state.collation.as_deref().is_some_and(is_wide_collation)
}

/// Whether a character has two or four bytes in a collation.
pub(super) fn is_wide_collation(name: &[u8]) -> bool {
    let wide: [&[u8]; 3] = [b"ucs2", b"utf16", b"utf32"];
    wide.iter().any(|begin| name.starts_with(begin))
}

/// Has the server read names in utf8mb4.
pub(super) const SPEAK: &[u8] = b"SET NAMES utf8mb4";

/// The parts of a SET for a session's character sets and its collation.
pub(super) fn charsets(of: &SessionState) -> Vec<Vec<u8>> {
    if let Some(names) = of.names() {
        return vec![[b"NAMES ", names].concat()];
    }
    let set = |name: &[u8], value: &[u8]| [b"SESSION ", name, b"=", value].concat();
    let charsets = CHARSETS.iter().filter_map(|name| Some((name, of.variable(name)?)));
    let charsets = charsets.map(|(name, value)| set(name, &literal(name, value)));
    // After the character set, which sets it, too.
    let collation = mutants::or(Mutant::ForgetCollation, of.collation.as_ref(), None);
    charsets.chain(collation.map(|name| set(b"collation_connection", name))).collect()
}

/// The character sets of a session, in the order in which they are set.
const CHARSETS: [&[u8]; 3] =
    [b"character_set_client", b"character_set_connection", b"character_set_results"];

fn user_variables(state: &SessionState) -> impl Iterator<Item = (&[u8], &[u8])> {
    state.user_variables.iter().map(|(name, value)| (&**name, &**value))
}

/// A variable's value, as servers report it, for SET.
pub(super) fn literal(name: &[u8], value: &[u8]) -> Vec<u8> {
    if name == b"character_set_results" && value.is_empty() {
        return b"NULL".to_vec();
    }
    if is_number(value) {
        return value.to_vec();
    }
    let is_quote = |byte: &u8| matches!(byte, b'\'' | b'"');
    // MariaDB may take '' for NULL.
    if is_plain(value) && !value.is_empty() && !value.iter().any(is_quote) {
        return [b"'", value, b"'"].concat();
    }
    [b"_utf8mb4 x'", hex::encode(value).as_bytes(), b"'"].concat()
}

fn is_number(value: &[u8]) -> bool {
    let digits = value.strip_prefix(b"-").unwrap_or(value);
    let mut parts = digits.split(|b| *b == b'.');
    let is_part = |part: &[u8]| !part.is_empty() && part.iter().all(u8::is_ascii_digit);
    parts.by_ref().take(2).all(is_part) && parts.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_no_texts() {
        for (text, number) in [
            ("1", true),
            ("-1.5", true),
            ("", false),
            ("1.", false),
            ("1.2.3", false),
            ("ON", false),
        ] {
            assert_eq!(is_number(text.as_bytes()), number, "{text}");
        }
    }
}
