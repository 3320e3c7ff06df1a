//! Reading SQL: only as far as finding lock calls needs it.

pub mod argument;
pub mod call;
mod clauses;
mod comments;
pub mod composite;
pub mod coverage;
mod definition;
pub mod dialect;
pub mod early;
pub mod effects;
pub mod finder;
pub mod items;
mod letters;
pub mod listing;
mod mentions;
mod modes;
pub mod named;
mod nesting;
pub mod normal;
pub mod pieces;
pub mod prefilter;
mod quotes;
pub mod readings;
pub mod scanner;
mod skim;
pub mod stream;
pub mod uses;
pub mod words;
#[cfg(test)]
pub(crate) mod work;
