//! The body of an answer on its way to a client: counted while it is unread, and a sign that its connection is busy.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use axum::{body::Body, response::Response};
use bytes::Bytes;
use futures_util::StreamExt;
use http::{HeaderValue, header};
use hyper::body::{Body as HttpBody, Frame, SizeHint};

use super::connections::Busy;
use crate::runtime::memory_budget::MemoryBudget;

/// A piece of a body that is not counted. Connections are bounded, and nearly all answers are smaller.
const UNCOUNTED: usize = 64 << 10;

/// A body.
pub(super) struct ResponseBody {
    body: Body,
    memory: MemoryBudget,
    _busy: Busy,
}

impl ResponseBody {
    pub(super) fn new(body: Body, memory: MemoryBudget, busy: Busy) -> Self {
        Self {
            body,
            memory,
            _busy: busy,
        }
    }
}

impl HttpBody for ResponseBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        polled.map_ok(|frame| {
            frame.map_data(|data| {
                if data.len() > UNCOUNTED {
                    self.memory.counted(data)
                } else {
                    data
                }
            })
        })
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The same answer. A stream ends when `revoked` ends, which is when the credential of its reader is withdrawn; any other answer is sent
/// to its end.
pub(super) fn until_revoked(
    response: Response,
    revoked: impl Future<Output = ()> + Send + 'static,
) -> Response {
    let events = HeaderValue::from_static("text/event-stream");
    if response.headers().get(header::CONTENT_TYPE) != Some(&events) {
        return response;
    }
    response.map(|body| Body::from_stream(body.into_data_stream().take_until(revoked)))
}

/// Says why a request or a stream ends.
pub(super) fn note_revoked() {
    tracing::info!("request ended: its token is no longer valid");
}

#[cfg(test)]
mod tests {
    use http::Method;
    use http_body_util::BodyExt;
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::{access::Peer, daemon::connections::ClientConnections};

    #[tokio::test]
    async fn a_large_answer_is_counted_until_it_is_written() {
        let memory = MemoryBudget::of(UNCOUNTED);
        let connection = ClientConnections::of(1)
            .enter(Peer::LocalSocket, &CancellationToken::new())
            .expect("there is room");
        let piece = async |size: usize| {
            let busy = connection.begin(&Method::POST);
            let mut body = ResponseBody::new(Body::from(vec![0; size]), memory.clone(), busy);
            let frame = body.frame().await.expect("a piece").expect("no failure");
            frame.into_data().expect("data")
        };
        let small = piece(UNCOUNTED).await;
        assert!(!memory.is_spent());
        let large = piece(UNCOUNTED + 1).await;
        assert!(memory.is_spent());
        assert_eq!(large.len() - small.len(), 1);
        drop(large);
        assert!(!memory.is_spent());
    }
}
