//! Answers as Server-Sent Events: notices as they come, then the answer; `:` lines when nothing comes.

use std::{convert::Infallible, time::Duration};

use axum::{body::Body, response::Response};
use bytes::Bytes;
use futures_util::stream::{self, Stream, StreamExt};
use http::{HeaderName, HeaderValue, StatusCode, header};
use tokio_util::sync::CancellationToken;

use super::{
    answer,
    answering::{Answer, Answering},
    resumable::ResumableReader,
    session::OwnStream,
    sessions::SessionOwner,
    sse_event::{comment, event},
};
use crate::{call_context::ClientReceiver, runtime::waits::or_never};

/// A stream on which nothing came for this long gets a comment, so that neither side nor anybody between takes it for dead.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// A request without an answer after this time is answered by a stream, so that the client sees it alive.
const JSON_TIMEOUT: Duration = Duration::from_secs(10);

enum Phase {
    Running(Answering),
    /// Nothing but what waits in the receiver and this.
    Ending(Option<Answer>),
}

/// The rest of a request as a stream. Dropping it, as a client that leaves does, withdraws the request.
pub(super) fn answering(receiver: ClientReceiver, answering: Answering) -> Response {
    let begun = (receiver, Phase::Running(answering));
    let rest = stream::unfold(begun, |(receiver, mut phase)| async move {
        let text = loop {
            match &mut phase {
                Phase::Running(answering) => tokio::select! {
                    biased;
                    frame = receiver.next() => break event(&frame),
                    answer = answering => phase = Phase::Ending(answer),
                    () = tokio::time::sleep(KEEP_ALIVE) => break comment(),
                },
                Phase::Ending(answer) => {
                    let last = || Some(answer.take()?.frame.joined());
                    break event(&receiver.take().or_else(last)?);
                }
            }
        };
        Some((text, (receiver, phase)))
    });
    written(None, rest)
}

/// JSON if the answer comes before anything else does, with the status that goes with it; an event stream otherwise. `unanswered` is the
/// response where there will be no answer.
pub(super) async fn respond(
    receiver: ClientReceiver,
    mut answering: Answering,
    status: impl FnOnce(&Answer) -> StatusCode,
    unanswered: impl FnOnce() -> Response,
    stream: impl FnOnce(ClientReceiver, Answering) -> Response,
) -> Response {
    tokio::select! {
        biased;
        answer = &mut answering => match (answer, receiver.take()) {
            (Some(answer), None) => answer::answered(status(&answer), answer),
            (None, _) => unanswered(),
            (Some(answer), Some(notice)) => {
                receiver.put_back(notice);
                stream(receiver, Box::pin(std::future::ready(Some(answer))))
            }
        },
        notice = receiver.next() => {
            receiver.put_back(notice);
            stream(receiver, answering)
        }
        () = tokio::time::sleep(JSON_TIMEOUT) => stream(receiver, answering),
    }
}

/// A client's own stream, until it leaves, its session ends, it opens another, or `closing` comes. `first` is sent at once, so that
/// the client sees its stream open. With `owner` the session ends with the stream.
pub(super) fn listening(
    first: Bytes,
    own: OwnStream,
    owner: Option<SessionOwner>,
    closing: CancellationToken,
) -> Response {
    let rest = stream::unfold((own, owner, closing), |(own, owner, closing)| async move {
        let text = heard(&own, owner.as_ref(), &closing).await?;
        Some((text, (own, owner, closing)))
    });
    written(Some(first), rest)
}

/// A stream that the client can take up again, to its end or until `closing` comes.
pub(super) fn resumable(
    first: Option<Bytes>,
    reader: ResumableReader,
    closing: Option<CancellationToken>,
) -> Response {
    let rest = stream::unfold((reader, closing), |(mut reader, closing)| async move {
        let text = read(&mut reader, closing.as_ref()).await?;
        Some((text, (reader, closing)))
    });
    written(first, rest)
}

/// A stream of one message that is all there is.
pub(super) fn single_event(frame: &[u8]) -> Response {
    events(Body::from(event(frame)))
}

async fn read(reader: &mut ResumableReader, closing: Option<&CancellationToken>) -> Option<Bytes> {
    let closed = closing.map(CancellationToken::cancelled);
    tokio::select! {
        biased;
        text = reader.next() => text,
        () = or_never(closed) => None,
        () = tokio::time::sleep(KEEP_ALIVE) => Some(comment()),
    }
}

/// The next frame for the client; `None` at the end of its stream. The requests of a session that ends with the stream are answered on
/// it before it closes.
async fn heard(
    own: &OwnStream,
    owner: Option<&SessionOwner>,
    closing: &CancellationToken,
) -> Option<Bytes> {
    let closed = async {
        closing.cancelled().await;
        if let Some(owner) = owner {
            owner.session.wait_until_idle().await;
        }
    };
    tokio::select! {
        biased;
        () = own.closed.cancelled() => None,
        frame = own.receiver.next() => Some(event(&frame)),
        () = closed => None,
        () = tokio::time::sleep(KEEP_ALIVE) => Some(comment()),
    }
}

/// An event stream of these texts.
fn written(first: Option<Bytes>, rest: impl Stream<Item = Bytes> + Send + 'static) -> Response {
    let texts = stream::iter(first).chain(rest);
    events(Body::from_stream(texts.map(Ok::<_, Infallible>)))
}

fn events(body: Body) -> Response {
    let mut response = answer::with_type(StatusCode::OK, "text/event-stream", body);
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    // Proxies that gather a body before they pass it on would hold the events back.
    headers.insert(
        HeaderName::from_static("x-accel-buffering"),
        HeaderValue::from_static("no"),
    );
    response
}
