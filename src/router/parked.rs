//! Calls of legacy upstreams that wait for what a modern client is asked: kept whole until the client calls again with its answers.
//!
//! The state that a client holds is a handle nobody can guess, and everything that it is bound to stays here: there is nothing in it
//! to read or to forge. It works once.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use tokio::sync::Notify;

use super::{exchange::Running, input_required::Asked};
use crate::{access::Caller, fingerprint::Fingerprint, names::ServerName, wire::Id};

/// How long a client may take to answer one round.
pub(super) const ROUND: Duration = Duration::from_mins(2);

/// How long a call may wait for its client over all rounds.
const TOTAL: Duration = Duration::from_mins(10);

/// Limit: rounds of one call.
pub(super) const ROUNDS: usize = 16;

/// Limit: parked calls of one caller, and at one server.
const OF_A_CALLER: usize = 64;
const AT_A_SERVER: usize = 32;

/// What a handle begins with, so that it is told from the states of upstreams.
const PREFIX: &str = "mcpproxy-";

/// The parked calls of one daemon.
#[derive(Default)]
pub(super) struct Parked {
    table: Mutex<HashMap<Box<str>, Entry>>,
    added: Notify,
}

struct Entry {
    call: ParkedCall,
    bound: Bound,
    expires: Instant,
}

/// A call, and what its client was asked.
pub(super) struct ParkedCall {
    pub(super) running: Running,
    /// The questions, with the ids that the upstream knows them by.
    pub(super) questions: Vec<(Id, Asked)>,
}

/// What a retry must have in common with the request that it retries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Bound {
    pub(super) caller: Caller,
    pub(super) server: ServerName,
    pub(super) method: Box<str>,
    /// Of the params as the upstream gets them, answers and metadata left out.
    pub(super) params: Fingerprint,
}

/// Why a call was not parked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("too many calls wait for their clients")]
pub(super) struct Full;

impl Parked {
    /// Keeps a call for its client. The handle is what the client calls again with.
    pub(super) fn park(
        &self,
        mut call: ParkedCall,
        bound: Bound,
        now: Instant,
    ) -> Result<String, Full> {
        let round = ROUND.min(TOTAL.saturating_sub(call.running.waited));
        call.running.waited += round;
        drop(self.take_expired(now));
        let mut table = self.lock();
        let same = |of: &dyn Fn(&Bound) -> bool| table.values().filter(|e| of(&e.bound)).count();
        if same(&|other| other.caller == bound.caller) >= OF_A_CALLER
            || same(&|other| other.server == bound.server) >= AT_A_SERVER
        {
            return Err(Full);
        }
        let handle = format!("{PREFIX}{}", uuid::Uuid::new_v4().simple());
        let expires = now + round;
        let entry = Entry {
            call,
            bound,
            expires,
        };
        table.insert(handle.as_str().into(), entry);
        drop(table);
        self.added.notify_one();
        Ok(handle)
    }

    /// The call that a handle stands for. Nothing if it is unknown, used, expired, or of another request; the call is then over.
    pub(super) fn take(&self, handle: &str, bound: &Bound, now: Instant) -> Option<ParkedCall> {
        let entry = self.lock().remove(handle)?;
        let Entry {
            mut call, expires, ..
        } = entry;
        if entry.bound != *bound || now >= expires {
            return None;
        }
        // What was not used of the round is given back.
        call.running.waited -= expires - now;
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
                tracing::info!(server = %entry.bound.server, "a call was given up: its client did not answer a question in time");
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

/// Whether a state is a handle of ours, rather than an upstream's.
pub(super) fn is_handle(state: &str) -> bool {
    state.starts_with(PREFIX)
}
