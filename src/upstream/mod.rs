//! Upstream servers: their processes and connections, one worker task each, and the supervisor that keeps the set as the settings
//! want it. Accepts requests only with the gate's ticket.

mod calls;
mod connect;
mod fleet;
mod worker;

pub use self::{
    calls::{
        ActiveCall, LogSubscription, LogSubscriptions, LogTerm, NotSent, NotSubscribed, Notifier,
        Outgoing, Sharing, Status, Subscription, Upstream,
    },
    connect::{ConnectContext, ConnectError, step_without_log},
    fleet::{ClientReach, InstanceScope, InstanceUser, ReachableClient, Supervisor, Upstreams},
    worker::State,
};
pub use crate::link::ClientKey;
