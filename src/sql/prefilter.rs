//! The byte scan every statement pays: can it contain a lock call at all?

/// Whether `_LOCK` occurs in any letter case; all five names contain it.
pub fn may_call(text: &[u8]) -> bool {
    memchr::memchr_iter(b'_', text)
        .any(|at| text.get(at + 1..at + 5).is_some_and(|word| word.eq_ignore_ascii_case(b"lock")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_word_in_any_case_up_to_the_end() {
        assert!(may_call(b"select get_lock"));
        assert!(may_call(b"SELECT RELEASE_ALL_LoCKS()"));
        assert!(!may_call(b"SELECT _loc, lock_ FROM a_b"));
        assert!(!may_call(b"_loc"));
    }
}
