//! The `lockstead` program.
fn main() {}
