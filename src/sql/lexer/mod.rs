//! Reading bytes as tokens, as the servers do: strings, comments, letters, session modes.

pub(in crate::sql) mod comments;
pub mod dialect;
mod emit;
pub(in crate::sql) mod letters;
pub(in crate::sql) mod modes;
pub(in crate::sql) mod quotes;
pub mod scanner;
pub(in crate::sql) mod skim;
pub(in crate::sql) mod tokens;
