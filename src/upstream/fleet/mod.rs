//! The set of upstreams: which of them run, and which instance of a server belongs to whom.

mod directory;
pub(in crate::upstream) mod instance_scope;
mod instances;
mod order;
mod plan;
mod running;
mod supervisor;
pub(super) mod wanted;

pub use self::{
    directory::Upstreams,
    instance_scope::{ClientReach, InstanceScope, InstanceUser, ReachableClient},
    supervisor::Supervisor,
};
