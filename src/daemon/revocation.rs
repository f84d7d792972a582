//! Ends a stream when its reader's credential does not count any more, however long it could have gone on.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use axum::{body::Body, response::Response};
use bytes::Bytes;
use http::{HeaderValue, header};
use hyper::body::{Body as HttpBody, Frame};

/// The body of a stream.
struct UntilRevoked {
    /// Dropped with the credential: whatever it is the answer to is withdrawn.
    body: Option<Body>,
    revoked: Pin<Box<dyn Future<Output = ()> + Send>>,
}

/// The same answer. One that is a stream ends when this does, which is when the credential of its reader is withdrawn; any other is given
/// to its end.
pub(super) fn until_revoked(
    response: Response,
    revoked: impl Future<Output = ()> + Send + 'static,
) -> Response {
    let events = HeaderValue::from_static("text/event-stream");
    if response.headers().get(header::CONTENT_TYPE) != Some(&events) {
        return response;
    }
    response.map(|body| {
        Body::new(UntilRevoked {
            body: Some(body),
            revoked: Box::pin(revoked),
        })
    })
}

/// Says why a request or a stream ends.
pub(super) fn note_revoked() {
    tracing::info!("a request was ended: the credential of its sender does not count any more");
}

impl HttpBody for UntilRevoked {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let Some(body) = &mut self.body else {
            return Poll::Ready(None);
        };
        let polled = Pin::new(body).poll_frame(cx);
        if polled.is_pending() && self.revoked.as_mut().poll(cx).is_ready() {
            self.body = None;
            return Poll::Ready(None);
        }
        polled
    }
}
