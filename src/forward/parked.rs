//! Calls of legacy upstreams that wait for a modern client's answers: kept whole until the client calls again with them.
//!
//! The state that a client holds is a handle nobody can guess, and everything that it is bound to stays here: there is nothing in it
//! to read or to forge. It works once.

use std::{
    collections::{HashMap, VecDeque},
    time::{Duration, Instant},
};

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::{progress::ProgressTokens, state::CallState};
use crate::{
    access::Caller,
    activity::CallEntrance,
    runtime::{sync::Guarded, waits::or_never},
    text::names::ServerName,
    trust::fingerprint::Fingerprint,
    upstream::ActiveCall,
    wire::{
        Id, Raw, Revision, RpcError, bridge,
        input_required::{self, InputRequest},
    },
};

/// Limit: parked calls of one caller, and at one server.
const OF_A_CALLER: usize = 64;
const AT_A_SERVER: usize = 32;

/// What a handle begins with; the states of upstreams begin otherwise.
const PREFIX: &str = "mcpproxy-";

/// The parked calls of one daemon.
pub(super) struct ParkedCalls<C = ParkedCall> {
    table: Guarded<HashMap<Box<str>, Entry<C>>>,
    added: Notify,
}

struct Entry<C> {
    call: C,
    key: RetryKey,
    expires: Instant,
    /// Cancelled when the server changes, goes, or ends with the daemon.
    stop: CancellationToken,
}

impl<C> Entry<C> {
    /// Nobody can go on with the call any more.
    fn is_over(&self, now: Instant) -> bool {
        now >= self.expires || self.stop.is_cancelled()
    }
}

impl<C> Default for ParkedCalls<C> {
    fn default() -> Self {
        Self {
            table: Guarded::default(),
            added: Notify::new(),
        }
    }
}

/// A request that was sent, and how it stands.
pub(super) struct SentCall {
    pub(super) active: ActiveCall,
    pub(super) progress: ProgressTokens,
    pub(super) state: CallState,
}

/// One question of a server, for a result that asks.
pub(super) struct CollectedQuestion {
    /// The id that the server knows it by.
    pub(super) id: Id,
    pub(super) request: InputRequest,
}

/// A call, and the questions to its client.
pub(super) struct ParkedCall {
    pub(super) call: SentCall,
    pub(super) questions: Vec<CollectedQuestion>,
}

/// What a retry must have in common with the request that it retries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RetryKey {
    pub(super) caller: Caller,
    pub(super) server: ServerName,
    /// Where it came in.
    pub(super) endpoint: Option<CallEntrance>,
    pub(super) method: Box<str>,
    /// Of the params as the upstream gets them, answers and metadata left out.
    pub(super) params: Fingerprint,
}

/// Why a call was not parked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "too many calls already wait for answers from clients: at most {} of a caller and {} to a server may",
    OF_A_CALLER,
    AT_A_SERVER
)]
pub(super) struct TooManyParked;

impl ParkedCalls {
    /// Keeps a call until its client calls again with this handle, for one round. Where it cannot be kept it is dropped, and with
    /// that withdrawn.
    pub(super) fn park(
        &self,
        handle: &str,
        mut call: ParkedCall,
        key: RetryKey,
        now: Instant,
    ) -> Result<(), TooManyParked> {
        let expires = now + call.call.state.budget.begin_parked();
        let stop = call.call.active.stop();
        let entry = Entry {
            call,
            key,
            expires,
            stop,
        };
        self.keep(handle, entry, now)
    }

    /// The call that a handle stands for. Nothing if it is unknown, used, expired, or of another request, which uses nothing up.
    pub(super) fn take(&self, handle: &str, key: &RetryKey, now: Instant) -> Option<ParkedCall> {
        let entry = self.take_entry(handle, key, now)?;
        let mut call = entry.call;
        call.call.state.budget.give_back(entry.expires - now);
        Some(call)
    }
}

