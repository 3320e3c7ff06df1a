//! Shapes of statements that are not covered: each is logged once.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use parking_lot::Mutex;

/// Bytes of a statement that are shown.
pub const SHOWN: usize = 1024;
/// Shapes that are told apart; the rest is only counted.
const MAX_SHAPES: usize = 1000;

/// Shapes that were logged.
#[derive(Debug, Clone, Default)]
pub struct Shapes(Arc<Mutex<HashSet<u64>>>);

/// Whether to log a shape.
#[derive(Debug, PartialEq, Eq)]
pub enum News {
    /// A new shape, to be logged.
    New,
    /// A new shape, and the last one that is logged.
    Last,
    /// The shape was logged before, or is only counted.
    Known,
}

impl Shapes {
    /// A statement of this shape was met, for this reason.
    pub fn note_shape(&self, what: &str, shape: &str) -> News {
        let mut hasher = DefaultHasher::new();
        (what, shape).hash(&mut hasher);
        let mut known = self.0.lock();
        if known.len() >= MAX_SHAPES || !known.insert(hasher.finish()) {
            News::Known
        } else if known.len() == MAX_SHAPES {
            News::Last
        } else {
            News::New
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shape_is_logged_once_and_their_number_is_limited() {
        let shapes = Shapes::default();
        assert_eq!(shapes.note_shape("a", "x"), News::New);
        assert_eq!(shapes.note_shape("a", "x"), News::Known);
        assert_eq!(shapes.note_shape("b", "x"), News::New);
        for n in 2..MAX_SHAPES - 1 {
            assert_eq!(shapes.note_shape("a", &n.to_string()), News::New);
        }
        assert_eq!(shapes.note_shape("a", "last"), News::Last);
        assert_eq!(shapes.note_shape("a", "more"), News::Known);
    }
}
