//! Scripts of agents: JavaScript that calls tools. Each runs in its own process and its own runtime, under limits of time, memory and
//! output. It can only compute, log, and request tool calls; the router decides about these and makes them.

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
