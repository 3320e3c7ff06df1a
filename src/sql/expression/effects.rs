//! Functions that may be evaluated again unnoticed.

use crate::lock::function::Function;
use crate::sql::find::finder::is_function_schema;
use crate::sql::lexer::dialect::Dialect;
use crate::sql::lexer::scanner::{Kind, Token};
use crate::types::Flavour;

/// Functions without side effects, chance or long duration, of [servers that have them](is_native):
/// where there is none of its own, the server takes the name for a stored function's.
pub const PURE: &[&str] = &[
    "ABS",
    "ADDDATE",
    "ADDTIME",
    "ASCII",
    "AVG",
    "BIN",
    "BIT_AND",
    "BIT_LENGTH",
    "BIT_OR",
    "CAST",
    "CEIL",
    "CEILING",
    "CHAR",
    "CHARACTER_LENGTH",
    "CHARSET",
    "CHAR_LENGTH",
    "COALESCE",
    "COERCIBILITY",
    "COLLATION",
    "CONCAT",
    "CONCAT_WS",
    "CONNECTION_ID",
    "CONV",
    "CONVERT",
    "COUNT",
    "CRC32",
    "CURDATE",
    "CURRENT_DATE",
    "CURRENT_TIMESTAMP",
    "CURRENT_USER",
    "CURTIME",
    "DATABASE",
    "DATE",
    "DATEDIFF",
    "DATE_ADD",
    "DATE_FORMAT",
    "DATE_SUB",
    "DAY",
    "DAYOFMONTH",
    "DAYOFWEEK",
    "DAYOFYEAR",
    "ELT",
    "EXTRACT",
    "FIELD",
    "FIND_IN_SET",
    "FLOOR",
    "FORMAT",
    "FOUND_ROWS",
    "FROM_BASE64",
    "FROM_UNIXTIME",
    "GREATEST",
    "GROUP_CONCAT",
    "HEX",
    "HOUR",
    "IF",
    "IFNULL",
    "INSERT",
    "INSTR",
    "INTERVAL",
    "ISNULL",
    "JSON_ARRAY",
    "JSON_EXTRACT",
    "JSON_OBJECT",
    "JSON_UNQUOTE",
    "JSON_VALUE",
    "LCASE",
    "LEAST",
    "LEFT",
    "LENGTH",
    "LOCATE",
    "LOWER",
    "LPAD",
    "LTRIM",
    "MAKEDATE",
    "MAKE_SET",
    "MAX",
    "MD5",
    "MICROSECOND",
    "MID",
    "MIN",
    "MINUTE",
    "MOD",
    "MONTH",
    "NOW",
    "NULLIF",
    "OCT",
    "OCTET_LENGTH",
    "ORD",
    "POSITION",
    "POW",
    "POWER",
    "QUARTER",
    "QUOTE",
    "REGEXP_LIKE",
    "REGEXP_REPLACE",
    "REGEXP_SUBSTR",
    "REPEAT",
    "REPLACE",
    "REVERSE",
    "RIGHT",
    "ROUND",
    "ROW",
    "ROW_COUNT",
    "RPAD",
    "RTRIM",
    "SCHEMA",
    "SECOND",
    "SESSION_USER",
    "SHA",
    "SHA1",
    "SHA2",
    "SIGN",
    "SPACE",
    "STRCMP",
    "STR_TO_DATE",
    "SUBSTR",
    "SUBSTRING",
    "SUBSTRING_INDEX",
    "SUM",
    "SYSTEM_USER",
    "TIME",
    "TIMEDIFF",
    "TIMESTAMP",
    "TIMESTAMPADD",
    "TIMESTAMPDIFF",
    "TO_BASE64",
    "TO_DAYS",
    "TRIM",
    "TRUNCATE",
    "UCASE",
    "UNHEX",
    "UNIX_TIMESTAMP",
    "UPPER",
    "USER",
    "UTC_DATE",
    "UTC_TIME",
    "UTC_TIMESTAMP",
    "VERSION",
    "WEEK",
    "WEEKDAY",
    "YEAR",
];

/// Of these, those that end no statement with an error, evaluate their first argument first, and
/// exactly once for the one row there is.
const QUIET: &[&str] = &[
    "CAST",
    "COALESCE",
    "CONCAT",
    "CONNECTION_ID",
    "CONVERT",
    "CURRENT_USER",
    "DATABASE",
    "FOUND_ROWS",
    "HEX",
    "IF",
    "IFNULL",
    "ISNULL",
    "LOWER",
    "MD5",
    "NOW",
    "NULLIF",
    "ROW_COUNT",
    "SCHEMA",
    "SHA1",
    "SHA2",
    "SUBSTRING",
    "UPPER",
    "USER",
    "VERSION",
];

