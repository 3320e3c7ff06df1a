//! A statement with `?` in place of its literals, without comments: its digest text, by which
//! statements are grouped and shown.

use crate::sql::find::readings::Readings;
use crate::sql::lexer::dialect::Dialect;
use crate::sql::lexer::scanner::{Kind, Token};
use crate::sql::lexer::tokens::tokens;

/// Literals of a list that are shown; more of them are three dots.
const SHOWN: usize = 2;

/// Bytes that are looked at in all readings together, or of each one twice what is shown.
const WORK: usize = 256 * 1024;

/// At most `limit` bytes and a sign that there is more. Where the proxy does not know how the server
/// reads the text, what all readings have in common: a literal in one of them is not shown.
pub fn normalise(text: &[u8], dialect: Dialect, limit: usize) -> String {
    let each = (WORK / dialect.readings(text).len()).max(2 * limit);
    let (looked_at, rest) = text.split_at(each.min(text.len()));
    let whole = rest.is_empty();
    let different = Readings::of(looked_at, dialect).flatten();
    let mut readings = different.map(|d| read(looked_at, whole, d, limit));
    let mut common = readings.next().unwrap_or_default();
    for other in readings {
        let same = common.char_indices().zip(other.chars()).find(|((_, a), b)| a != b);
        let end = same.map_or(common.len().min(other.len()), |((at, _), _)| at);
        if end < common.len().max(other.len()) {
            common.truncate(end);
            common.push('…');
        }
    }
    common
}

/// `whole`: there is no more of it.
fn read(text: &[u8], whole: bool, dialect: Dialect, limit: usize) -> String {
    let (mut tokens, _) = tokens(text, dialect);
    if !whole {
        // The meaning of the last tokens may depend on the rest of the text.
        tokens.retain(|token| token.end < text.len());
    }
    let mut out =
        DigestWriter { text, out: String::new(), last: None, number: 0, list: 0, comma: false };
    let mut seen = 0;
    for (i, token) in tokens.iter().enumerate() {
        if out.out.len() > limit || out.is_dollar_quote(*token) {
            break;
        }
        out.token(*token, tokens.get(i + 1));
        seen = i + 1;
    }
    out.flush(false);
    let mut out = out.out;
    if out.len() > limit || seen < tokens.len() || !whole {
        out.truncate(out.floor_char_boundary(limit.min(out.len())));
        out.push('…');
    }
    out
}

struct DigestWriter<'a> {
    text: &'a [u8],
    out: String,
    /// The token before, and whether it was a literal.
    last: Option<(Token, bool)>,
    /// Where a number ends that may go on.
    number: usize,
    /// Literals in a row, with commas between them.
    list: usize,
    /// The comma after them is not written yet.
    comma: bool,
}

