//! Upstream servers: their processes and connections, one worker task each, and the supervisor that keeps the set as the settings
//! want it. Accepts requests only with the gate's ticket.

mod calls;
mod connect;
mod fleet;
mod worker;

pub use self::{
    calls::{
        ActiveCall, LogSubscription, LogSubscriptions, LogTerm, NotSubscribed, Outgoing, Sharing,
        Status, Subscription, Tell, Upstream,
    },
    connect::{ConnectContext, ConnectError, step_without_log},
    fleet::{Ask, InstanceScope, Lease, Lessee, SessionKey, Supervisor, TellClient, Upstreams},
    worker::State,
};
pub use crate::link::Requestor;
