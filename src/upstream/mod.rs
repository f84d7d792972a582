//! Upstream servers: their processes and connections, one worker task each, and the supervisor that keeps the set as the settings
//! want it. Accepts requests only with the gate's ticket.

mod calls;
mod connect;
mod connect_error;
mod fleet;
mod habits;
mod instance_scope;
mod state;
mod usage;
mod wanted;
mod worker;

pub use self::{
    calls::{
        ActiveCall, LogSubscription, LogSubscriptions, LogTerm, NotSent, NotSubscribed, Notifier,
        OtherEra, Outgoing, Sharing, Status, Subscription, Upstream,
    },
    connect::ConnectContext,
    connect_error::ConnectError,
    fleet::{Supervisor, Upstreams},
    instance_scope::{ClientReach, InstanceScope, ReachableClient, SoleClient},
    state::State,
};
pub use crate::{access::InstanceUser, link::ClientKey};
