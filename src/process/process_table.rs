//! The running processes of this machine: enough to recognise those that a dead daemon left behind, and to signal exactly them.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(all(unix, not(target_os = "linux")))]
mod ps;
#[cfg(windows)]
mod windows;

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

/// Names the space in which process numbers are unique: this boot of this machine, and in a container its own numbering.
pub(super) fn numbering() -> String {
    platform::numbering()
}

/// Every process that we may see.
pub(super) fn all() -> Vec<Seen> {
    platform::all()
}

/// When the process started, if it exists.
pub(super) fn start_of(pid: u32) -> Option<String> {
    platform::start_of(pid)
}

/// Whether the group has a member that is not a zombie.
pub(super) fn has_living(group: u32) -> bool {
    platform::has_living(group)
}

/// Whether the process has `variable` (`NAME=value`) in the environment that it was started with. What we may not read says no.
pub(super) fn bears(pid: u32, variable: &str) -> bool {
    platform::bears(pid, variable)
}

/// Signals exactly the process that was seen; one that has its number now is left alone.
pub(super) fn signal(process: &Seen, signal: Signal) {
    platform::signal(process, signal);
}
