//! The streams of a session that its client can take up again, and what writes them: a request goes on while its client has lost the
//! stream, for as long as it may come back.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use axum::response::Response;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, StatusCode};
use tokio_util::sync::CancellationToken;

use super::{
    Inbound, answer,
    resumable::Resumable,
    session::Session,
    stream::{self, Answering},
};
use crate::{call_context::ClientReceiver, wire::RpcError};

/// The last event that a client got.
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");

/// Limit: streams of requests that one session has. With so many in use a further one cannot be taken up again.
const STREAMS: usize = 32;

/// Limit: bytes of those that are answered. The last alone may hold more.
const ANSWERED_BYTES: usize = 16 << 20;

/// The streams of a session's requests, oldest first.
#[derive(Default)]
pub(super) struct Resumables(Mutex<Vec<Arc<Resumable>>>);

impl Resumables {
    fn open(&self) -> Option<Arc<Resumable>> {
        self.tidy();
        let mut streams = self.lock();
        if streams.len() >= STREAMS {
            let answered = streams.iter().position(|s| s.bytes_if_over().is_some());
            streams.remove(answered?);
        }
        let stream = Arc::new(Resumable::new());
        streams.push(stream.clone());
        Some(stream)
    }

    /// The stream of this event, and the event's number there.
    pub(super) fn find(&self, event_id: &str) -> Option<(Arc<Resumable>, u64)> {
        let streams = self.lock();
        let mut found = streams.iter().filter_map(|stream| {
            let number = stream.number(event_id)?;
            Some((stream.clone(), number))
        });
        found.next()
    }

    /// Lets go of what will not be asked for any more, and of what is too much.
    pub(super) fn tidy(&self) {
        let now = Instant::now();
        let mut streams = self.lock();
        streams.retain(|stream| !stream.is_of_no_use(now));
        let mut kept = 0;
        let mut fits = |stream: &Arc<Resumable>| {
            let before = kept;
            kept += stream.bytes_if_over().unwrap_or(0);
            kept <= ANSWERED_BYTES || before == 0
        };
        let mut keep: Vec<bool> = streams.iter().rev().map(&mut fits).collect();
        streams.retain(|_| keep.pop().unwrap_or(true));
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<Resumable>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inbound {
    /// A request's stream. Where the session's revision allows it the client can take it up again; otherwise a client that leaves
    /// withdraws the request.
    pub(super) fn answering(
        &self,
        session: &Arc<Session>,
        receiver: ClientReceiver,
        answering: Answering,
    ) -> Response {
        let revision = session.agreed().revision;
        let opened = revision.has_resumption().then(|| session.streams.open());
        let Some(resumable) = opened.flatten() else {
            return stream::answering(receiver, answering);
        };
        let reader = resumable.read_after(0);
        let first = revision.primes_streams().then(|| resumable.priming());
        let (closing, session) = (self.0.closing.clone(), session.clone());
        tokio::spawn(async move {
            carry(&resumable, receiver, answering, &closing).await;
            session.streams.tidy();
        });
        stream::resumable(first, reader, None)
    }
}

impl Inbound {
    /// A stream of a session: its own, opened anew or taken up again, or that of a request which the client has lost.
    pub(super) fn stream(&self, session: &Arc<Session>, headers: &HeaderMap) -> Response {
        let (closing, revision) = (&self.0.closing, session.agreed().revision);
        if !revision.has_resumption() {
            let listening = session.listen(&self.0.router, &self.0.sessions);
            return stream::listening(stream::comment(), listening, closing.clone());
        }
        let own = |stream: &Arc<Resumable>, after: u64, first: Bytes| {
            let open = (self.0.sessions.open_stream(), closing.clone());
            stream::resumable(Some(first), stream.read_after(after), Some(open))
        };
        let last_event = headers.get(LAST_EVENT).filter(|id| !id.is_empty());
        let Some(last_event) = last_event else {
            let stream = session.listen_resumably(&self.0.router, closing);
            let first = if revision.primes_streams() {
                stream.priming()
            } else {
                stream::comment()
            };
            return own(&stream, 0, first);
        };
        let last_event = last_event.to_str().unwrap_or_default();
        if let Some((stream, after)) = session.own_stream_of(last_event) {
            return own(&stream, after, stream::comment());
        }
        match session.streams.find(last_event) {
            Some((stream, after)) => {
                stream::resumable(Some(stream::comment()), stream.read_after(after), None)
            }
            None => unknown_event(),
        }
    }
}

/// The stream is over for good, or was never this session's. Nothing else must be sent in its place.
fn unknown_event() -> Response {
    let error = RpcError::invalid_request(
        "the stream of this Last-Event-ID is not here any more; open a new one without it",
    );
    answer::rpc_error(StatusCode::BAD_REQUEST, None, &error)
}

/// Writes what a request brings, to its answer or until the client is given up.
async fn carry(
    stream: &Resumable,
    receiver: ClientReceiver,
    mut answering: Answering,
    closing: &CancellationToken,
) {
    let _end = Ending(stream);
    let with_room = async || {
        stream.room().await;
        receiver.next().await
    };
    let answer = loop {
        tokio::select! {
            biased;
            () = stream.given_up(closing) => {
                tracing::debug!("a request was withdrawn: its client lost the stream and did not come back");
                break None;
            }
            frame = with_room() => stream.push(frame),
            answer = &mut answering => break answer,
        }
    };
    let rest = std::iter::from_fn(|| receiver.take());
    for frame in rest.chain(answer.map(|answer| answer.frame)) {
        stream.push(frame);
    }
}

/// However the work ends, the stream does not stay open without it.
struct Ending<'a>(&'a Resumable);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// Writes what a client is told besides answers, until its stream is over.
pub(super) async fn relay(
    stream: Arc<Resumable>,
    receiver: ClientReceiver,
    over: CancellationToken,
    closing: CancellationToken,
) {
    let _end = Ending(&stream);
    let relaying = async {
        loop {
            stream.room().await;
            stream.push(receiver.next().await);
        }
    };
    tokio::select! {
        () = relaying => (),
        () = over.cancelled() => (),
        () = closing.cancelled() => (),
    }
}