/// Calls are dropped without the lock: withdrawing one takes locks of its own.
impl<C> ParkedCalls<C> {
    fn keep(&self, handle: &str, entry: Entry<C>, now: Instant) -> Result<(), TooManyParked> {
        drop(self.remove_over(now));
        let mut table = self.table.lock();
        let same = |of: &dyn Fn(&RetryKey) -> bool| table.values().filter(|e| of(&e.key)).count();
        if same(&|other| other.caller == entry.key.caller) >= OF_A_CALLER
            || same(&|other| other.server == entry.key.server) >= AT_A_SERVER
        {
            drop(table);
            return Err(TooManyParked);
        }
        table.insert(handle.into(), entry);
        drop(table);
        self.added.notify_one();
        Ok(())
    }

    fn take_entry(&self, handle: &str, key: &RetryKey, now: Instant) -> Option<Entry<C>> {
        self.remove(handle, |entry| entry.key == *key && now < entry.expires)
    }

    /// Gives up the call that a handle of this caller stands for.
    pub(super) fn forget(&self, handle: &str, caller: &Caller) {
        drop(self.remove(handle, |entry| entry.key.caller == *caller));
    }

    fn remove(&self, handle: &str, is_meant: impl FnOnce(&Entry<C>) -> bool) -> Option<Entry<C>> {
        let mut table = self.table.lock();
        is_meant(table.get(handle)?)
            .then(|| table.remove(handle))
            .flatten()
    }

    /// Gives up the calls that nobody can go on with, for ever.
    pub(super) async fn forget_expired(&self) {
        loop {
            let next = self.table.lock().values().map(|entry| entry.expires).min();
            let due = next.map(|next| tokio::time::sleep_until(next.into()));
            tokio::select! {
                () = or_never(due) => (),
                () = self.added.notified() => (),
            }
            for entry in self.remove_over(Instant::now()) {
                tracing::info!(server = %entry.key.server, "call abandoned: no answer to a question, or its server stopped");
            }
        }
    }

    fn remove_over(&self, now: Instant) -> Vec<Entry<C>> {
        let mut table = self.table.lock();
        let over = table.extract_if(|_, entry| entry.is_over(now));
        over.map(|(_, entry)| entry).collect()
    }
}

/// A handle that nobody can guess.
pub(super) fn new_handle() -> String {
    format!("{PREFIX}{}", uuid::Uuid::new_v4().simple())
}

/// The handle that a request brings, if it goes on with a parked call. Other states are the upstreams' own. A client that answers
/// requests gets no state, so it has none to bring, and no answers.
pub(super) fn handle_in(
    client: Revision,
    method: &str,
    params: Option<&Raw>,
) -> Result<Option<String>, RpcError> {
    let asks_by_requests = client.has_server_requests() && bridge::may_ask(method);
    let keys = [input_required::STATE, input_required::RESPONSES];
    let Some([state, responses]) = params.map(|params| params.look_up(keys)) else {
        return Ok(None);
    };
    let Some(state) = state.value.filter(|state| !state.is_null()) else {
        return if asks_by_requests && input_required::are_responses(responses.value.as_ref()) {
            Err(RpcError::invalid_params(input_required::UNREQUESTED))
        } else {
            Ok(None)
        };
    };
    if asks_by_requests {
        return Err(unknown_state());
    }
    if client.has_server_requests() {
        return Ok(None);
    }
    Ok(state.string().filter(|state| state.starts_with(PREFIX)))
}

/// The error of a retry that goes on with nothing. The call is not started anew: its client believes that it runs.
pub(super) fn unknown_state() -> RpcError {
    RpcError::invalid_params(input_required::UNKNOWN_STATE)
}

