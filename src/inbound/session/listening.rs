//! The stream that a session's client has open: opens it in place of another, and says what to announce on it.

use std::{sync::Arc, time::Instant};

use tokio_util::sync::CancellationToken;

use super::LegacySession;
use crate::{
    call_context::{ClientReceiver, ClientSender},
    catalog::Difference,
    inbound::{event_id::StreamOf, resumable::Resumable},
    router::{Announcement, Known, Router},
};

/// The stream that the client has open, if any.
#[derive(Default)]
pub(super) struct Listener {
    /// Ends the stream that is open.
    stream_end: CancellationToken,
    /// The lists as the client has seen them since it listens.
    seen: Option<Known>,
    /// The same stream, where the client can take it up again.
    resumable: Option<Arc<Resumable>>,
}

/// A client's own stream while it is open.
pub(in crate::inbound) struct OwnStream {
    pub(in crate::inbound) receiver: ClientReceiver,
    /// The session ended, or the client opened another stream.
    pub(in crate::inbound) closed: CancellationToken,
}

impl LegacySession {
    /// When there was a sign of its client; `None` while it listens or waits for an answer, which is one.
    pub(in crate::inbound) fn silent_since(&self) -> Option<Instant> {
        let state = self.state.lock();
        let is_listening = match &state.listener.resumable {
            Some(stream) => stream.is_read(),
            None => self.to_client().is_heard(),
        };
        let is_there = is_listening || !state.running.is_empty();
        (!is_there).then_some(state.last_seen)
    }

    /// Opens the client's stream in place of one that may be open.
    pub(in crate::inbound) fn listen(&self, router: &Router) -> OwnStream {
        let (to_client, receiver) = ClientSender::new(&self.memory);
        let closed = self.session_end.child_token();
        self.listen_on(router, to_client, &closed, None);
        OwnStream { receiver, closed }
    }

    /// Opens the stream of a conversation, on which it is answered too. The session is over when its client does not read it.
    pub(in crate::inbound) fn converse(&self, router: &Router) -> OwnStream {
        let closed = self.session_end.clone();
        let (to_client, receiver) = ClientSender::with_answers(&self.memory, closed.clone());
        self.listen_on(router, to_client, &closed, None);
        OwnStream { receiver, closed }
    }

    /// Opens the client's stream where it can take it up again. What comes while it is away is kept, as far as there is room.
    pub(in crate::inbound) fn listen_resumably(
        &self,
        router: &Router,
    ) -> (Arc<Resumable>, OwnStream) {
        let (to_client, receiver) = ClientSender::new(&self.memory);
        let closed = self.session_end.child_token();
        let stream = Arc::new(Resumable::new(&self.memory, &StreamOf::Session));
        self.listen_on(router, to_client, &closed, Some(stream.clone()));
        (stream, OwnStream { receiver, closed })
    }

    fn listen_on(
        &self,
        router: &Router,
        to_client: ClientSender,
        stream_end: &CancellationToken,
        resumable: Option<Arc<Resumable>>,
    ) {
        let mut state = self.state.lock();
        let caller = self.caller.clone().at(state.seat(&self.client));
        self.client.set_stream(to_client);
        let new = Listener {
            stream_end: stream_end.clone(),
            // Taken under the lock: a change after this finds us here.
            seen: Some(router.known_now(&caller)),
            resumable,
        };
        let old = std::mem::replace(&mut state.listener, new);
        drop(state);
        old.stream_end.cancel();
    }

    /// Which lists changed since the client saw them; none while it does not listen.
    pub(in crate::inbound) fn list_changes(
        &self,
        announcement: &mut Announcement<'_>,
    ) -> Difference {
        let mut state = self.state.lock();
        let caller = self.caller.clone().at(state.seat(&self.client));
        let Some(seen) = &mut state.listener.seen else {
            return Difference::default();
        };
        announcement.news(seen, &caller, &self.view)
    }

    /// The client's own stream, if this is an event of it, and the event's number.
    pub(in crate::inbound) fn own_stream_of(
        &self,
        event_id: &str,
    ) -> Option<(Arc<Resumable>, u64)> {
        let stream = self.state.lock().listener.resumable.clone()?;
        let number = stream.number(event_id)?;
        Some((stream, number))
    }
}
