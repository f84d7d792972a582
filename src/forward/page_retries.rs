//! Calls that a legacy server refused until the user has opened pages (-32042): a modern client gets a result that asks in place of the
//! refusal, and when it comes back the call is made again. Nothing is in flight meanwhile; what is kept here only distinguishes answers
//! to these questions from others.

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

use super::parked::{RetryKey, new_handle};
use crate::runtime::sync::Guarded;

/// How long a user may take. Pages are mostly there to log in.
const OPEN: Duration = Duration::from_mins(10);

/// Limit: such calls that are remembered. The oldest are forgotten; their clients hear that they have to begin anew.
const REMEMBERED: usize = 1024;

/// The retries that are waited for.
#[derive(Default)]
pub(super) struct PageRetries(Guarded<VecDeque<PageRetry>>);

/// One of them.
struct PageRetry {
    handle: String,
    key: RetryKey,
    expires: Instant,
}

impl PageRetries {
    /// A handle with which this request may be made again, once.
    pub(super) fn expect(&self, key: RetryKey, now: Instant) -> String {
        let handle = new_handle();
        let mut waiting = self.0.lock();
        if waiting.len() >= REMEMBERED {
            waiting.pop_front();
        }
        waiting.push_back(PageRetry {
            handle: handle.clone(),
            key,
            expires: now + OPEN,
        });
        handle
    }

    /// Whether a handle stands for this request. It is used up, whatever request it came with.
    pub(super) fn take(&self, handle: &str, key: &RetryKey, now: Instant) -> bool {
        let mut waiting = self.0.lock();
        let at = waiting.iter().position(|retry| retry.handle == handle);
        let retry = at.and_then(|at| waiting.remove(at));
        retry.is_some_and(|retry| retry.key == *key && now < retry.expires)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        access::Caller, text::names::ServerName, trust::fingerprint::Fingerprint, wire::Raw,
    };

    fn key(caller: &str) -> RetryKey {
        RetryKey {
            caller: Caller::named(caller),
            server: ServerName::parse("s").expect("a name"),
            endpoint: None,
            method: "tools/call".into(),
            params: Fingerprint::of_value(&Raw::empty_object()),
        }
    }

    #[test]
    fn a_handle_works_once_in_time_and_for_the_same_request() {
        let (retries, key, now) = (PageRetries::default(), key("a"), Instant::now());
        let other = self::key("b");
        assert!(!retries.take("mcpproxy-0", &key, now), "never given");
        let handle = retries.expect(key.clone(), now);
        assert!(retries.take(&handle, &key, now));
        assert!(!retries.take(&handle, &key, now), "used");
        let handle = retries.expect(key.clone(), now);
        assert!(!retries.take(&handle, &key, now + OPEN), "late");
        let handle = retries.expect(key.clone(), now);
        assert!(!retries.take(&handle, &other, now), "another's");
        assert!(!retries.take(&handle, &key, now), "and it is over");
    }

    #[test]
    fn the_oldest_are_forgotten() {
        let (retries, key, now) = (PageRetries::default(), key("a"), Instant::now());
        let oldest = retries.expect(key.clone(), now);
        let second = retries.expect(key.clone(), now);
        for _ in 1..REMEMBERED {
            retries.expect(key.clone(), now);
        }
        assert!(!retries.take(&oldest, &key, now));
        assert!(retries.take(&second, &key, now));
    }
}
