//! Finding the names of the five functions in a text of any length.

pub mod finder;
pub mod first_word;
pub(in crate::sql) mod mentions;
pub mod prefilter;
pub mod readings;
pub mod release;
pub mod stream;
pub mod words;
