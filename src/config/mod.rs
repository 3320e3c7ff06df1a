//! Settings: as written, and the validated form that everything else uses.

mod addresses;
mod admin;
mod changes;
mod error;
mod http;
mod keys;
mod limits;
mod mode;
mod parse;
pub mod plan;
mod pooling;
mod raw;
mod retired;
mod role;
mod servers;
mod shown;
pub mod tls;
mod users;
mod validated;

pub use addresses::{HostPort, Listen, StoreUrl};
pub use admin::Admin;
pub use changes::SettingChange;
pub use error::ConfigError;
pub use http::Http;
pub use limits::{HistoryLimits, default_connections, files_for};
pub use mode::Mode;
pub use plan::{ClusterPlan, Plan};
pub use pooling::Pooling;
pub use raw::Raw;
pub use retired::refuse_flags;
pub use role::ListenerRole;
pub use servers::ServerAddress;
pub use users::GivenUser;
pub use validated::{Config, FencedCommit, LogFormat, OnFailover, OnStoreError, Unsupported};
