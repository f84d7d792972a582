//! What writes the streams that a client can take up again: a request goes on while its client has lost the stream, for as long as it
//! may come back. The tasks end when the daemon does, which waits for them.

use std::sync::Arc;

use axum::response::Response;
use tokio_util::sync::CancellationToken;

use super::{
    Inbound,
    answering::Answering,
    resumable::Resumable,
    session::{LegacySession, OwnStream},
    stream,
};
use crate::{call_context::ClientReceiver, wire::Id};

impl Inbound {
    /// A request's stream. Where the session's revision allows it the client can take it up again; otherwise a client that leaves
    /// withdraws the request.
    pub(super) fn stream_of_request(
        &self,
        session: &Arc<LegacySession>,
        request: Id,
        receiver: ClientReceiver,
        answering: Answering,
    ) -> Response {
        let revision = session.revision();
        let opened = revision
            .has_resumption()
            .then(|| session.open_stream(request));
        let Some(resumable) = opened.flatten() else {
            return stream::answering(receiver, answering);
        };
        let reader = resumable.read_after(0);
        let first = revision.primes_streams().then(|| resumable.priming());
        let (closing, session) = (self.0.closing.clone(), session.clone());
        self.0.tasks.spawn(async move {
            write_request(&resumable, receiver, answering, &closing).await;
            session.tidy();
        });
        stream::resumable(first, reader, None)
    }

    /// The client's own stream, opened so that it can take it up again.
    pub(super) fn listen_resumably(&self, session: &LegacySession) -> Arc<Resumable> {
        let (stream, own) = session.listen_resumably(&self.0.router);
        let closing = self.0.closing.clone();
        let writing = write_own(stream.clone(), own, closing);
        self.0.tasks.spawn(writing);
        stream
    }
}

/// Writes what a request brings, to its answer or until the client is given up.
async fn write_request(
    stream: &Resumable,
    receiver: ClientReceiver,
    mut answering: Answering,
    closing: &CancellationToken,
) {
    let _end = EndOnDrop(stream);
    let with_room = async || {
        stream.room().await;
        receiver.next().await
    };
    let answer = loop {
        tokio::select! {
            biased;
            () = stream.given_up(closing) => {
                tracing::debug!("a request was withdrawn: its client lost the stream and did not reconnect");
                break None;
            }
            frame = with_room() => stream.push(frame),
            answer = &mut answering => break answer,
        }
    };
    let rest = std::iter::from_fn(|| receiver.take());
    for frame in rest.chain(answer.map(|answer| answer.frame.joined())) {
        stream.push(frame);
    }
}

/// Writes a client's notices besides answers, until its stream is over.
async fn write_own(stream: Arc<Resumable>, own: OwnStream, closing: CancellationToken) {
    let _end = EndOnDrop(&stream);
    let writing = async {
        loop {
            stream.room().await;
            stream.push(own.receiver.next().await);
        }
    };
    tokio::select! {
        () = writing => (),
        () = own.closed.cancelled() => (),
        () = closing.cancelled() => (),
    }
}

/// However the work ends, the stream does not stay open without it.
struct EndOnDrop<'a>(&'a Resumable);

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}
