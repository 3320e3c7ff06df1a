//! The packets that give a server connection the state of a session.

use super::state::{SessionState, is_of_names};
use crate::mutants::{self, Mutant};
use crate::protocol::capabilities::Capabilities;
use crate::protocol::command::Command;
use crate::protocol::frame::HEADER;
use crate::protocol::packet;
use crate::protocol::response::Ending;

/// What the server is to report of a session that may move. With `*`, MySQL also reports a number of each statement, which
/// is cut as the rest is.
const REPORTS: &str = "session_track_system_variables='*',session_track_schema=1,\
     session_track_state_change=1,session_track_transaction_info='CHARACTERISTICS'";

/// Errors about a schema that is gone, or may not be seen any more.
const NO_SCHEMA: [u16; 2] = [1044, 1049];

/// What came of putting a session's state on a connection.
#[derive(Debug)]
pub(crate) enum Restored {
    /// It is there. If the default schema is gone, the connection has none.
    Done,
    /// The default schema is gone, and the connection has that of another session.
    InAnotherSchema,
    /// The server refuses it: why.
    Refused(String),
}

/// Whether a packet was to select a schema that is gone.
pub(crate) fn is_without_schema(packet: &[u8], ending: Ending) -> bool {
    packet.get(HEADER).map(|byte| Command(*byte)) == Some(Command::INIT_DB)
        && matches!(ending, Ending::Err { code } if NO_SCHEMA.contains(&code))
}

/// The statement that has the server report.
pub(crate) fn begin_reports(capabilities: Capabilities) -> Vec<u8> {
    packet::query(format!("SET SESSION {REPORTS}").as_bytes(), capabilities)
}

/// The statement that has the server report what its settings say.
pub(crate) fn end_reports(capabilities: Capabilities) -> Vec<u8> {
    let names = REPORTS.split(',').filter_map(|setting| Some(setting.split_once('=')?.0.trim()));
    let settings: Vec<String> = names.map(|name| format!("{name}=DEFAULT")).collect();
    packet::query(format!("SET SESSION {}", settings.join(",")).as_bytes(), capabilities)
}

/// The packets, each answered by OK, that give a connection this state. `used`: it has another
/// session's.
pub(crate) fn restoring(
    state: &SessionState,
    used: bool,
    capabilities: Capabilities,
) -> Vec<Vec<u8>> {
    let query = |text: &[u8]| packet::query(text, capabilities);
    let mut packets = Vec::new();
    if used {
        packets.push(packet::reset_connection());
    }
    let option = mutants::or(Mutant::LeaveSeveralOn, u8::from(!state.several), 0);
    packets.push(packet::command(&[&[Command::SET_OPTION.0, option, 0]]));
    if let Some(role) = mutants::or(Mutant::ForgetRole, state.role.as_ref(), None) {
        packets.push(query(&[b"SET ROLE ", &**role].concat()));
    }
    packets.push(query(&settings(state)));
    if let Some(names) = state.names() {
        packets.push(query(&[b"SET NAMES ", names].concat()));
    }
    if let Some(schema) = &state.schema {
        packets.push(packet::command(&[&[Command::INIT_DB.0], schema]));
    }
    if !state.user_variables.is_empty() {
        packets.push(query(&user_variables(state)));
    }
    // The report of a transaction that an error has ended may stand: it must not begin again.
    let next_only = |text: &&[u8]| text.starts_with(b"SET TRANSACTION");
    let texts = state.characteristics.split(|b| *b == b';').map(<[u8]>::trim_ascii);
    packets.extend(texts.filter(next_only).map(query));
    packets
}

/// What another session might leave on a connection, for tests.
pub(crate) fn strangers(capabilities: Capabilities, has_schema: bool) -> Vec<Vec<u8>> {
    [
        "SET NAMES latin1 COLLATE latin1_bin",
        "SET sql_mode='ANSI',@x='stranger',@a=99,time_zone='+09:00',sql_select_limit=3,last_insert_id=77",
        "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
        "SET TRANSACTION READ ONLY",
        "PREPARE s FROM 'SELECT 7'",
        "SET autocommit=0",
        "SELECT SQL_CALC_FOUND_ROWS 1 UNION SELECT 2 LIMIT 1",
        "SET ROLE NONE",
    ]
    .iter()
    // Only a connection that has a schema can be given another.
    .chain(has_schema.then_some(&"USE information_schema"))
    .map(|text| packet::query(text.as_bytes(), capabilities))
    .collect()
}

