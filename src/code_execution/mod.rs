//! Scripts of agents: JavaScript that calls tools. Each runs in a process of its own, with a runtime of its own, under limits of time,
//! memory and output, and can do nothing but compute, ask for calls, and say something. What it asks for is decided and done elsewhere.

mod engine;
pub mod limits;
mod messages;
mod running;
mod sandbox;
mod script_failure;
mod scripts;

#[cfg(not(unix))]
#[path = "restrictions_other.rs"]
mod restrictions;
#[cfg(unix)]
#[path = "restrictions_unix.rs"]
mod restrictions;

pub use self::{
    messages::{CallBatch, ScriptEnd, ScriptEvent},
    running::{BrokenScript, RunningScript},
    sandbox::run as run_sandbox,
    script_failure::{CodePlace, ScriptCode, ScriptFailure},
    scripts::{NotStarted, Script, Scripts},
};
