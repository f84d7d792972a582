//! The running processes of this machine: enough to recognise those that a dead daemon left behind, and to signal exactly them.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(all(unix, not(target_os = "linux")))]
mod ps;
#[cfg(windows)]
mod windows;

use std::collections::HashMap;

#[cfg(target_os = "linux")]
use self::linux as platform;
#[cfg(all(unix, not(target_os = "linux")))]
use self::ps as platform;
#[cfg(windows)]
use self::windows as platform;

/// A process as it was seen. Number and start time together name one process for as long as the system runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) pid: u32,
    pub(super) group: u32,
    /// In the platform's own words; only ever compared.
    pub(super) start: String,
    /// A zombie is not living: it has ended, and only its parent has not noticed.
    pub(super) living: bool,
}

/// The two signals we send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Signal {
    /// Please end.
    Terminate,
    /// End now.
    Kill,
}

#[cfg(unix)]
impl Signal {
    pub(super) fn number(self) -> rustix::process::Signal {
        match self {
            Self::Terminate => rustix::process::Signal::TERM,
            Self::Kill => rustix::process::Signal::KILL,
        }
    }
}

/// Names the space in which process numbers are unique: this boot of this machine, and in a container the container.
pub(super) fn pid_namespace() -> String {
    platform::pid_namespace()
}

/// Every process that we may see.
pub(super) fn all() -> Vec<Seen> {
    platform::all()
}

/// The process of this number, if there is one.
pub(super) fn find(pid: u32) -> Option<Seen> {
    platform::find(pid)
}

/// When the process started, if it exists.
pub(super) fn start_of(pid: u32) -> Option<String> {
    find(pid).map(|process| process.start)
}

/// The value of the variable in the environment that each of these processes was started with. A process without it is absent,
/// and so is one whose environment we may not read.
pub(super) fn values_of(variable: &str, processes: &[&Seen]) -> HashMap<u32, String> {
    if processes.is_empty() {
        return HashMap::new();
    }
    platform::values_of(variable, processes)
}

/// The resident memory of a process, in bytes, where the system gives it.
#[cfg(target_os = "linux")]
pub(super) fn resident(pid: u32) -> Option<u64> {
    platform::resident(pid)
}

#[cfg(not(target_os = "linux"))]
pub(super) fn resident(_: u32) -> Option<u64> {
    None
}

/// Signals exactly the process that was seen; one that has its number now is left alone.
pub(super) fn signal(process: &Seen, signal: Signal) {
    platform::signal(process, signal);
}
