//! The set of upstreams: which of them run, and which instance of a server belongs to whom.

mod directory;
mod instances;
mod order;
mod supervisor;

pub use self::{directory::Upstreams, supervisor::Supervisor};
