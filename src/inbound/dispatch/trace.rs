//! Which trace requests of a client are part of, where their headers say it and they themselves do not.

use http::HeaderMap;

use super::ServedClient;
use crate::{call_context::CallContext, wire::Request};

impl ServedClient {
    /// The same for requests that came with these headers.
    #[must_use]
    pub(in crate::inbound) fn with_headers(self, headers: &HeaderMap) -> Self {
        let trace = self.inbound.0.calls.trace_in(headers);
        Self { trace, ..self }
    }

    /// A request with its place in a trace.
    pub(super) fn traced(&self, mut context: CallContext, request: &Request) -> CallContext {
        let (id, params) = (Some(&request.id), request.params.as_ref());
        context.begin_trace(id, params, self.trace.as_ref());
        context
    }
}
