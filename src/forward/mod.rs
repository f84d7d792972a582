//! Carries an admitted request to its upstream and to its end, over as many rounds of questions as it takes. The one place where a
//! forwarded call has a state: `state` decides, `call` acts in the task that waits for the answer, and `parked` keeps the
//! calls whose clients have to call again.
//!
//! Knows nothing of lists and offered names: which server, and what is changed in the params, is the router's to say.

mod budget;
mod call;
mod instances;
mod label;
mod parked;
mod progress;
mod questions;
mod request;
mod state;

use std::time::Instant;

use self::{
    call::{ForwardedCall, Forwarding},
    parked::{PageRetries, ParkedCalls},
    request::RoundReplies,
    state::{CallAction, CallState},
};
pub use self::{
    label::prefixed,
    request::{EndpointKind, ForwardRequest, RequestError},
};
use crate::{
    call_context::CallContext,
    failure::Result,
    gate::Admitted,
    upstream::Upstreams,
    wire::{Outcome, Raw},
};

/// Forwards requests to the upstreams of one daemon.
pub struct Forwarder {
    upstreams: Upstreams,
    parked: ParkedCalls,
    pages: PageRetries,
}

impl Forwarder {
    /// Over these upstreams.
    pub fn new(upstreams: Upstreams) -> Self {
        Self {
            upstreams,
            parked: ParkedCalls::default(),
            pages: PageRetries::default(),
        }
    }

    /// Forwards a request and gives the answer as this client must get it. Dropping the future withdraws the request upstream.
    pub async fn forward(
        &self,
        context: &CallContext,
        admitted: &Admitted,
        request: ForwardRequest<'_>,
    ) -> Result<Outcome, RequestError> {
        let forwarding = Forwarding {
            forwarder: self,
            context,
            admitted,
            request,
        };
        let token = progress::token_in(request.params)?;
        let handle = parked::handle_in(context.revision, admitted.method(), request.params)?;
        let mut replies = RoundReplies::default();
        if let Some(handle) = handle {
            let (key, now) = (forwarding.retry_key()?, Instant::now());
            // Made again because its client has opened the pages.
            replies.are_taken = self.pages.take(&handle, &key, now);
            if let Some(parked) = self.parked.take(&handle, &key, now) {
                return Box::pin(forwarding.resume(parked, token)).await;
            }
            // Another mcpproxy, which needs no handshake, gives such handles, too.
            let upstream = self.upstreams.named(admitted.server())?;
            if !replies.are_taken && !upstream.is_stateless() {
                return Err(parked::unknown_state().into());
            }
        }
        // Awaited where it is made: what is named first is kept twice.
        let sent = forwarding.send(token, CallState::sent(), &replies).await?;
        let call = Box::new(ForwardedCall::new(forwarding, sent));
        call.run(CallAction::Wait).await
    }

    /// Gives up the parked call that a request which was refused would have gone on with.
    pub fn abandon(&self, context: &CallContext, method: &str, params: Option<&Raw>) {
        if let Ok(Some(handle)) = parked::handle_in(context.revision, method, params) {
            self.parked.forget(&handle, &context.caller);
        }
    }

    /// Gives up parked calls whose clients do not come back in time, for ever.
    pub async fn forget_expired(&self) {
        self.parked.forget_expired().await;
    }
}
