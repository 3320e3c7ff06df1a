//! Settings: as written, and the validated form that everything else uses.

mod admin;
mod changes;
mod error;
mod http;
mod keys;
mod limits;
mod parse;
mod places;
pub mod plan;
mod raw;
mod shown;
pub mod tls;
mod validated;

pub use admin::Admin;
pub use changes::SettingChange;
pub use error::ConfigError;
pub use http::Http;
pub use places::{HostPort, Listen, StoreUrl};
pub use plan::Plan;
pub use raw::Raw;
pub use validated::{Config, LogFormat, Mode, Unsupported};
