//! Ends the stream of a client whose credential does not count any more, however long it could have gone on.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use axum::{body::Body, response::Response};
use bytes::Bytes;
use http::{HeaderValue, header};
use hyper::body::{Body as HttpBody, Frame};

use crate::access::{Access, Caller};

/// The body of a stream.
struct UntilWithdrawn {
    /// Dropped with the credential: whatever it is the answer to is withdrawn.
    body: Option<Body>,
    withdrawn: Pin<Box<dyn Future<Output = ()> + Send>>,
}

/// The same answer. One that is a stream ends when the caller's credential is withdrawn; any other is given to its end.
pub(super) fn until_withdrawn(response: Response, access: &Access, caller: Caller) -> Response {
    let events = HeaderValue::from_static("text/event-stream");
    if response.headers().get(header::CONTENT_TYPE) != Some(&events) {
        return response;
    }
    let access = access.clone();
    response.map(|body| {
        Body::new(UntilWithdrawn {
            body: Some(body),
            withdrawn: Box::pin(async move { access.withdrawn(&caller).await }),
        })
    })
}

impl HttpBody for UntilWithdrawn {
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
        if polled.is_pending() && self.withdrawn.as_mut().poll(cx).is_ready() {
            tracing::info!(
                "a stream was ended: the credential of its client does not count any more"
            );
            self.body = None;
            return Poll::Ready(None);
        }
        polled
    }
}
