//! Reading SQL: only as far as finding lock calls needs it.

pub mod classify;
pub mod expression;
pub mod find;
pub mod lexer;
pub mod report;
pub mod session;
#[cfg(test)]
pub(crate) mod work;
