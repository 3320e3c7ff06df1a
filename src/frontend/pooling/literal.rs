//! Values of system variables in SET.

use crate::backend::session_state::is_plain;

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
