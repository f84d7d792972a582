//! What counts a call while it is in flight: at its server, and among the streams that can carry the server's questions.

use std::time::Instant;

use super::handle::Upstream;
use crate::call_context::ClientSender;

/// Counts a call from its first step to its last, so that a server is not put to sleep under it.
pub(in crate::upstream) struct InFlightGuard(Upstream);

impl InFlightGuard {
    pub(in crate::upstream) fn begin(upstream: Upstream) -> Self {
        upstream.0.usage.begin(Instant::now());
        Self(upstream)
    }

    pub(super) fn upstream(&self) -> &Upstream {
        &self.0
    }
}

impl Drop for InFlightGuard {
    fn drop(&mut self) {
        self.0.0.usage.end(Instant::now());
    }
}

/// Counts a call whose stream can carry questions that the server asks outside of calls.
pub(in crate::upstream) struct QuestionStream {
    upstream: Upstream,
    number: u64,
}

impl QuestionStream {
    pub(in crate::upstream) fn begin(
        upstream: &Upstream,
        number: u64,
        stream: &ClientSender,
    ) -> Self {
        upstream.0.client_streams.enter(number, stream.clone());
        Self {
            upstream: upstream.clone(),
            number,
        }
    }
}

impl Drop for QuestionStream {
    fn drop(&mut self) {
        self.upstream.0.client_streams.leave(self.number);
    }
}
