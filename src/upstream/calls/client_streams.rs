//! For a connection that only one client uses: the streams of its calls in flight. A question that the server asks outside of calls
//! goes out on one of these streams, if its client reads it.

use std::{collections::BTreeMap, sync::Arc};

use crate::{call_context::ClientSender, runtime::sync::Guarded};

/// The streams of the calls in flight at one upstream, by the numbers of the calls. Cheap to clone.
#[derive(Clone, Default)]
pub(in crate::upstream) struct ClientStreams(Arc<Guarded<BTreeMap<u64, ClientSender>>>);

/// Keeps the stream of a call in the table while the call is in flight.
pub(in crate::upstream) struct ListedStream {
    streams: ClientStreams,
    number: u64,
}

impl Drop for ListedStream {
    fn drop(&mut self) {
        self.streams.0.lock().remove(&self.number);
    }
}

impl ClientStreams {
    /// Lists the stream of a call that begins.
    pub(super) fn list(&self, number: u64, stream: &ClientSender) -> ListedStream {
        self.0.lock().insert(number, stream.clone());
        ListedStream {
            streams: self.clone(),
            number,
        }
    }

    /// The stream of the newest call that can carry a question to the client.
    pub(in crate::upstream) fn newest(&self) -> ClientSender {
        let streams = self.0.lock();
        let heard = streams.values().rev().find(|stream| stream.is_heard());
        heard.cloned().unwrap_or_else(ClientSender::nowhere)
    }
}
