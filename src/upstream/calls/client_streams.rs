//! For a connection that only one client uses: the streams of its calls in flight. A question that the server asks outside of calls
//! goes out on one of these streams, if its client reads it.

use std::collections::BTreeMap;

use crate::{call_context::ClientSender, runtime::sync::Guarded};

/// The streams of the calls in flight at one upstream.
#[derive(Default)]
pub(in crate::upstream) struct ClientStreams(Guarded<BTreeMap<u64, ClientSender>>);

impl ClientStreams {
    /// Notes the stream of a call that begins.
    pub(in crate::upstream) fn enter(&self, number: u64, stream: ClientSender) {
        self.0.lock().insert(number, stream);
    }

    /// The call is over.
    pub(in crate::upstream) fn leave(&self, number: u64) {
        self.0.lock().remove(&number);
    }

    /// The stream of the newest call that can carry a question to the client.
    pub(in crate::upstream) fn newest(&self) -> ClientSender {
        let streams = self.0.lock();
        let heard = streams.values().rev().find(|stream| stream.is_heard());
        heard.cloned().unwrap_or_else(ClientSender::nowhere)
    }
}
