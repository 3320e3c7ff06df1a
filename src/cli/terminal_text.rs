//! Text from others, made safe for a terminal: it moves no cursor, ends no line, turns none around, and hides nothing.

use std::fmt::Write as _;

/// Characters that are nothing to see, or change how others are seen: controls, marks of direction and
/// form, ends of lines, fillers. Signs of Unicode's class Cf that have a shape of their own are not among
/// them, nor are variation selectors, which belong to the sign before.
const HIDDEN: [(char, char); 22] = [
    ('\0', '\u{1f}'),
    ('\u{7f}', '\u{9f}'),
    ('\u{ad}', '\u{ad}'),
    ('\u{34f}', '\u{34f}'),
    ('\u{61c}', '\u{61c}'),
    ('\u{115f}', '\u{1160}'),
    ('\u{17b4}', '\u{17b5}'),
    ('\u{180b}', '\u{180f}'),
    ('\u{200b}', '\u{200f}'),
    ('\u{2028}', '\u{202e}'),
    ('\u{2060}', '\u{206f}'),
    ('\u{3164}', '\u{3164}'),
    ('\u{feff}', '\u{feff}'),
    ('\u{ffa0}', '\u{ffa0}'),
    ('\u{fff0}', '\u{fffb}'),
    ('\u{fffe}', '\u{ffff}'),
    ('\u{13430}', '\u{1343f}'),
    ('\u{1bca0}', '\u{1bca3}'),
    ('\u{1d173}', '\u{1d17a}'),
    ('\u{1fffe}', '\u{1ffff}'),
    ('\u{e0000}', '\u{e0fff}'),
    ('\u{ffffe}', '\u{fffff}'),
];

/// Whether a character is not to be shown as it is.
pub(super) fn is_hidden(c: char) -> bool {
    HIDDEN.iter().any(|(first, last)| (*first..=*last).contains(&c))
}

/// As a reader needs it.
pub(crate) fn plain(text: &str) -> String {
    let escaped =
        |c: char| if is_hidden(c) { c.escape_default().to_string() } else { c.to_string() };
    text.chars().map(escaped).collect()
}

/// Lines of the program's own, with parts of others: their ends stay.
pub(super) fn lines(text: &str) -> String {
    text.split('\n').map(plain).collect::<Vec<_>>().join("\n")
}

/// JSON, whose text may be displayed: what JSON need not escape is escaped, too. Ends of lines between its values stay.
pub(super) fn safe(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        if c != '\n' && is_hidden(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                // A string takes everything.
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invisible_characters_are_shown_by_their_numbers() {
        assert_eq!(lines("a\n\u{1b}[2J b\n"), "a\n\\u{1b}[2J b\n");
        for (text, shown) in [
            ("two\nlines\t\u{1b}[31m", "two\\nlines\\t\\u{1b}[31m"),
            ("\u{61c}\u{202e}\u{180e}\u{e0041}", "\\u{61c}\\u{202e}\\u{180e}\\u{e0041}"),
            ("é 名前 \u{1f512}\u{fe0f} e\u{301} \\", "é 名前 \u{1f512}\u{fe0f} e\u{301} \\"),
        ] {
            assert_eq!(plain(text), shown);
        }
        let json = safe("[\n\"\u{9b}\u{61c}\u{e0041}é\"]\n");
        assert_eq!(json, "[\n\"\\u009b\\u061c\\udb40\\udc41é\"]\n");
        let read: Vec<String> = serde_json::from_str(&json).expect("JSON");
        assert_eq!(read, ["\u{9b}\u{61c}\u{e0041}é"]);
    }
}
