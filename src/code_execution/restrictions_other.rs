//! For systems on which a process cannot limit itself: only the limits of the engine and the daemon hold there.

use std::time::Duration;

pub(super) fn restrict_this_process(_cpu: Duration) {}

/// Not known on these systems.
pub(super) fn computed_by_this_thread() -> Option<Duration> {
    None
}
