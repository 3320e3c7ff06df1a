//! What sessions share: settings, counters, the list of sessions.

pub mod activity;
pub mod audits;
pub mod context;
pub mod leg_options;
pub mod live_config;
pub mod log_lines;
pub mod paced;
pub mod programs;
pub mod registry;
pub mod seen_holds;
pub mod seen_locks;
pub mod shapes;
pub mod switchover;
pub mod turned_away;
pub mod unfenced;
pub mod waits;
