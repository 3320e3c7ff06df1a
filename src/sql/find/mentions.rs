//! Finds the names of the five functions anywhere in a text: in strings, comments and words.

/// The parts before `_LOCK` in the five names.
const BEFORE: [&[u8]; 5] = [b"GET", b"RELEASE", b"RELEASE_ALL", b"IS_FREE", b"IS_USED"];
/// Bytes of a name that may be in the chunk before.
const OVERLAP: usize = 16;

/// The position after the `_LOCK` of the first name.
pub(in crate::sql) fn mention(text: &[u8]) -> Option<usize> {
    memchr::memchr_iter(b'_', text).map(|at| (at, at + 5)).find_map(|(at, end)| {
        let lock = text.get(at + 1..end).is_some_and(|word| word.eq_ignore_ascii_case(b"lock"));
        let named = || {
            BEFORE.iter().any(|name| {
                at.checked_sub(name.len())
                    .is_some_and(|start| text[start..at].eq_ignore_ascii_case(name))
            })
        };
        (lock && named()).then_some(end)
    })
}

/// Searches a text that comes in chunks.
#[derive(Debug, Clone, Default)]
pub(in crate::sql) struct Mentions {
    last: Vec<u8>,
}

impl Mentions {
    /// The position after the first name that ends in this chunk.
    pub(in crate::sql) fn feed(&mut self, chunk: &[u8]) -> Option<usize> {
        let head = &chunk[..chunk.len().min(OVERLAP)];
        let seam = [&self.last, head].concat();
        let found = mention(&seam)
            .and_then(|end| end.checked_sub(self.last.len()))
            .or_else(|| mention(chunk));
        self.remember(chunk);
        found
    }

    /// Passes a chunk over.
    pub(in crate::sql) fn remember(&mut self, chunk: &[u8]) {
        self.last.extend_from_slice(&chunk[chunk.len().saturating_sub(OVERLAP)..]);
        self.last.drain(..self.last.len().saturating_sub(OVERLAP));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_in_any_case_and_in_chunks_of_any_size() {
        for name in
            ["get_lock", "RELEASE_LOCK", "Release_All_Locks", "is_free_LOCK", "IS_USED_LOCK"]
        {
            let text = format!("PREPARE s FROM 'DO {name}()'");
            let end = text.to_lowercase().find("_lock").expect("a lock") + 5;
            assert_eq!(mention(text.as_bytes()), Some(end), "{name}");
            for size in 1..text.len() {
                let mut mentions = Mentions::default();
                let mut from = 0;
                let found = text.as_bytes().chunks(size).find_map(|chunk| {
                    let found = mentions.feed(chunk).map(|end| from + end);
                    from += chunk.len();
                    found
                });
                assert_eq!(found, Some(end), "{name} in chunks of {size}");
            }
        }
        assert_eq!(mention(b"SELECT * FROM my_lock, _lock, get_loc"), None);
    }
}
