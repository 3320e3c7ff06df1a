//! The client side: accepting, logging in, relaying, answering lock calls, ending.

pub mod context;
pub mod ending;
pub mod intercept;
pub mod listener;
pub mod login;
pub mod registry;
pub mod relay;
pub mod session;

mod answer;
mod arguments;
mod ask;
mod bound;
mod by_row;
mod carry;
mod chain;
mod composite;
mod cursor;
mod deadlock;
mod executing;
mod gate;
mod named;
mod oversize;
mod owed;
mod prepared;
mod preparing;
mod reset;
mod settings;
mod splice;
mod statement;
mod streaming;
mod surroundings;
mod trial;
mod wait;
