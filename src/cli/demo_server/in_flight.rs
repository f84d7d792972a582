//! The long calls that run at the moment, so that they can be cancelled while they do.

use std::{
    collections::HashSet,
    sync::{Condvar, Mutex, PoisonError},
    time::Duration,
};

use serde_json::Value;

use super::message::DemoError;

/// Each takes a thread.
const AT_ONCE: usize = 64;

/// The ids of running long calls, as JSON text: `1` and `"1"` are two ids.
#[derive(Default)]
pub(super) struct DemoCalls {
    ids: Mutex<HashSet<String>>,
    cancelled: Condvar,
}

impl DemoCalls {
    /// Notes that a call begins; a cancellation that comes from now on finds it.
    pub(super) fn begin(&self, id: &Value) -> Result<(), DemoError> {
        let mut ids = self.ids.lock().unwrap_or_else(PoisonError::into_inner);
        if ids.len() >= AT_ONCE {
            return Err(DemoError::invalid("too many calls are running"));
        }
        if !ids.insert(id.to_string()) {
            return Err(DemoError::invalid(
                "a request with this id is already running",
            ));
        }
        Ok(())
    }

    /// Cancels a call; one that is not running is none of our business.
    pub(super) fn cancel(&self, id: &Value) {
        self.end(id);
        self.cancelled.notify_all();
    }

    /// Notes that a call has ended; false means that it was cancelled before.
    pub(super) fn end(&self, id: &Value) -> bool {
        let mut ids = self.ids.lock().unwrap_or_else(PoisonError::into_inner);
        ids.remove(&id.to_string())
    }

    /// Waits for `time`, or less when the call is cancelled; false means that it was.
    pub(super) fn wait(&self, id: &Value, time: Duration) -> bool {
        let id = id.to_string();
        let ids = self.ids.lock().unwrap_or_else(PoisonError::into_inner);
        let (ids, _) = self
            .cancelled
            .wait_timeout_while(ids, time, |ids| ids.contains(&id))
            .unwrap_or_else(PoisonError::into_inner);
        ids.contains(&id)
    }
}
