//! Where a statement's own text sets its clock.

use std::time::Duration;

use crate::sql::lexer::dialect::Dialect;
use crate::sql::lexer::scanner::Token;
use crate::sql::lexer::tokens::tokens;
use crate::types::Flavour;

/// A place in a statement, and what sets its clock there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockPlace {
    /// The byte before which it is written.
    pub at: usize,
    how: How,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum How {
    /// `SET STATEMENT timestamp=… FOR` before the statement.
    Settings,
    /// Among its own settings.
    InSettings,
}

impl ClockPlace {
    /// `None`: such a statement has no place for it, or sets its clock itself. `start`: where it begins after its settings.
    pub fn find(text: &[u8], start: usize, dialect: Dialect) -> Option<Self> {
        match dialect.flavour {
            Flavour::MariaDb if start == 0 => Some(Self { at: 0, how: How::Settings }),
            Flavour::MariaDb => in_settings(text, &tokens(text, dialect).0, start),
            // A hint with SET_VAR would set it, but leave the session's clock where it was (measured on 9.7).
            Flavour::MySql => None,
        }
    }

    /// What is written there for a time since the epoch.
    pub fn setting(self, time: Duration) -> String {
        let time = format!("timestamp={}.{:06}", time.as_secs(), time.subsec_micros());
        match self.how {
            How::Settings => format!("SET STATEMENT {time} FOR "),
            How::InSettings => format!(" {time},"),
        }
    }
}

fn names_clock(text: &[u8]) -> bool {
    memchr::memmem::find(&text.to_ascii_lowercase(), b"timestamp").is_some()
}

/// After `SET STATEMENT`: of settings within settings, only the inner ones would count.
fn in_settings(text: &[u8], all: &[Token], start: usize) -> Option<ClockPlace> {
    let before = &all[..all.partition_point(|token| token.start < start)];
    let mut settings = before.iter().filter(|token| token.is(text, "STATEMENT"));
    let at = settings.next()?.end;
    let single = settings.next().is_none() && !names_clock(&text[..start]);
    single.then_some(ClockPlace { at, how: How::InSettings })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(sql: &str, start: usize, dialect: Dialect) -> Option<String> {
        let place = ClockPlace::find(sql.as_bytes(), start, dialect)?;
        let setting = place.setting(Duration::from_micros(1_700_000_000_000_005));
        Some([&sql[..place.at], &setting, &sql[place.at..]].concat())
    }

    #[test]
    fn mysql_sets_no_clock_for_one_statement() {
        assert_eq!(set("SELECT NOW(), GET_LOCK('a',1)", 0, Dialect::MYSQL), None);
    }

    #[test]
    fn the_clock_is_set_by_settings_before_the_statement() {
        let set = |sql: &str, start| set(sql, start, Dialect::MARIADB);
        for sql in ["SELECT 1", "DO 1", "/* a */ SET @a=NOW()", "VALUES (NOW())"] {
            let expected = format!("SET STATEMENT timestamp=1700000000.000005 FOR {sql}");
            assert_eq!(set(sql, 0), Some(expected));
        }
        let sql = "SET STATEMENT max_statement_time=1 FOR SELECT 1";
        let expected =
            "SET STATEMENT timestamp=1700000000.000005, max_statement_time=1 FOR SELECT 1";
        assert_eq!(set(sql, 39).as_deref(), Some(expected));
        for sql in [
            "SET STATEMENT timestamp=5 FOR SELECT 1",
            "SET STATEMENT a=1 FOR SET STATEMENT b=2 FOR SELECT 1",
        ] {
            assert_eq!(set(sql, sql.find("SELECT").expect("one")), None, "{sql}");
        }
    }
}
