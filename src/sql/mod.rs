//! Reading SQL: only as far as finding lock calls needs it.

pub mod argument;
pub mod call;
pub mod dialect;
pub mod finder;
pub mod prefilter;
pub mod scanner;
