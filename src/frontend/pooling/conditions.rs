//! The conditions of a session's last statement (warnings, notes, an error), when it has gone to another connection.
//!
//! They are read from the connection that it leaves. On the next one, other conditions stand in for them: as many,
//! with as many errors, so that the server itself counts them, and drops them when it would drop the real ones. Only
//! what is told of a single condition is put right in the answers to SHOW WARNINGS and GET DIAGNOSTICS.

use std::ops::Range;

use crate::protocol::capabilities::Capabilities;
use crate::protocol::packet;
use crate::protocol::response::Ending;
use crate::sql::session::conditions::{CONDITION_ITEMS, ItemTarget};

/// More are not taken along.
const MOST: usize = 64;
/// Characters of a message that SIGNAL takes in MySQL.
const LONGEST_MESSAGE: usize = 128;
/// In the messages of conditions that stand in for others.
const MARK: &str = "lockstead";
/// Places in [`CONDITION_ITEMS`].
const MESSAGE: usize = 10;
const NUMBER: usize = 11;
const STATE: usize = 12;

/// A row of SHOW WARNINGS: level, number and message. ASCII is as it is in all character sets.
pub(crate) type ListedCondition = [Vec<u8>; 3];

/// What SHOW WARNINGS lists.
#[derive(Debug)]
pub(crate) struct ConditionList {
    rows: Vec<ListedCondition>,
    /// None is missing, and others can stand in for them.
    fits: bool,
}

impl ConditionList {
    /// The questions for it, which change nothing.
    pub(crate) fn questions(capabilities: Capabilities) -> [Vec<u8>; 3] {
        let rows = format!("SHOW WARNINGS LIMIT {}", MOST + 1);
        [&rows, "SHOW COUNT(*) WARNINGS", "SHOW COUNT(*) ERRORS"]
            .map(|text| packet::query(text.as_bytes(), capabilities))
    }

    /// Of these rows, where so many warnings and errors are counted.
    pub(crate) fn new(rows: Vec<ListedCondition>, warnings: usize, errors: usize) -> Self {
        let of_errors = rows.iter().filter(|[level, ..]| level == b"Error").count();
        let complete = warnings == rows.len() && errors == of_errors;
        // One statement makes one error, or any number of warnings.
        let alike = of_errors == 0 || rows.len() == 1;
        Self { fits: complete && alike && rows.len() <= MOST, rows }
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether they can be taken along.
    pub(crate) fn fits(&self) -> bool {
        self.fits
    }
}

/// A condition that was taken along.
#[derive(Debug)]
struct Condition {
    level: Vec<u8>,
    /// Values of [`CONDITION_ITEMS`]: UTF-8, and a number.
    items: Vec<Option<Vec<u8>>>,
}

impl Condition {
    fn is_error(&self) -> bool {
        self.level == b"Error"
    }

    fn item(&self, item: usize) -> &[u8] {
        self.items.get(item).and_then(|value| value.as_deref()).unwrap_or_default()
    }

    /// What SHOW WARNINGS says of it, if SIGNAL can say the same.
    fn shown_message(&self) -> Option<&[u8]> {
        let message = self.item(MESSAGE);
        (message.is_ascii() && message.len() <= LONGEST_MESSAGE).then_some(message)
    }

    /// An item as an expression of the type that GET DIAGNOSTICS gives it.
    fn expression(&self, item: usize) -> Vec<u8> {
        match self.items.get(item) {
            Some(Some(value)) if item == NUMBER => [b"CAST(", &**value, b" AS UNSIGNED)"].concat(),
            Some(Some(value)) => format!("_utf8mb3 x'{}'", hex::encode(value)).into_bytes(),
            Some(None) | None => b"CONVERT(NULL USING utf8mb3)".to_vec(),
        }
    }
}

/// Conditions that were taken along, and for which others stand in on the session's connection.
#[derive(Debug, Default)]
pub(crate) struct KeptConditions(Vec<Condition>);

impl KeptConditions {
    /// Statements that put their items from the `first` one on into variables, and one that reads those.
    pub(crate) fn questions(
        first: usize,
        list: &ConditionList,
        capabilities: Capabilities,
    ) -> Vec<Vec<u8>> {
        let (mut packets, mut values) = (Vec::new(), Vec::new());
        for n in first..list.len() {
            let mut items = Vec::new();
            for (at, name) in CONDITION_ITEMS.iter().enumerate() {
                let variable = format!("@`{MARK} {n} {at}`");
                items.push(format!("{variable}={name}"));
                values.push(if at == NUMBER { variable } else { format!("HEX({variable})") });
            }
            let text = format!("GET DIAGNOSTICS CONDITION {} {}", n + 1, items.join(","));
            packets.push(packet::query(text.as_bytes(), capabilities));
        }
        let text = format!("SELECT {} LIMIT 1", values.join(","));
        packets.push(packet::query(text.as_bytes(), capabilities));
        packets
    }

