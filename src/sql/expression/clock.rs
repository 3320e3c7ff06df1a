//! Where a statement's own text sets its clock.

use std::time::Duration;

use crate::sql::lexer::dialect::Dialect;
use crate::sql::lexer::scanner::{Kind, Token};
use crate::sql::lexer::tokens::tokens;
use crate::types::Flavour;

/// The first version of MySQL whose hints set variables.
const HINTS: u32 = 80_003;

/// A place in a statement, and what sets its clock there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockPlace {
    /// The byte before which it is written.
    pub at: usize,
    how: How,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum How {
    /// MySQL: `/*+ SET_VAR(timestamp=…) */` after the first word.
    Hint,
    /// In a hint that is there.
    InHint,
    /// MariaDB: `SET STATEMENT timestamp=… FOR` before the statement.
    Settings,
    /// Among its own settings.
    InSettings,
}

impl ClockPlace {
    /// `None`: such a statement has no place for it, or sets its clock itself. `start`: where it begins after its settings.
    pub fn find(text: &[u8], start: usize, dialect: Dialect) -> Option<Self> {
        let all = tokens(text, dialect).0;
        match dialect.flavour {
            Flavour::MariaDb if start == 0 => Some(Self { at: 0, how: How::Settings }),
            Flavour::MariaDb => in_settings(text, &all, start),
            Flavour::MySql if dialect.version < HINTS => None,
            Flavour::MySql => after_first_word(text, &all, dialect),
        }
    }

    /// What is written there for a time since the epoch.
    pub fn setting(self, time: Duration) -> String {
        let time = format!("timestamp={}.{:06}", time.as_secs(), time.subsec_micros());
        match self.how {
            How::Hint => format!(" /*+ SET_VAR({time}) */"),
            How::InHint => format!(" SET_VAR({time})"),
            How::Settings => format!("SET STATEMENT {time} FOR "),
            How::InSettings => format!(" {time},"),
        }
    }
}

fn is(text: &[u8], token: &Token, word: &str) -> bool {
    token.kind == Kind::Word && text[token.start..token.end].eq_ignore_ascii_case(word.as_bytes())
}

fn names_clock(text: &[u8]) -> bool {
    memchr::memmem::find(&text.to_ascii_lowercase(), b"timestamp").is_some()
}

/// After `SET STATEMENT`: of settings within settings, only the inner ones would count.
fn in_settings(text: &[u8], all: &[Token], start: usize) -> Option<ClockPlace> {
    let before = &all[..all.partition_point(|token| token.start < start)];
    let mut settings = before.iter().filter(|token| is(text, token, "STATEMENT"));
    let at = settings.next()?.end;
    let single = settings.next().is_none() && !names_clock(&text[..start]);
    single.then_some(ClockPlace { at, how: How::InSettings })
}

/// After the word that begins the outermost query or change, which is the only place for such a hint.
fn after_first_word(text: &[u8], all: &[Token], dialect: Dialect) -> Option<ClockPlace> {
    const WORDS: [&str; 5] = ["SELECT", "INSERT", "REPLACE", "UPDATE", "DELETE"];
    let known = |token: &Token| WORDS.iter().any(|word| is(text, token, word));
    let open = |token: &Token| matches!(token.kind, Kind::Punct(b'(') | Kind::Hint);
    let first = all.iter().position(|token| !open(token))?;
    let nth = if is(text, &all[first], "WITH") {
        // The text reads in one way, also in quotes.
        let certain = dialect.readings(text).len() == 1;
        let mut depth = 0_u32;
        all.iter()
            .position(|token| {
                match token.kind {
                    Kind::Punct(b'(') => depth += 1,
                    Kind::Punct(b')') => depth = depth.saturating_sub(1),
                    _ => {}
                }
                depth == 0 && known(token)
            })
            .filter(|_| certain)?
    } else {
        Some(first).filter(|nth| known(&all[*nth]))?
    };
    // A comment in a versioned one would end it.
    if all[..nth].iter().any(|token| token.kind == Kind::Versioned) {
        return None;
    }
    let Some(hint) = all.get(nth + 1).filter(|next| next.kind == Kind::Hint) else {
        return Some(ClockPlace { at: all[nth].end, how: How::Hint });
    };
    // After its three first bytes.
    let place = ClockPlace { at: hint.start + 3, how: How::InHint };
    (!names_clock(&text[hint.start..hint.end])).then_some(place)
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
    fn the_clock_is_set_by_a_hint_where_a_statement_has_a_place_for_it() {
        const HINT: &str = "/*+ SET_VAR(timestamp=1700000000.000005) */";
        for sql in [
            "SELECT ¦ NOW(), GET_LOCK('a',1)",
            "/* a */ ((select ¦ NOW()) UNION SELECT 2)",
            "INSERT ¦ IGNORE INTO t SELECT 1",
            "REPLACE ¦ t VALUES (1)",
            "UPDATE ¦ t SET a=1",
            "DELETE ¦ FROM t",
            "WITH a AS (SELECT 1), b (c) AS (SELECT 'SELECT') SELECT ¦ * FROM a",
            "WITH a AS (SELECT 1) UPDATE ¦ t JOIN a SET b=1",
            "SELECT ¦/**/1",
        ] {
            let expected = sql.replace('¦', HINT);
            let plain = sql.replace(" ¦", "");
            assert_eq!(set(&plain, 0, Dialect::MYSQL), Some(expected), "{sql}");
        }
        for sql in [
            "SET @a=NOW()",
            "DO NOW()",
            "VALUES ROW(NOW())",
            "/*! SELECT */ NOW()",
            "WITH a AS (SELECT 1) (SELECT 2)",
            "WITH a AS (SELECT \"'\") SELECT 1",
            "SELECT /*+ SET_VAR(timestamp=5) */ NOW()",
            "",
        ] {
            assert_eq!(set(sql, 0, Dialect::MYSQL), None, "{sql}");
        }
        assert_eq!(
            set("SELECT /*+ MAX_EXECUTION_TIME(5) */ 1", 0, Dialect::MYSQL).as_deref(),
            Some("SELECT /*+ SET_VAR(timestamp=1700000000.000005) MAX_EXECUTION_TIME(5) */ 1")
        );
        let old = Dialect { version: 50_744, ..Dialect::MYSQL };
        assert_eq!(set("SELECT 1", 0, old), None);
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
