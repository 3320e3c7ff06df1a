//! The byte scan every statement pays: can it contain a lock call at all?

/// The result of the scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Found {
    /// `_LOCK`, which all five functions' names contain.
    pub call: bool,
    /// The statement may set one of the variables that change how a lock call is answered:
    /// `sql_select_limit` and `character_set_results`.
    pub setting: bool,
}

/// Bytes that are checked together after an underscore: names have more than one.
const BLOCK: usize = 128;
/// Bytes after a block's end that are checked with it.
const BEYOND: usize = 3;

/// Looks at the words beside underscores, in any letter case.
pub fn scan(text: &[u8]) -> Found {
    let mut found = Found::default();
    let mut at = 0;
    while let Some(n) = memchr::memchr(b'_', &text[at..]) {
        at += n;
        let end = text.len().min(at + BLOCK);
        if text.get(at..end + BEYOND).is_none_or(may_match) {
            memchr::memchr_iter(b'_', &text[at..end])
                .for_each(|n| match_word(text, at + n, &mut found));
        }
        at = end;
    }
    found
}

/// Whether a word after one of the underscores begins like one that is searched. Without a
/// branch, so that the compiler takes many bytes at a time.
fn may_match(block: &[u8]) -> bool {
    let bytes = block.iter().zip(&block[1..]).zip(&block[BEYOND..]);
    bytes.fold(0, |any, ((underscore, first), third)| {
        let (first, third) = (first | 0x20, third | 0x20);
        let lock_or_limit =
            u8::from(first == b'l') & (u8::from(third == b'c') | u8::from(third == b'm'));
        let results = u8::from(first == b'r') & u8::from(third == b's');
        any | u8::from(*underscore == b'_') & (lock_or_limit | results)
    }) != 0
}

/// Looks at the words beside one underscore.
fn match_word(text: &[u8], at: usize, found: &mut Found) {
    let (before, after) = (&text[..at], &text[at + 1..]);
    let follows =
        |word: &[u8]| after.get(..word.len()).is_some_and(|w| w.eq_ignore_ascii_case(word));
    let precedes = |word: &[u8]| {
        let start = before.len().checked_sub(word.len());
        start.is_some_and(|start| before[start..].eq_ignore_ascii_case(word))
    };
    found.call |= follows(b"lock");
    found.setting |= (follows(b"limit") && precedes(b"sql_select"))
        || (follows(b"results") && precedes(b"character_set"));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn may_call(text: &[u8]) -> bool {
        scan(text).call
    }

    #[test]
    fn finds_the_word_in_any_case_up_to_the_end() {
        assert!(may_call(b"select get_lock"));
        assert!(may_call(b"SELECT RELEASE_ALL_LoCKS()"));
        assert!(!may_call(b"SELECT _loc, lock_ FROM a_b"));
        assert!(!may_call(b"_loc"));
    }

    #[test]
    fn finds_variables_that_change_an_answer() {
        for (text, setting) in [
            (&b"SET SQL_SELECT_LIMIT=0"[..], true),
            (b"SET a_b=1,character_set_results", true),
            (b"SELECT a_limi, b_result FROM c_", false),
            (b"SELECT credit_limit, _results, test_results FROM select_limit", false),
        ] {
            assert_eq!(scan(text), Found { call: false, setting });
        }
    }

    #[test]
    fn a_word_is_found_wherever_it_stands_among_others() {
        let words =
            [&b"GET_LOCK"[..], b"a_b_lock", b"sql_select_LIMIT", b"Character_Set_Results", b"_lo"];
        let noise = b"last_login, user_role, _limits, a_resul, b, x_lo_ck, order_line_id, ";
        for word in words {
            for before in 0..300 {
                for after in [0, 1, 2, 3, 200] {
                    let fill = |n| noise.iter().cycle().take(n);
                    let text: Vec<u8> =
                        fill(before).chain(word).chain(fill(after)).copied().collect();
                    let expected = Found {
                        call: text.to_ascii_lowercase().windows(5).any(|w| w == b"_lock"),
                        setting: word.len() > 8,
                    };
                    assert_eq!(scan(&text), expected, "{}", text.escape_ascii());
                }
            }
        }
    }
}
