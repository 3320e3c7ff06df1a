//! COMMIT RELEASE and ROLLBACK RELEASE: the server ends the connection after its OK, and the session ends with it.

use super::lost::is_single;
use super::seat::Seat;
use crate::sql::find::first_word::after_comments;

/// What may follow COMMIT and ROLLBACK. ROLLBACK TO ends no transaction.
const FOLLOWING: [&[u8]; 5] = [b"work", b"and", b"no", b"chain", b"release"];

impl Seat {
    /// Whether the server ends the connection after a statement with this text.
    pub(super) fn releases(&self, text: &[u8]) -> bool {
        releases(text, || {
            let default = self.state.variable(b"completion_type");
            default.is_some_and(|how| how.eq_ignore_ascii_case(b"release"))
        })
    }
}

/// `default`: where the statement does not say so itself.
fn releases(text: &[u8], default: impl FnOnce() -> bool) -> bool {
    let text = &text[after_comments(text)..];
    let ends = |word: &[u8]| text.get(..word.len()).is_some_and(|w| w.eq_ignore_ascii_case(word));
    if !(ends(b"commit") || ends(b"rollback")) || !is_single(text) {
        return false;
    }
    let text = text.to_ascii_lowercase();
    let blank = |byte: &u8| byte.is_ascii_whitespace() || *byte == b';';
    let words: Vec<&[u8]> = text.split(blank).filter(|word| !word.is_empty()).collect();
    let Some((b"commit" | b"rollback", following)) = words.split_first().map(|(f, r)| (*f, r))
    else {
        return false;
    };
    if !following.iter().all(|word| FOLLOWING.contains(word)) {
        return false;
    }
    match following {
        [.., b"no", b"release"] => false,
        [.., b"release"] => true,
        _ => default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_is_known_by_its_words() {
        for text in ["COMMIT RELEASE", "/* app */ rollback work\nand no chain release ; "] {
            assert!(releases(text.as_bytes(), || false), "{text}");
        }
        for text in ["COMMIT", "ROLLBACK WORK", "commit and no chain;"] {
            assert!(!releases(text.as_bytes(), || false), "{text}");
            assert!(releases(text.as_bytes(), || true), "{text}");
        }
        for text in [
            "COMMIT NO RELEASE",
            "ROLLBACK TO release",
            "ROLLBACK WORK TO SAVEPOINT release",
            "COMMIT RELEASE; SELECT 1",
            "COMMIT -- release",
            "COMMITS RELEASE",
            "RELEASE SAVEPOINT a",
            "SELECT 1",
            "",
        ] {
            assert!(!releases(text.as_bytes(), || true), "{text}");
        }
    }
}
