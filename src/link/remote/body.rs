//! The body of a response, which drives the connection it comes over and gives it back at its end. Dropped before, it takes the
//! connection with it.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Waker},
};

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};

use super::{connection::Http1Connection, pool::Pool};

/// What comes after the head of a response.
pub(crate) struct ServerBody {
    incoming: Incoming,
    /// The connection, until the end has come.
    over: Option<(Box<Http1Connection>, Arc<Pool>)>,
}

impl ServerBody {
    pub(super) fn new(
        incoming: Incoming,
        connection: Box<Http1Connection>,
        pool: Arc<Pool>,
    ) -> Self {
        Self {
            incoming,
            over: Some((connection, pool)),
        }
    }

    fn release(&mut self) {
        if let Some((connection, pool)) = self.over.take() {
            pool.put(connection);
        }
    }
}

impl Body for ServerBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let body = self.get_mut();
        // What comes, comes by driving.
        let mut nobody = Context::from_waker(Waker::noop());
        let mut frame = Pin::new(&mut body.incoming).poll_frame(&mut nobody);
        if frame.is_pending()
            && let Some((connection, _)) = &mut body.over
        {
            // Only what is polled is read.
            connection.drive(context);
            frame = Pin::new(&mut body.incoming).poll_frame(&mut nobody);
        }
        if matches!(frame, Poll::Ready(None)) {
            body.release();
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.incoming.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.incoming.size_hint()
    }
}
