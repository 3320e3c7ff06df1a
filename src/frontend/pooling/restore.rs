//! The packets that give a server connection the state of a session.

use super::change::{Change, REPORTS, SPEAK, charsets};
use crate::backend::left::Left;
use crate::backend::session_state::{SessionState, is_plain};
use crate::clock;
use crate::protocol::capabilities::Capabilities;
use crate::protocol::command::Command;
use crate::protocol::cut::Reported;
use crate::protocol::frame::HEADER;
use crate::protocol::packet;
use crate::protocol::response::Ending;

/// Errors about a schema that is gone, or may not be seen any more.
const NO_SCHEMA: [u16; 2] = [1044, 1049];

/// What came of putting a session's state on a connection.
#[derive(Debug)]
pub(crate) enum Restored {
    /// The state is on the connection. If the default schema is gone, the connection has none.
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

/// The statement that has the server report, and sets these character sets, as SET NAMES takes them.
pub(crate) fn begin_reports(names: Option<&[u8]>, capabilities: Capabilities) -> Vec<u8> {
    let mut text = format!("SET SESSION {REPORTS}").into_bytes();
    if let Some(names) = names {
        text.extend_from_slice(b",NAMES ");
        text.extend_from_slice(names);
    }
    packet::query(&text, capabilities)
}

/// The statement that has the server report what its settings say.
pub(crate) fn end_reports(capabilities: Capabilities) -> Vec<u8> {
    let names = REPORTS.split(',').filter_map(|setting| Some(setting.split_once('=')?.0.trim()));
    let settings: Vec<String> = names.map(|name| format!("{name}=DEFAULT")).collect();
    packet::query(format!("SET SESSION {}", settings.join(",")).as_bytes(), capabilities)
}

/// What gives a connection a session's state.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Restoration {
    /// Each is answered by OK. There may be none.
    pub packets: Vec<Vec<u8>>,
    /// The first of them is a reset.
    pub resets: bool,
    /// What they are, as the metric of moves has it.
    pub sent: &'static str,
}

/// Gives a connection this state, on which a session has `left` something.
pub(crate) fn restoring(
    state: &SessionState,
    left: &Left,
    capabilities: Capabilities,
) -> Restoration {
    if let Some(change) = left.all(clock::now()).and_then(|left| Change::from(left, state)) {
        let packets = change.packets(capabilities);
        let sent = if packets.is_empty() { "nothing" } else { "delta" };
        return Restoration { packets, resets: false, sent };
    }
    let change = Change::after_reset(left.state(), state);
    let mut packets = change.packets(capabilities);
    if *left == Left::Nothing {
        return Restoration { packets, resets: false, sent: "all" };
    }
    packets.insert(0, packet::reset_connection());
    Restoration { packets, resets: true, sent: "reset" }
}

/// The packets that activate the session's role where it is active, and how many come before the one that says so.
pub(crate) fn activating_role(
    state: &SessionState,
    role: &[u8],
    capabilities: Capabilities,
) -> (Vec<Vec<u8>>, usize) {
    let query = |text: &[u8]| packet::query(text, capabilities);
    let activate = query(&[b"SET ROLE ", role].concat());
    if is_plain(role) {
        return (vec![activate], 0);
    }
    let back = [&b"SET "[..], &charsets(state).join(&b","[..])].concat();
    (vec![query(SPEAK), activate, query(&back)], 1)
}

/// What another session might leave on a connection, for tests.
const STRANGERS: [&str; 5] = [
    "SET NAMES latin1 COLLATE latin1_bin",
    "SET sql_mode='ANSI',time_zone='+09:00',sql_select_limit=3,foreign_key_checks=0,unique_checks=0,last_insert_id=77",
    "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
    "SET autocommit=0",
    "SET ROLE NONE",
];
/// Of this only a reset rids a connection.
const STRANGERS_REST: [&str; 4] = [
    "SET @x='stranger',@a=99",
    "SET TRANSACTION READ ONLY",
    "PREPARE s FROM 'SELECT 7'",
    "SELECT SQL_CALC_FOUND_ROWS 1 UNION SELECT 2 LIMIT 1",
];

/// The statements of another session, for tests; `more`: also of this rest.
pub(crate) fn strangers(more: bool, capabilities: Capabilities, has_schema: bool) -> Vec<Vec<u8>> {
    let rest = STRANGERS_REST.iter().filter(|_| more);
    // Only a connection that has a schema can be given another.
    let schema = has_schema.then_some(&"USE information_schema");
    let all = STRANGERS.iter().chain(rest).chain(schema);
    all.map(|text| packet::query(text.as_bytes(), capabilities)).collect()
}

