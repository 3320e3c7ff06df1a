//! The client side: accepting, logging in, relaying, answering lock calls, ending.

pub mod accept;
pub mod link;
pub mod locks;
pub mod login;
pub mod observe;
pub mod prepared;
pub mod session;
pub mod shared;
pub mod statements;
