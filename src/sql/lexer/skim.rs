//! Code in which no lock function is named, passed over.

/// Longest word whose text is kept: more than the longest function name.
pub(in crate::sql) const WORD_MAX: usize = 24;

/// Bytes from which on code has to be looked at: quotes, comments, variables, and two letters of the words that
/// make a statement of a string.
const STOPS: [bool; 256] = {
    let mut stops = [false; 256];
    let all = b"'\"`[#-/*@pPxX";
    let mut i = 0;
    while i < all.len() {
        stops[all[i] as usize] = true;
        i += 1;
    }
    stops
};

/// How many of the first `limit` bytes of code need no look. The result ends before a word that goes on.
pub(in crate::sql) fn skim(code: &[u8], limit: usize) -> usize {
    let is = |at: usize, word: &[u8]| {
        code.get(at..at + word.len()).is_some_and(|w| w.eq_ignore_ascii_case(word))
    };
    let mut at = 0;
    while let Some(n) = code[at..limit].iter().position(|b| STOPS[usize::from(*b)]) {
        at += n;
        match code[at] {
            b'p' | b'P' if is(at, b"prepare") => return at,
            b'x' | b'X' if at > 0 && is(at - 1, b"execute") => return at - 1,
            b'p' | b'P' | b'x' | b'X' => at += 1,
            _ => return at,
        }
    }
    // The last word may go on, unless it is too long already to mean anything.
    let word = code[..limit].iter().rev().take(WORD_MAX).take_while(|b| is_word(**b)).count();
    if word < WORD_MAX { limit - word } else { limit }
}

/// A byte of a word: a name, a keyword or a number.
pub(in crate::sql) fn is_word(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b == b'_' || b == b'$' || b >= 0x80
}
