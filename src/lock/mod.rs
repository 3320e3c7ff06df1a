//! The rules of locks as pure functions: names, timeouts, tokens, leases, a session's ledger.

pub mod codes;
pub mod function;
pub mod held;
pub mod lease;
pub mod name;
pub mod timeout;
