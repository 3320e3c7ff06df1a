//! The byte scan every statement pays: can it contain a lock call at all?

/// What the scan found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Found {
    /// `_LOCK`, which all five functions' names contain.
    pub call: bool,
    /// The statement may set one of the variables that change how a lock call is answered:
    /// `sql_select_limit` and `character_set_results`.
    pub setting: bool,
}

/// Looks at the words beside underscores, in any letter case.
pub fn scan(text: &[u8]) -> Found {
    let mut found = Found::default();
    for at in memchr::memchr_iter(b'_', text) {
        let (before, behind) = (&text[..at], &text[at + 1..]);
        let follows =
            |word: &[u8]| behind.get(..word.len()).is_some_and(|w| w.eq_ignore_ascii_case(word));
        let precedes = |word: &[u8]| {
            let start = before.len().checked_sub(word.len());
            start.is_some_and(|start| before[start..].eq_ignore_ascii_case(word))
        };
        found.call |= follows(b"lock");
        found.setting |= (follows(b"limit") && precedes(b"sql_select"))
            || (follows(b"results") && precedes(b"character_set"));
    }
    found
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
}
