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

// What each platform knows of processes:
// - `pid_namespace` names the space in which process numbers are unique: this boot of this machine, and in a container the container.
// - `all` gives every process that we may see, and `find` the process of a number, if there is one.
// - `values_of` gives the value of a variable in the environment that each of some processes was started with. A process without it is
//   absent, and so is one whose environment we may not read.
// - `resident` gives the resident memory of a process in bytes, where the system tells it.
// - `signal` signals exactly the process that was seen; one that has its number now is left alone.
pub(super) use self::platform::{all, find, pid_namespace, resident, signal, values_of};

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

/// When the process started, if it exists.
pub(super) fn start_of(pid: u32) -> Option<String> {
    find(pid).map(|process| process.start)
}