    /// Takes in the answer to the last of them; `None` if they cannot be understood.
    pub(crate) fn take_in(
        &mut self,
        first: usize,
        list: &ConditionList,
        values: Vec<Option<Vec<u8>>>,
    ) -> Option<()> {
        let mut values = values.into_iter();
        let mut conditions = Vec::new();
        for [level, ..] in list.rows.get(first..)? {
            let mut items = Vec::new();
            for at in 0..CONDITION_ITEMS.len() {
                items.push(match values.next()? {
                    Some(value) if at != NUMBER => Some(hex::decode(value).ok()?),
                    value => value,
                });
            }
            conditions.push(Condition { level: level.clone(), items });
        }
        self.0.truncate(first);
        self.0.append(&mut conditions);
        Some(())
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether they begin the list: what stands in for them was not dropped.
    pub(crate) fn begin(&self, list: &ConditionList) -> bool {
        self.0.len() <= list.len()
            && self.0.iter().zip(&list.rows).all(|(condition, [level, _, message])| {
                let marked = memchr::memmem::find(message, MARK.as_bytes()).is_some();
                let same = condition.shown_message() == Some(message);
                (marked || same) && condition.is_error() == (level == b"Error")
            })
    }

    /// The statement that makes others stand in for them, and whether a reply says that it did.
    pub(crate) fn stand_in(&self, capabilities: Capabilities) -> (Vec<u8>, Substitute) {
        if let [one] = &*self.0
            && (one.is_error() || (one.level == b"Warning" && one.shown_message().is_some()))
        {
            let state = one.item(STATE);
            // Those would be none, or a warning.
            let state = match state {
                _ if !one.is_error() => b"01000",
                [b'0', b'0' | b'1', ..] | [] => b"HY000",
                state => state,
            };
            let message = hex::encode(one.shown_message().unwrap_or(MARK.as_bytes()));
            let text = [
                b"SIGNAL SQLSTATE '",
                state,
                b"' SET MYSQL_ERRNO=",
                one.item(NUMBER),
                b",MESSAGE_TEXT=_utf8mb4 x'",
                message.as_bytes(),
                b"'",
            ];
            let made = if one.is_error() { Substitute::Error } else { Substitute::Warnings };
            return (packet::query(&text.concat(), capabilities), made);
        }
        let casts: Vec<String> =
            (0..self.0.len()).map(|n| format!("CAST('{MARK} {n}' AS SIGNED)")).collect();
        let text = format!("DO {}", casts.join(","));
        (packet::query(text.as_bytes(), capabilities), Substitute::Warnings)
    }

    /// The statement that has the same rows as SHOW WARNINGS or SHOW ERRORS with this LIMIT clause.
    pub(crate) fn rows(&self, errors: bool, limit: &[u8], capabilities: Capabilities) -> Vec<u8> {
        let shown = self.0.iter().filter(|condition| !errors || condition.is_error());
        let rows: Vec<String> = shown
            .map(|condition| {
                format!(
                    "SELECT _utf8mb4'{}',{},_utf8mb4 x'{}'",
                    String::from_utf8_lossy(&condition.level),
                    String::from_utf8_lossy(condition.item(NUMBER)),
                    hex::encode(condition.item(MESSAGE)),
                )
            })
            .collect();
        let union = if rows.is_empty() {
            "SELECT 1 FROM DUAL WHERE 0".to_owned()
        } else {
            rows.join(" UNION ALL ")
        };
        // Whatever sql_select_limit says.
        let limit = if limit.is_empty() { b"LIMIT 4294967295" } else { limit };
        packet::query(&[union.as_bytes(), b" ", limit].concat(), capabilities)
    }

    /// Assignments that put right what GET DIAGNOSTICS has told of a condition that stands in for another.
    pub(crate) fn corrections(
        &self,
        text: &[u8],
        number: &Range<usize>,
        targets: &[ItemTarget],
    ) -> Vec<Vec<u8>> {
        let number = text.get(number.clone()).unwrap_or_default();
        let expression = |item: usize| -> Option<Vec<u8>> {
            if !number.starts_with(b"@") {
                let nth: usize = std::str::from_utf8(number).ok()?.parse().ok()?;
                return Some(self.0.get(nth.checked_sub(1)?)?.expression(item));
            }
            let mut case = [b"CASE CAST(", number, b" AS SIGNED)"].concat();
            for (n, condition) in self.0.iter().enumerate() {
                case.extend_from_slice(format!(" WHEN {} THEN ", n + 1).as_bytes());
                case.extend(condition.expression(item));
            }
            Some([&case[..], b" END"].concat())
        };
        let correction = |(target, item): &ItemTarget| {
            Some([text.get(target.clone())?, b"=", &*expression(*item)?].concat())
        };
        targets.iter().filter_map(correction).collect()
    }
}

/// What conditions are made for others to be represented by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Substitute {
    /// An error.
    Error,
    /// Warnings.
    Warnings,
}

impl Substitute {
    /// Whether this is how the statement that makes them ends.
    pub(crate) fn is_made_by(self, ending: Ending) -> bool {
        ending.is_error() == (self == Self::Error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(level: &str, number: &str, message: &str) -> ListedCondition {
        [level, number, message].map(|value| value.as_bytes().to_vec())
    }

    fn listed(rows: &[ListedCondition], warnings: usize, errors: usize) -> ConditionList {
        ConditionList::new(rows.to_vec(), warnings, errors)
    }

    fn condition(level: &str, number: &str, message: &str, state: &str) -> Condition {
        let mut items = vec![Some(Vec::new()); CONDITION_ITEMS.len()];
        items[NUMBER] = Some(number.into());
        items[MESSAGE] = Some(message.into());
        items[STATE] = Some(state.into());
        Condition { level: level.into(), items }
    }

    #[test]
    fn a_list_says_whether_others_can_stand_in() {
        let error = || row("Error", "1146", "a");
        let warning = || row("Warning", "1264", "b");
        let fits =
            |rows: &[ListedCondition], warnings, errors| listed(rows, warnings, errors).fits();
        assert!(fits(&[error()], 1, 1));
        assert!(fits(&[warning(), warning()], 2, 0));
        assert!(fits(&[], 0, 0));
        assert!(!fits(&[warning(), error()], 2, 1), "an error among others");
        assert!(!fits(&[warning()], 2, 0), "more than are listed");
        assert!(!fits(&vec![warning(); MOST + 1], MOST + 1, 0));
    }

    #[test]
    fn what_stands_in_is_known_again() {
        let text = |kept: &KeptConditions| {
            let (packet, made) = kept.stand_in(Capabilities(0));
            (String::from_utf8_lossy(&packet[5..]).into_owned(), made)
        };
        let error = KeptConditions(vec![condition("Error", "1146", "no", "42S02")]);
        let signal = "SIGNAL SQLSTATE '42S02' SET MYSQL_ERRNO=1146,MESSAGE_TEXT=_utf8mb4 x'6e6f'";
        assert_eq!(text(&error), (signal.to_owned(), Substitute::Error));
        assert!(error.begin(&listed(&[row("Error", "1146", "no")], 1, 1)));
        assert!(!error.begin(&listed(&[row("Error", "1146", "not")], 1, 1)));
        let long = "a".repeat(129);
        let long = KeptConditions(vec![condition("Error", "1064", &long, "42000")]);
        assert!(text(&long).0.ends_with("x'6c6f636b7374656164'"));
        let note = || condition("Note", "1051", "x", "42S02");
        let notes = KeptConditions(vec![note(), note()]);
        let casts = "DO CAST('lockstead 0' AS SIGNED),CAST('lockstead 1' AS SIGNED)";
        assert_eq!(text(&notes), (casts.to_owned(), Substitute::Warnings));
        let mine = || row("Warning", "1292", "lockstead here");
        assert!(notes.begin(&listed(&[mine(), mine()], 2, 0)));
        assert!(!notes.begin(&listed(&[mine()], 1, 0)));
    }

    #[test]
    fn what_is_told_is_put_right() {
        let kept = KeptConditions(vec![
            condition("Note", "1051", "x", "42S02"),
            condition("Warning", "1264", "y", "22003"),
        ]);
        let text = b"GET DIAGNOSTICS CONDITION 2 @a = MESSAGE_TEXT, @b = MYSQL_ERRNO";
        let targets = [(28..30, MESSAGE), (47..49, NUMBER)];
        let corrections = |number: Range<usize>, text: &[u8]| {
            let all = kept.corrections(text, &number, &targets).join(&b','.to_owned());
            String::from_utf8_lossy(&all).into_owned()
        };
        assert_eq!(corrections(26..27, text), "@a=_utf8mb3 x'79',@b=CAST(1264 AS UNSIGNED)");
        assert_eq!(corrections(0..0, text), "");
    }
}