// Calls that a legacy server refused until the user has opened pages (-32042): a modern client gets a result that asks in place of the
// refusal, and when it comes back the call is made again. Nothing is in flight meanwhile; what is kept here only distinguishes answers
// to these questions from others.

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
    use std::time::Duration;

    use super::*;

    const ROUND: Duration = Duration::from_mins(1);

    fn key(caller: &str, server: &str) -> RetryKey {
        RetryKey {
            caller: Caller::named(caller),
            server: ServerName::parse(server).expect("a name"),
            endpoint: None,
            method: "tools/call".into(),
            params: Fingerprint::of_value(&Raw::empty_object()),
        }
    }

    /// A table of numbers in place of calls.
    struct Table(ParkedCalls<usize>, Instant, CancellationToken);

    impl Table {
        fn keep(&self, handle: &str, call: usize, key: &RetryKey, at: Duration) -> bool {
            let now = self.1 + at;
            let entry = Entry {
                call,
                key: key.clone(),
                expires: now + ROUND,
                stop: self.2.clone(),
            };
            self.0.keep(handle, entry, now).is_ok()
        }

        fn take(&self, handle: &str, key: &RetryKey, at: Duration) -> Option<usize> {
            let entry = self.0.take_entry(handle, key, self.1 + at);
            entry.map(|entry| entry.call)
        }
    }

    fn table() -> Table {
        Table(
            ParkedCalls::default(),
            Instant::now(),
            CancellationToken::new(),
        )
    }

    #[test]
    fn a_handle_works_once_in_time_and_for_the_same_request() {
        let (table, key, now) = (table(), key("a", "s"), Duration::ZERO);
        assert!(table.keep("h", 1, &key, now));
        assert_eq!(table.take("other", &key, now), None);
        assert_eq!(table.take("h", &key, now), Some(1));
        assert_eq!(table.take("h", &key, now), None, "used");
        assert!(table.keep("h", 2, &key, now));
        assert_eq!(table.take("h", &key, ROUND), None, "late");
        assert!(table.keep("h", 3, &key, now));
        let elsewhere = RetryKey {
            endpoint: Some(CallEntrance::Path("/mcp")),
            ..key.clone()
        };
        for other in [self::key("b", "s"), self::key("a", "t"), elsewhere] {
            assert_eq!(table.take("h", &other, now), None, "{other:?}");
        }
        table.0.forget("h", &Caller::named("b"));
        assert_eq!(table.take("h", &key, now), Some(3), "nobody used it up");
        assert!(table.keep("h", 4, &key, now));
        table.0.forget("h", &key.caller);
        assert_eq!(table.take("h", &key, now), None, "given up");
    }

    #[test]
    fn one_server_has_so_many_parked_calls_and_no_more() {
        let (table, now) = (table(), Duration::ZERO);
        let keep = |n: usize, server, at| {
            table.keep(
                &format!("{server}{n}"),
                n,
                &key(&format!("c{n}"), server),
                at,
            )
        };
        assert!((0..AT_A_SERVER).all(|n| keep(n, "s", now)));
        assert!(!keep(AT_A_SERVER, "s", now), "of anybody");
        assert!(keep(0, "t", now), "another server is not concerned");
        assert!(table.take("s0", &key("c0", "s"), now).is_some());
        assert!(keep(AT_A_SERVER, "s", now), "a place is free");
        assert!(keep(AT_A_SERVER + 1, "s", ROUND), "all have expired");
    }

    #[test]
    fn one_caller_has_so_many_parked_calls_and_no_more() {
        let (table, now) = (table(), Duration::ZERO);
        let keep = |n: usize, caller: &str| {
            table.keep(
                &format!("{caller}{n}"),
                n,
                &key(caller, &format!("s{n}")),
                now,
            )
        };
        assert!((0..OF_A_CALLER).all(|n| keep(n, "a")));
        assert!(!keep(OF_A_CALLER, "a"), "at whichever server");
        assert!(keep(OF_A_CALLER, "b"), "another caller is not concerned");
        table.2.cancel();
        assert!(
            keep(OF_A_CALLER, "a"),
            "calls of servers that ended take no room"
        );
    }
}

#[cfg(test)]
mod page_retries_tests {
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
