//! Upstream servers: their processes and connections, one worker task each, and the supervisor that keeps the set as the settings
//! want it. Accepts requests only with the gate's ticket.

mod active_call;
mod client_streams;
mod connect;
mod control;
mod directory;
mod era;
mod handle;
mod instances;
mod listening;
mod lists;
mod local;
mod log_subscriptions;
mod own_requests;
mod questions;
mod remote;
mod state;
mod subscriptions;
mod supervisor;
mod tenant;
mod usage;
mod worker;

pub use crate::link::Behalf;
pub use active_call::ActiveCall;
pub use connect::{ConnectError, Ground};
pub use directory::Upstreams;
pub use handle::{Outgoing, Status, Upstream};
pub use log_subscriptions::{LogSubscription, LogSubscriptions};
pub use state::State;
pub use subscriptions::{NotSubscribed, Subscription, Tell};
pub use supervisor::Supervisor;
pub use tenant::{Ask, Member, Tenant};