impl DigestWriter<'_> {
    /// The text after it is in another language.
    fn is_dollar_quote(&self, token: Token) -> bool {
        token.kind == Kind::Word && self.text[token.start] == b'$'
    }

    fn token(&mut self, token: Token, next: Option<&Token>) {
        let bytes = token.bytes(self.text);
        match token.kind {
            Kind::String | Kind::Punct(b'?') => self.literal(token),
            Kind::Quoted if bytes[0] == b'"' => self.literal(token),
            Kind::Punct(b'.') | Kind::Word if self.number == token.start && self.number > 0 => {
                self.goes_on(token);
            }
            Kind::Punct(b'-' | b'+') if self.number == token.start && self.has_exponent(token) => {
                self.goes_on(token);
            }
            Kind::Word if bytes[0].is_ascii_digit() => {
                self.number = token.end;
                self.literal(token);
            }
            // x'4142', b'1', N'text'
            Kind::Word
                if bytes.len() == 1
                    && b"xXbBnN".contains(&bytes[0])
                    && next.is_some_and(|n| n.kind == Kind::String && n.start == token.end) => {}
            Kind::Punct(b',') if self.last.is_some_and(|(_, literal)| literal) => {
                self.comma = true;
                self.last = Some((token, false));
            }
            Kind::Word | Kind::Quoted | Kind::Punct(_) => {
                self.flush(true);
                self.gap(token);
                let shown = String::from_utf8_lossy(bytes);
                self.out.extend(shown.chars().map(|c| if c.is_control() { ' ' } else { c }));
                self.last = Some((token, false));
            }
            Kind::Hint | Kind::Versioned => {}
        }
    }

    /// The number before does.
    fn goes_on(&mut self, token: Token) {
        self.number = token.end;
        self.last = Some((token, true));
    }

    fn has_exponent(&self, token: Token) -> bool {
        token.start > 0 && matches!(self.text[token.start - 1], b'e' | b'E')
    }

    fn literal(&mut self, token: Token) {
        // Adjacent strings are one.
        if self.last.is_some_and(|(_, literal)| literal) {
            self.last = Some((token, true));
            return;
        }
        if self.comma {
            self.list += 1;
            if self.list > SHOWN {
                self.comma = false;
                self.last = Some((token, true));
                return;
            }
            self.out.push(',');
            self.comma = false;
        } else {
            self.list = 1;
        }
        self.gap(token);
        self.out.push('?');
        self.last = Some((token, true));
    }

    /// Ends a list of literals.
    fn flush(&mut self, more: bool) {
        if self.list > SHOWN {
            self.out.push_str(", ...");
        }
        if self.comma && more {
            self.out.push(',');
        }
        (self.list, self.comma) = (0, false);
    }

    /// One space for whatever stands between two tokens.
    fn gap(&mut self, token: Token) {
        if self.last.is_some_and(|(last, _)| last.end < token.start) {
            self.out.push(' ');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::Flavour;
    const MYSQL: Dialect = Dialect::MYSQL;

    fn normal(sql: &str) -> String {
        normalise(sql.as_bytes(), MYSQL, 1024)
    }

    #[test]
    fn literals_become_question_marks_and_comments_go() {
        for (sql, shown) in [
            ("SELECT GET_LOCK('a', 10)", "SELECT GET_LOCK(?, ?)"),
            (
                " /* user 7 */ SELECT  get_lock ( \"it''s\" ,1.5e-3 ) ;-- bye",
                "SELECT get_lock ( ?,? ) ;",
            ),
            ("SELECT GET_LOCK(?,-1)", "SELECT GET_LOCK(?,-?)"),
            ("SELECT GET_LOCK(1.5, 2e+1)+.5", "SELECT GET_LOCK(?, ?)+.?"),
            (
                "SELECT GET_LOCK(CONCAT('a' 'b', x'41', n'c'), 0x10)",
                "SELECT GET_LOCK(CONCAT(?, ?, ...), ?)",
            ),
            ("DO RELEASE_LOCK(_utf8mb4'k')", "DO RELEASE_LOCK(_utf8mb4?)"),
            (
                "UPDATE `t``1` SET a=@b WHERE c IN (1,2,3, 4)",
                "UPDATE `t``1` SET a=@b WHERE c IN (?,?, ...)",
            ),
            ("SELECT t1.a1, 5, a FROM db.t1 LIMIT 3", "SELECT t1.a1, ?, a FROM db.t1 LIMIT ?"),
            ("SELECT /*!50000 GET_LOCK*/('k',0) /*+ x('y') */", "SELECT GET_LOCK (?,?)"),
            ("SELECT 1, 2, 3, a, 'b', 'c'", "SELECT ?, ?, ..., a, ?, ?"),
            ("SELECT 1, 2, 3, ", "SELECT ?, ?, ..."),
            (
                "CREATE FUNCTION f() RETURNS INT LANGUAGE JAVASCRIPT AS $$ secret $$",
                "CREATE FUNCTION f() RETURNS INT LANGUAGE JAVASCRIPT AS…",
            ),
        ] {
            assert_eq!(normal(sql), shown, "{sql}");
        }
    }

    #[test]
    fn a_text_is_cut_at_a_character() {
        let sql = format!("SELECT {}", "ü, ".repeat(1000));
        let cut = normal(&sql);
        assert!(cut.len() <= 1024 + '…'.len_utf8() && cut.ends_with('…'), "{cut}");
        assert_eq!(normalise(b"SELECT abc", MYSQL, 8), "SELECT a…");
        assert_eq!(normal(""), "");
    }

    #[test]
    fn of_a_long_text_in_many_readings_a_part_is_looked_at() {
        let list = ", 'd\u{e9}j\u{e0}'".repeat(6000);
        let sql = format!("SELECT GET_LOCK('k', 0) {list}, a\\\"b FROM t");
        assert_eq!(normal(&sql), "SELECT GET_LOCK(?, ?) , ?, ?, ...…");
    }

    #[test]
    fn a_literal_of_one_mode_is_shown_in_none() {
        for sql in [
            r"SELECT 'a\', GET_LOCK(secret, 0), '",
            r#"SELECT "a\", secret, " "#,
            "SELECT \"secret\"",
            "SELECT 'open secret",
        ] {
            let shown = normal(sql);
            assert!(!shown.contains("secret"), "{sql}: {shown}");
        }
        let gbk = b"SELECT GET_LOCK('\x81\\', 0), secret, '";
        let shown = normalise(gbk, MYSQL, 1024);
        assert!(shown.ends_with('…') && !shown.contains("secret"), "{shown}");
        let brackets = Dialect { flavour: Flavour::MariaDb, ..MYSQL };
        let shown = normalise(b"SELECT [it's], 'secret'", brackets, 1024);
        assert!(!shown.contains("secret"), "{shown}");
    }
}
