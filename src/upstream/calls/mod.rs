//! Traffic with one upstream: requests in flight, subscriptions, and the server's questions.

mod active_call;
mod call_clock;
mod checks;
pub(in crate::upstream) mod client_streams;
pub(in crate::upstream) mod followed;
pub(in crate::upstream) mod handle;
pub(in crate::upstream) mod known_answer;
pub(in crate::upstream) mod log_subscriptions;
mod own_answer;
pub(in crate::upstream) mod questions;
mod relisting;
mod request_failures;
pub(in crate::upstream) mod request_slots;
mod sending;
mod sharing;
mod status;
mod subscribing;
pub(in crate::upstream) mod subscriptions;
pub(in crate::upstream) mod topic;
pub(in crate::upstream) mod unread;

pub use self::{
    active_call::ActiveCall,
    handle::Upstream,
    log_subscriptions::{LogSubscription, LogSubscriptions, LogTerm},
    request_failures::NotSent,
    sending::Outgoing,
    sharing::{OtherEra, Sharing},
    status::Status,
    subscriptions::{NotSubscribed, Notifier, Subscription},
};