/// What is on the connection after these, of which the server has reported this.
pub(crate) fn left_by_strangers(left: Left, more: bool, reported: &Reported) -> Left {
    let Left::Known(mut left) = left else { return Left::Unknown };
    if more {
        return Left::Unknown;
    }
    for change in &reported.changes {
        left.state.apply(change);
    }
    left.state.collation = Some((*b"latin1_bin").into());
    left.state.set_names();
    left.state.role = Some((*b"NONE").into());
    left.state.last_insert_id = 77;
    Left::Known(left)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::left::LeftState;

    fn restoration(state: &SessionState, left: &Left) -> (&'static str, Vec<String>) {
        let Restoration { packets, sent, .. } = restoring(state, left, Capabilities(0));
        let text = |packet: &Vec<u8>| String::from_utf8_lossy(&packet[5..]).into_owned();
        (sent, packets.iter().map(text).collect())
    }

    fn left(state: &SessionState, alone: bool) -> Left {
        Left::Known(Box::new(LeftState { state: state.clone(), alone, since: clock::now() }))
    }

    fn full() -> SessionState {
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
        state
    }

    #[test]
    fn a_connection_gets_all_of_a_session_s_state() {
        let mut state = full();
        state.characteristics =
            (*b"SET TRANSACTION READ ONLY; SET TRANSACTION ISOLATION LEVEL SERIALIZABLE;").into();
        let settings = format!(
            "SET SESSION {REPORTS},SESSION character_set_results=NULL,\
             SESSION collation_connection=utf8mb4_bin,SESSION lc_time_names=_utf8mb4 x'6427c3a9',\
             SESSION max_join_size=18446744073709551615,SESSION sql_mode='ANSI_QUOTES',\
             SESSION last_insert_id=7,@`a``b`=5"
        );
        let all = [
            "",
            "\u{1}\0",
            "SET ROLE NONE",
            "db",
            &settings,
            "SET TRANSACTION READ ONLY",
            "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE",
        ];
        let said = |left: &Left| restoration(&state, left);
        assert_eq!(said(&Left::Unknown), ("reset", all.map(str::to_owned).to_vec()));
        assert_eq!(said(&Left::Nothing), ("all", all[1..].iter().map(|&s| s.to_owned()).collect()));
    }

    #[test]
    fn a_reset_keeps_roles_and_not_the_character_set_of_the_schema() {
        let settings = restoration(&full(), &Left::Unknown).1[4].clone();
        let said = restoration(&full(), &left(&full(), false));
        assert_eq!(said, ("reset", vec![String::new(), "db".to_owned(), settings]));
    }

    #[test]
    fn between_equal_states_nothing_is_sent() {
        let said = restoration(&full(), &left(&full(), true));
        assert_eq!(said, ("nothing", vec![]));
        let Left::Known(mut old) = left(&full(), true) else { unreachable!() };
        old.since = clock::now().saturating_sub(std::time::Duration::from_secs(2));
        assert_eq!(restoration(&full(), &Left::Known(old)).0, "reset");
    }

    #[test]
    fn differences_are_sent() {
        let mut other = full();
        other.set(b"sql_mode", b"");
        other.set(b"autocommit", b"OFF");
        other.schema = Some((*b"x").into());
        other.last_insert_id = 0;
        other.user_variables.clear();
        let said = restoration(&full(), &left(&other, true));
        let settings = "SET SESSION sql_mode='ANSI_QUOTES',SESSION autocommit=DEFAULT,SESSION last_insert_id=7,@`a``b`=5";
        assert_eq!(said, ("delta", vec!["db".to_owned(), settings.to_owned()]));
        // DEFAULT would be the opposite on MySQL.
        let mut unchecked = full();
        unchecked.set(b"foreign_key_checks", b"OFF");
        let said = restoration(&full(), &left(&unchecked, true));
        let back = "SET SESSION foreign_key_checks=@@global.foreign_key_checks";
        assert_eq!(said, ("delta", vec![back.to_owned()]));
        // Literals are texts of two bytes a character there.
        let mut wide = full();
        wide.collation = Some((*b"utf16_bin").into());
        assert_eq!(restoration(&full(), &left(&wide, true)).0, "reset");
        // Nothing takes a user variable away, or a setting for the next transaction.
        let said = restoration(&other, &left(&full(), true));
        assert_eq!(said.0, "reset");
        other.user_variables = full().user_variables;
        other.characteristics = (*b"SET TRANSACTION READ ONLY;").into();
        let said = restoration(&full(), &left(&other, true));
        assert_eq!(said.0, "reset");
    }

    #[test]
    fn character_sets_go_together() {
        let mut to = SessionState::default();
        for of in ["client", "connection", "results"] {
            to.set(format!("character_set_{of}").as_bytes(), b"utf8mb4");
        }
        to.collation = Some((*b"utf8mb4_bin").into());
        to.set_names();
        let mut from = to.clone();
        from.set(b"character_set_results", b"latin1");
        let said = restoration(&to, &left(&from, true));
        assert_eq!(said, ("delta", vec!["SET NAMES utf8mb4 COLLATE utf8mb4_bin".to_owned()]));
    }

    #[test]
    fn names_that_are_not_plain_are_said_in_utf8mb4() {
        let mut state = full();
        for of in ["client", "connection", "results"] {
            state.set(format!("character_set_{of}").as_bytes(), b"gbk");
        }
        state.collation = Some((*b"gbk_chinese_ci").into());
        state.set_names();
        let from = state.clone();
        state.schema = Some("d\u{e9}".as_bytes().into());
        let said = restoration(&state, &left(&from, true));
        let names = ["SET NAMES utf8mb4", "d\u{e9}", "SET NAMES gbk COLLATE gbk_chinese_ci"];
        assert_eq!(said, ("delta", names.map(str::to_owned).to_vec()));
        assert_eq!(restoration(&state, &left(&state, true)).0, "nothing");
        state.schema = from.schema.clone();
        state.role = Some((*b"`r{`").into());
        let said = restoration(&state, &left(&from, true));
        assert_eq!(said.1[..2], ["SET NAMES utf8mb4", "SET ROLE `r{`"]);
    }

    #[test]
    fn a_setting_for_one_transaction_is_used_up_by_it() {
        let mut state = SessionState::default();
        let before = restoration(&state, &Left::Unknown).1;
        let mut more = |text: &str| {
            state.characteristics = text.as_bytes().into();
            restoration(&state, &Left::Unknown).1.split_off(before.len())
        };
        assert_eq!(more("SET TRANSACTION READ ONLY;"), ["SET TRANSACTION READ ONLY"]);
        let begun = "SET TRANSACTION READ ONLY; START TRANSACTION READ ONLY;";
        assert_eq!(more(begun), Vec::<String>::new());
    }
}