/// Of these, those that are the server's own only if the parenthesis follows at once, unless its modes
/// have IGNORE_SPACE. After a gap they are stored functions.
const ADJOINING: &[&str] = &[
    "ADDDATE",
    "BIT_AND",
    "BIT_OR",
    "CAST",
    "COUNT",
    "CURDATE",
    "CURTIME",
    "DATE_ADD",
    "DATE_SUB",
    "EXTRACT",
    "GROUP_CONCAT",
    "MAX",
    "MID",
    "MIN",
    "NOW",
    "POSITION",
    "SESSION_USER",
    "SUBSTR",
    "SUBSTRING",
    "SUM",
    "SYSTEM_USER",
    "TRIM",
];

/// Words that may stand before a parenthesis without naming a function.
pub const KEYWORDS: &[&str] = &[
    "ALL",
    "AND",
    "ANY",
    "AS",
    "BETWEEN",
    "BINARY",
    "BY",
    "CASE",
    "DECIMAL",
    "DISTINCT",
    "DIV",
    "DO",
    "ELSE",
    "EXCEPT",
    "EXISTS",
    "FROM",
    "HAVING",
    "IN",
    "INTERSECT",
    "INTO",
    "IS",
    "JOIN",
    "LIKE",
    "LIMIT",
    "NOT",
    "ON",
    "OR",
    "OVER",
    "REGEXP",
    "RLIKE",
    "SELECT",
    "SET",
    "SOME",
    "THEN",
    "UNION",
    "USING",
    "VALUES",
    "WHEN",
    "WHERE",
    "WITH",
    "XOR",
];

/// Whether a server has a function of its own under a name that others do not have.
fn is_native(name: &[u8], dialect: Dialect) -> bool {
    match (name, dialect.flavour) {
        // Moved into a component in the course of version 9.
        (b"MD5" | b"SHA" | b"SHA1", Flavour::MySql) => dialect.version < 90_000,
        (b"JSON_VALUE", Flavour::MySql) => dialect.version >= 80_021,
        (b"REGEXP_LIKE", Flavour::MariaDb) => false,
        (_, Flavour::MySql | Flavour::MariaDb) => true,
    }
}

/// Whether the word before a parenthesis names one of these functions as the server reads it; `gap`
/// says that something is between the two.
fn is_among(list: &[&str], name: &[u8], gap: bool, dialect: Dialect) -> bool {
    among(list, name) && !(gap && among(ADJOINING, name)) && is_native(name, dialect)
}

/// Whether a function of this name, in upper case, is [quiet](QUIET); or the word is none.
pub(in crate::sql) fn is_quiet(name: &[u8], gap: bool, dialect: Dialect) -> bool {
    is_among(QUIET, name, gap, dialect)
        || (among(KEYWORDS, name) && !matches!(name, b"SELECT" | b"EXISTS"))
}

/// Whether tokens may be evaluated again: lock calls in them are not looked at.
pub(in crate::sql) fn is_repeatable(text: &[u8], tokens: &[Token], dialect: Dialect) -> bool {
    let is = |i: usize, b: u8| tokens.get(i).is_some_and(|t| t.kind == Kind::Punct(b));
    tokens.iter().enumerate().all(|(i, token)| match token.kind {
        Kind::Punct(b':') => !is(i + 1, b'='),
        Kind::Word | Kind::Quoted => {
            let name = token.bytes(text).to_ascii_uppercase();
            let quoted = token.kind == Kind::Quoted && name.len() > 1;
            let word = if quoted { &name[1..name.len() - 1] } else { name.as_slice() };
            // The server's own functions have schemas, too.
            let of_server = i > 1 && {
                let schema = tokens[i - 2].bytes(text);
                is_function_schema(schema.strip_prefix(b"`").map_or(schema, |s| &s[..s.len() - 1]))
            };
            let qualified = i > 0 && is(i - 1, b'.') && !of_server;
            if !is(i + 1, b'(') {
                // NEXT VALUE FOR s, s.NEXTVAL
                return name != b"NEXT" && !(qualified && word == b"NEXTVAL");
            }
            let gap = tokens[i + 1].start > token.end;
            let pure = is_among(PURE, word, gap, dialect) || among(KEYWORDS, word);
            !qualified
                && (Function::from_name(word).is_some()
                    || (token.kind == Kind::Word && pure)
                    // The columns of a common table expression.
                    || is_with_name(text, tokens, i))
        }
        Kind::String | Kind::Punct(_) | Kind::Hint | Kind::Versioned => true,
    })
}

/// `name (` after WITH.
fn is_with_name(text: &[u8], tokens: &[Token], i: usize) -> bool {
    i > 0 && ["WITH", "RECURSIVE"].iter().any(|word| tokens[i - 1].is(text, word))
}

fn among(list: &[&str], name: &[u8]) -> bool {
    list.iter().any(|known| known.as_bytes() == name)
}
