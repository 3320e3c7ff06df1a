//! Values, names and lists, written as SQL.

use crate::lock::name::Key;
use crate::types::ProxyId;

/// A byte string as a hexadecimal literal: names are hostile bytes and are never quoted as text.
pub(super) fn literal(bytes: &[u8]) -> String {
    if bytes.is_empty() { "''".to_owned() } else { format!("x'{}'", hex::encode(bytes)) }
}

/// A text as a string literal, where backslashes escape.
pub fn quoted_text(text: &str) -> String {
    format!("'{}'", text.replace('\\', r"\\").replace('\'', "''"))
}

/// The name of a table, an account or a program, in backticks.
pub fn quoted_name(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// Incarnations for IN (); 0 if there are none.
pub(super) fn ids(ids: &[ProxyId]) -> String {
    if ids.is_empty() {
        return "0".to_owned();
    }
    numbers(ids.iter().map(|id| id.0))
}

/// Numbers for IN ().
pub(super) fn numbers(numbers: impl IntoIterator<Item = u64>) -> String {
    numbers.into_iter().map(|n| n.to_string()).collect::<Vec<_>>().join(",")
}

/// Keys for IN ().
pub(super) fn keys<'a>(keys: impl IntoIterator<Item = &'a Key>) -> String {
    keys.into_iter().map(|key| literal(key.as_bytes())).collect::<Vec<_>>().join(",")
}
