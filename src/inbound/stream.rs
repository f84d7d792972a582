//! Answers as Server-Sent Events: notices as they come, then the answer; `:` lines when nothing comes.

use std::{pin::Pin, time::Duration};

use axum::{body::Body, response::Response};
use bytes::{BufMut, Bytes, BytesMut};
use http::{HeaderName, HeaderValue, StatusCode, header};
use tokio_util::sync::CancellationToken;

use super::{
    answer::{self, Answer},
    resumable::Reader,
    session::{Listening, OpenStream},
};
use crate::call_context::ClientReceiver;

/// A stream on which nothing came for this long gets a comment, so that neither side nor anybody between takes it for dead.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// The answer to a request; `None` when the client withdrew it. Its status counts only while nothing has been said.
pub(super) type Answering = Pin<Box<dyn Future<Output = Option<Answer>> + Send>>;

/// One frame as an event. Line breaks in valid JSON stand between tokens only; each line becomes a data line of its own.
pub(super) fn event(frame: &[u8]) -> Bytes {
    let mut text = BytesMut::with_capacity(frame.len() + 32);
    text.put_slice(b"event: message\ndata: ");
    let mut from = 0;
    for at in memchr::memchr2_iter(b'\n', b'\r', frame) {
        text.put_slice(&frame[from..at]);
        text.put_slice(b"\ndata: ");
        from = at + 1;
    }
    text.put_slice(&frame[from..]);
    text.put_slice(b"\n\n");
    text.freeze()
}

enum Phase {
    Running(Answering),
    /// Nothing but what waits in the receiver and this.
    Ending(Option<Answer>),
}

/// The rest of a request as a stream. Dropping it, as a client that leaves does, withdraws the request.
pub(super) fn answering(receiver: ClientReceiver, answering: Answering) -> Response {
    let body = futures_util::stream::unfold(
        (receiver, Phase::Running(answering)),
        |(receiver, mut phase)| async move {
            loop {
                phase = match phase {
                    Phase::Running(mut answering) => tokio::select! {
                        biased;
                        frame = receiver.next() => return item(event(&frame), receiver, Phase::Running(answering)),
                        answer = &mut answering => Phase::Ending(answer),
                        () = tokio::time::sleep(KEEP_ALIVE) => {
                            return item(comment(), receiver, Phase::Running(answering));
                        }
                    },
                    Phase::Ending(answer) => {
                        if let Some(frame) = receiver.take() {
                            return item(event(&frame), receiver, Phase::Ending(answer));
                        }
                        let answer = answer?;
                        return item(event(&answer.frame), receiver, Phase::Ending(None));
                    }
                }
            }
        },
    );
    events(Body::from_stream(body))
}

type Item<S> = Option<(Result<Bytes, std::convert::Infallible>, S)>;

#[expect(
    clippy::unnecessary_wraps,
    reason = "the shape that a stream's step returns"
)]
fn item(text: Bytes, receiver: ClientReceiver, phase: Phase) -> Item<(ClientReceiver, Phase)> {
    Some((Ok(text), (receiver, phase)))
}

/// A client's own stream, until it leaves, its session ends, it opens another, or `closing` comes. `first` is sent at once, so that
/// the client sees its stream open.
pub(super) fn listening(
    first: Bytes,
    listening: Listening,
    closing: CancellationToken,
) -> Response {
    let body = futures_util::stream::unfold(
        (Some(first), listening, closing),
        |(mut first, listening, closing)| async move {
            let text = match first.take() {
                Some(first) => first,
                None => heard(&listening, &closing).await?,
            };
            Some((
                Ok::<_, std::convert::Infallible>(text),
                (None, listening, closing),
            ))
        },
    );
    events(Body::from_stream(body))
}

/// A stream that the client can take up again, to its end or until `closing` comes; that of a session is counted while it is open.
pub(super) fn resumable(
    first: Option<Bytes>,
    reader: Reader,
    open: Option<(OpenStream, CancellationToken)>,
) -> Response {
    let body = futures_util::stream::unfold(
        (first, reader, open),
        |(mut first, mut reader, open)| async move {
            let text = match first.take() {
                Some(first) => first,
                None => read(&mut reader, open.as_ref().map(|(_, closing)| closing)).await?,
            };
            Some((
                Ok::<_, std::convert::Infallible>(text),
                (None, reader, open),
            ))
        },
    );
    events(Body::from_stream(body))
}

async fn read(reader: &mut Reader, closing: Option<&CancellationToken>) -> Option<Bytes> {
    let closed = async {
        match closing {
            Some(closing) => closing.cancelled().await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        biased;
        text = reader.next() => text,
        () = closed => None,
        () = tokio::time::sleep(KEEP_ALIVE) => Some(comment()),
    }
}

/// What the client hears next; `None` at the end of its stream.
async fn heard(listening: &Listening, closing: &CancellationToken) -> Option<Bytes> {
    let closed = async {
        closing.cancelled().await;
        listening.answered().await;
    };
    tokio::select! {
        biased;
        () = listening.over.cancelled() => None,
        frame = listening.receiver.next() => Some(event(&frame)),
        () = closed => None,
        () = tokio::time::sleep(KEEP_ALIVE) => Some(comment()),
    }
}

/// Says that somebody is there; no client takes it for a message.
pub(super) fn comment() -> Bytes {
    Bytes::from_static(b": keep-alive\n\n")
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

#[cfg(test)]
mod tests {
    use super::event;

    #[test]
    fn a_frame_is_one_event_however_it_is_laid_out() {
        assert_eq!(&event(b"{}")[..], b"event: message\ndata: {}\n\n");
        assert_eq!(
            &event(b"{\n \"a\":1\r\n}")[..],
            b"event: message\ndata: {\ndata:  \"a\":1\ndata: \ndata: }\n\n"
        );
    }
}
