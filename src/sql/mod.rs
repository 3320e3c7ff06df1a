//! Reading SQL: only as far as finding lock calls needs it.

pub mod argument;
pub mod call;
mod comments;
pub mod dialect;
pub mod finder;
mod mentions;
mod modes;
pub mod prefilter;
mod quotes;
pub mod scanner;
mod skim;
pub mod stream;
