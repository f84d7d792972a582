//! Stateless requests (revision 2026-07-28), and how they differ from those of a session. Knows no transport.

use crate::wire::{self, Message, method};

/// Whether a message carries what only stateless ones do.
pub(super) fn is_stateless(message: &Message) -> bool {
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
