//! Statements as reports show them.

pub mod call_names;
pub mod coverage;
pub mod digest_text;
