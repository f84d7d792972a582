//! Requests that speak for themselves (revision 2026-07-28): how they are told from those of a session, and what they say of their
//! sender. Knows no transport.

use std::sync::Arc;

use super::dispatch::Envelope;
use crate::{
    access::Caller,
    call_context::Client,
    router::View,
    wire::{self, Message, RequestMeta, method},
};

/// Whether a message carries what only modern ones do.
pub(super) fn speaks_for_itself(message: &Message) -> bool {
    let params = match message {
        Message::Request(request) => request.params.as_ref(),
        Message::Notification(notification) => notification.params.as_ref(),
        Message::Response(_) => None,
    };
    wire::is_modern(params)
}

/// Whether a message is a request that only modern clients make, even where its metadata is missing.
pub(super) fn is_modern_request(message: &Message) -> bool {
    matches!(message, Message::Request(request) if method::is_modern(&request.method))
}

/// Whether a message opens a legacy session.
pub(super) fn is_opening(message: &Message) -> bool {
    matches!(message, Message::Request(request) if &*request.method == method::INITIALIZE)
}

impl Envelope {
    /// Of a request that says this of its sender.
    pub(super) fn stateless(view: View, caller: Caller, meta: &RequestMeta) -> Self {
        Self {
            view,
            caller,
            session: None,
            connection: None,
            revision: meta.revision,
            client: Arc::new(Client::new(&meta.client, &meta.capabilities)),
            log_level: meta.log_level,
        }
    }
}
