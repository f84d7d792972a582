//! Bounds the records of requests that callers can cause as often as they like and that have no other record: one a minute for each
//! caller, which says how many there were.

use std::{collections::HashMap, sync::Arc};

use crate::{runtime::sync::Guarded, telemetry::log_throttle::LogThrottle};

/// Limit: callers who are counted apart. The others have records in common.
const MOST_CALLERS: usize = 256;

#[derive(Debug, Default)]
pub(super) struct RefusalFlood {
    callers: Guarded<HashMap<Arc<str>, LogThrottle>>,
    others: LogThrottle,
}

impl RefusalFlood {
    /// A request of this caller was refused. If it is time for a record: whose it is, and of how many.
    pub(super) fn due(&self, caller: &Arc<str>) -> Option<(Option<Arc<str>>, u64)> {
        let mut callers = self.callers.lock();
        if let Some(limit) = callers.get(caller) {
            return limit.due().map(|times| (Some(caller.clone()), times));
        }
        if callers.len() >= MOST_CALLERS {
            return self.others.due().map(|times| (None, times));
        }
        let limit = callers.entry(caller.clone()).or_default();
        limit.due().map(|times| (Some(caller.clone()), times))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_one_record_for_each_caller_and_one_for_all_beyond_the_limit() {
        let flood = RefusalFlood::default();
        let mut due = Vec::new();
        for number in 0..MOST_CALLERS + 10 {
            let caller: Arc<str> = format!("caller {number}").into();
            for _ in 0..3 {
                due.extend(flood.due(&caller));
            }
        }
        assert_eq!(due.len(), MOST_CALLERS + 1);
        assert_eq!(due[0], (Some("caller 0".into()), 1));
        assert_eq!(due[MOST_CALLERS], (None, 1));
    }
}
