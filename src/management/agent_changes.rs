//! The rate limit for agents that change the configuration.

use std::time::{Duration, Instant};

use crate::{
    config::RateLimit,
    failure::{ErrorCode, Failure, Result},
    runtime::sync::Guarded,
};

/// Limit: changes by all agents together. Each is a write to the disk, after which everything is read again.
const LIMIT: RateLimit = RateLimit {
    interval: Duration::from_millis(250),
    burst: 10,
};

/// When the bucket of changes will be full again.
pub(super) struct AgentChanges(Guarded<Instant>);

impl Default for AgentChanges {
    fn default() -> Self {
        Self(Guarded::new(Instant::now()))
    }
}

impl AgentChanges {
    /// Takes a change out of the bucket, if it has one.
    pub(super) fn take(&self) -> Result {
        let mut full = self.0.lock();
        *full = LIMIT.take(*full, Instant::now()).map_err(|_| {
            let error = "nothing was changed: too many changes by agents in a short time";
            Failure::new(ErrorCode::Overloaded, error, "Try again in a moment.")
        })?;
        Ok(())
    }
}
