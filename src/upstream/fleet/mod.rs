//! The set of upstreams: which workers run, and which instance of a server each client uses.

mod directory;
mod instances;
mod order;
mod supervisor;

pub use self::{directory::Upstreams, supervisor::Supervisor};
