//! The body of a request or an answer that is one message: its pieces, none of which is copied.

use std::{
    convert::Infallible,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};

use crate::wire::MessageFrame;

/// A body.
#[derive(Debug, Clone)]
pub struct MessageBody(MessageFrame);

impl From<MessageFrame> for MessageBody {
    fn from(message: MessageFrame) -> Self {
        Self(message)
    }
}

impl Body for MessageBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let piece = self.0.next_piece();
        Poll::Ready(piece.map(|piece| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.size() == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(u64::try_from(self.0.size()).unwrap_or(u64::MAX))
    }
}