/// One SET of all system variables.
fn settings(state: &SessionState) -> Vec<u8> {
    let mut text = format!("SET SESSION {REPORTS}").into_bytes();
    let mut put = |name: &[u8], value: &[u8]| {
        text.push(b',');
        text.extend_from_slice(name);
        text.push(b'=');
        text.extend_from_slice(value);
    };
    let by_names = state.names().is_some();
    for (name, value) in state.variables().filter(|(name, _)| !by_names || !is_of_names(name)) {
        put(name, &literal(name, value));
    }
    // After the character set, which sets it, too.
    if let Some(collation) =
        state.collation.as_ref().filter(|_| !mutants::or(Mutant::ForgetCollation, by_names, true))
    {
        put(b"collation_connection", collation);
    }
    if state.last_insert_id != 0 {
        put(b"last_insert_id", state.last_insert_id.to_string().as_bytes());
    }
    text
}

/// A variable's value, as servers report it, for SET.
pub(super) fn literal(name: &[u8], value: &[u8]) -> Vec<u8> {
    if name == b"character_set_results" && value.is_empty() {
        return b"NULL".to_vec();
    }
    if is_number(value) {
        return value.to_vec();
    }
    let plain = |byte: &u8| (b' '..=b'~').contains(byte) && !matches!(byte, b'\'' | b'\\' | b'"');
    if value.iter().all(plain) {
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

fn user_variables(state: &SessionState) -> Vec<u8> {
    let mut text = b"SET ".to_vec();
    for (n, (name, value)) in state.user_variables.iter().enumerate() {
        if n > 0 {
            text.push(b',');
        }
        text.push(b'@');
        text.extend_from_slice(&super::state::quoted(name));
        text.push(b'=');
        text.extend_from_slice(value);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(state: &SessionState) -> Vec<String> {
        restoring(state, true, Capabilities(0))
            .iter()
            .map(|packet| String::from_utf8_lossy(&packet[5..]).into_owned())
            .collect()
    }

    #[test]
    fn a_connection_gets_all_of_a_session_s_state() {
        let mut state = SessionState::default();
        state.set(b"sql_mode", b"ANSI_QUOTES");
        state.set(b"character_set_results", b"");
        state.set(b"max_join_size", b"18446744073709551615");
        state.set(b"lc_time_names", b"d'\xc3\xa9");
        state.collation = Some((*b"utf8mb4_bin").into());
        state.schema = Some((*b"db").into());
        state.role = Some((*b"NONE").into());
        state.last_insert_id = 7;
        state.user_variables.insert((*b"a`b").into(), (*b"5").into());
        state.characteristics =
            (*b"SET TRANSACTION READ ONLY; SET TRANSACTION ISOLATION LEVEL SERIALIZABLE;").into();
        let settings = format!(
            "SET SESSION {REPORTS},character_set_results=NULL,lc_time_names=_utf8mb4 x'6427c3a9',\
             max_join_size=18446744073709551615,sql_mode='ANSI_QUOTES',\
             collation_connection=utf8mb4_bin,last_insert_id=7"
        );
        assert_eq!(
            texts(&state),
            [
                "",
                "\u{1}\0",
                "SET ROLE NONE",
                &settings,
                "db",
                "SET @`a``b`=5",
                "SET TRANSACTION READ ONLY",
                "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE",
            ]
        );
    }

    #[test]
    fn no_transaction_begins_again() {
        let mut state = SessionState::default();
        let before = texts(&state);
        state.characteristics =
            (*b"SET TRANSACTION READ ONLY; START TRANSACTION READ ONLY;").into();
        let after = texts(&state);
        assert_eq!(after[before.len()..], ["SET TRANSACTION READ ONLY"]);
    }

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
