//! The resource limits that the process of a script sets itself before it runs anything, and the processor time of its thread.

use std::time::Duration;

use rustix::{
    process::{Resource, Rlimit, getrlimit, nice, setrlimit},
    time::{ClockId, clock_gettime},
};

use super::limits;

/// Limit: files that the process may have open: its pipes, and those that the Rust runtime opens.
const FILES: u64 = 16;

/// By how much the priority of the process is lowered.
const NICENESS: i32 = 5;

/// Seconds after the limit of the engine at which that of the system applies, so that the engine can report first.
const CPU_GRACE: u64 = 2;

/// Takes from this process what a script never needs. Where the system refuses, the script still runs: the engine has its own limits.
pub(super) fn restrict_this_process(cpu: Duration) {
    let cpu = cpu.as_secs() + CPU_GRACE;
    for (resource, most) in [
        (Resource::Core, 0),
        (Resource::Fsize, 0),
        (Resource::Nofile, FILES),
        (Resource::Cpu, cpu),
        (Resource::As, limits::ADDRESS_SPACE),
    ] {
        let allowed = getrlimit(resource).maximum.unwrap_or(u64::MAX);
        let most = Some(most.min(allowed));
        let limit = Rlimit {
            current: most,
            maximum: most,
        };
        if let Err(error) = setrlimit(resource, limit) {
            tracing::debug!(?resource, %error, "a limit could not be set");
        }
    }
    if let Err(error) = nice(NICENESS) {
        tracing::debug!(%error, "the process keeps its priority");
    }
}

/// The processor time of this thread.
pub(super) fn computed_by_this_thread() -> Option<Duration> {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = u64::try_from(now.tv_sec).ok()?;
    let nanoseconds = u32::try_from(now.tv_nsec).ok()?;
    Some(Duration::new(seconds, nanoseconds))
}
