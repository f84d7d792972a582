//! Calls of legacy upstreams that wait for what a modern client is asked: kept whole until the client calls again with its answers.
//!
//! The state that a client holds is a handle nobody can guess, and everything that it is bound to stays here: there is nothing in it
//! to read or to forge. It works once.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use tokio::sync::Notify;

use super::{progress::ProgressTokens, state::CallState};
use crate::{
    access::Caller,
    fingerprint::Fingerprint,
    names::ServerName,
    upstream::ActiveCall,
    wire::{
        Id, Raw, Revision, RpcError, bridge,
        input_required::{self, InputRequest},
    },
};

/// Limit: parked calls of one caller, and at one server.
const OF_A_CALLER: usize = 64;
const AT_A_SERVER: usize = 32;

/// What a handle begins with, so that it is told from the states of upstreams.
const PREFIX: &str = "mcpproxy-";

/// The parked calls of one daemon.
#[derive(Default)]
pub(super) struct ParkedCalls {
    table: Mutex<HashMap<Box<str>, Entry>>,
    added: Notify,
}

struct Entry {
    call: ParkedCall,
    key: RetryKey,
    expires: Instant,
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

/// A call, and what its client was asked.
pub(super) struct ParkedCall {
    pub(super) call: SentCall,
    pub(super) questions: Vec<CollectedQuestion>,
}

/// What a retry must have in common with the request that it retries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RetryKey {
    pub(super) caller: Caller,
    pub(super) server: ServerName,
    pub(super) method: Box<str>,
    /// Of the params as the upstream gets them, answers and metadata left out.
    pub(super) params: Fingerprint,
}

/// Why a call was not parked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("too many calls wait for their clients")]
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
        drop(self.take_expired(now));
        let mut table = self.lock();
        let same = |of: &dyn Fn(&RetryKey) -> bool| table.values().filter(|e| of(&e.key)).count();
        if same(&|other| other.caller == key.caller) >= OF_A_CALLER
            || same(&|other| other.server == key.server) >= AT_A_SERVER
        {
            // Dropped after the lock: withdrawing a call takes locks of its own.
            drop(table);
            return Err(TooManyParked);
        }
        let entry = Entry { call, key, expires };
        table.insert(handle.into(), entry);
        drop(table);
        self.added.notify_one();
        Ok(())
    }

    /// The call that a handle stands for. Nothing if it is unknown, used, expired, or of another request; the call is then over.
    pub(super) fn take(&self, handle: &str, key: &RetryKey, now: Instant) -> Option<ParkedCall> {
        let entry = self.lock().remove(handle)?;
        if entry.key != *key || now >= entry.expires {
            return None;
        }
        let mut call = entry.call;
        call.call.state.budget.give_back(entry.expires - now);
        Some(call)
    }

    /// Gives up the call that a handle stands for.
    pub(super) fn forget(&self, handle: &str) {
        // Dropped after the lock: withdrawing a call takes locks of its own.
        let entry = self.lock().remove(handle);
        drop(entry);
    }

    /// Gives up the calls whose clients did not come back in time, for ever.
    pub(super) async fn forget_expired(&self) {
        loop {
            let next = self.lock().values().map(|entry| entry.expires).min();
            match next {
                None => self.added.notified().await,
                Some(next) => tokio::select! {
                    () = tokio::time::sleep_until(next.into()) => (),
                    () = self.added.notified() => (),
                },
            }
            for entry in self.take_expired(Instant::now()) {
                tracing::info!(server = %entry.key.server, "a call was given up: its client did not answer a question in time");
            }
        }
    }

    /// To be dropped after the lock: withdrawing a call takes locks of its own.
    fn take_expired(&self, now: Instant) -> Vec<Entry> {
        let mut table = self.lock();
        let expired = table.extract_if(|_, entry| now >= entry.expires);
        expired.map(|(_, entry)| entry).collect()
    }

    /// The data is whole between statements, so a panic elsewhere does not spoil it.
    fn lock(&self) -> MutexGuard<'_, HashMap<Box<str>, Entry>> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A handle that nobody can guess.
pub(super) fn new_handle() -> String {
    format!("{PREFIX}{}", uuid::Uuid::new_v4().simple())
}

/// The handle that a request brings, if it goes on with a parked call. Other states are the upstreams' own. A client that is asked by
/// requests is given no state, so it has none to bring.
pub(super) fn handle_in(
    client: Revision,
    method: &str,
    params: Option<&Raw>,
) -> Result<Option<String>, RpcError> {
    let state = params.and_then(|params| params.get(input_required::STATE));
    let Some(state) = state.filter(|state| !state.is_null()) else {
        return Ok(None);
    };
    if client.has_server_requests() {
        return if bridge::may_ask(method) {
            Err(unknown_state())
        } else {
            Ok(None)
        };
    }
    Ok(state.string().filter(|state| state.starts_with(PREFIX)))
}

/// The error of a retry that goes on with nothing. The call is not started anew: its client believes that it runs.
pub(super) fn unknown_state() -> RpcError {
    RpcError::invalid_params(input_required::UNKNOWN_STATE)
}
