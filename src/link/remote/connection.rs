//! One HTTP/1.1 connection, driven by its user of the moment: its request, its response and its body are the business of one
//! task, so no message has to change hands between tasks, let alone threads.
//!
//! Only [`Http1Connection::drive`] has anything to wait for. What it brings is looked for after it, by whoever called it; so nobody
//! else's waker is left behind, and a task does not wake itself to run once more for nothing.

use std::{
    collections::VecDeque,
    convert::Infallible,
    future::poll_fn,
    pin::Pin,
    sync::{Arc, Weak},
    task::{Context, Poll, Waker},
    time::Duration,
};

use bytes::Bytes;
use http::{Request, Response, Uri, uri};
use hyper::{
    body::{Body, Frame, Incoming, SizeHint},
    client::conn::{
        TrySendError,
        http1::{self, SendRequest},
    },
};
use hyper_util::client::legacy::connect::Connection as _;
use tokio::{runtime::Handle, task::coop::unconstrained, time::Instant};

use super::dial::Stream;
use crate::{
    runtime::{self_wakes::quietly, sync::Guarded},
    wire::MessageFrame,
};

/// A connection that is open, as far as is known.
pub(super) struct Http1Connection {
    sender: SendRequest<MessageBody>,
    /// Reads and writes; gone when the connection has ended.
    driver: Option<http1::Connection<Stream, MessageBody>>,
    /// The other end is a proxy that takes whole requests: they bear the whole address.
    forwarded: bool,
}

/// What hyper says of a request.
type Answered = Result<Response<Incoming>, TrySendError<Request<MessageBody>>>;

/// Why a request has no response.
pub(super) struct Unanswered {
    /// The request, if nothing of it was sent.
    pub(super) unsent: Option<Request<MessageBody>>,
    pub(super) error: hyper::Error,
}

impl Http1Connection {
    /// Speaks HTTP over a stream.
    pub(super) async fn over(stream: Stream) -> hyper::Result<Self> {
        let forwarded = stream.connected().is_proxied();
        let (sender, driver) = http1::handshake(stream).await?;
        Ok(Self {
            sender,
            driver: Some(driver),
            forwarded,
        })
    }

    /// Has a request for this address sent. What comes of it, [`Http1Connection::answer`] waits for: a future that took the request would
    /// hold it twice, and so would each around it.
    pub(super) fn send(
        &mut self,
        mut request: Request<MessageBody>,
        address: &Uri,
    ) -> impl Future<Output = Answered> + use<> {
        *request.uri_mut() = if self.forwarded {
            address.clone()
        } else {
            path_of(address)
        };
        // Without a budget: one that is spent would wake nobody here.
        unconstrained(self.sender.try_send_request(request))
    }

    /// Waits for the head of the response. The body comes as this is driven on.
    pub(super) async fn answer(
        &mut self,
        mut sent: Pin<&mut impl Future<Output = Answered>>,
    ) -> Result<Response<Incoming>, Unanswered> {
        let response = poll_fn(|context| {
            drive(&mut self.driver, context);
            sent.as_mut().poll(&mut Context::from_waker(Waker::noop()))
        });
        response.await.map_err(|mut error| Unanswered {
            unsent: error.take_message(),
            error: error.into_error(),
        })
    }

    /// Reads and writes what can be read and written now.
    pub(super) fn drive(&mut self, context: &mut Context<'_>) {
        drive(&mut self.driver, context);
    }

    /// Whether it can take a request now. Finds out if the other side has closed it. Nobody waits for it then.
    pub(super) fn is_free(&mut self) -> bool {
        let context = &mut Context::from_waker(Waker::noop());
        self.drive(context);
        self.driver.is_some() && matches!(self.sender.poll_ready(context), Poll::Ready(Ok(())))
    }
}

fn drive(driver: &mut Option<http1::Connection<Stream, MessageBody>>, context: &mut Context<'_>) {
    // The request or body that suffers from its end learns the reason, when the driver is dropped at the latest.
    let ended = driver
        .as_mut()
        .is_some_and(|driver| Pin::new(driver).poll(context).is_ready());
    if ended {
        *driver = None;
    }
}

/// An address as its own server wants it: path and query.
fn path_of(address: &Uri) -> Uri {
    let mut parts = uri::Parts::default();
    parts.path_and_query = address.path_and_query().cloned();
    Uri::from_parts(parts).unwrap_or_default()
}

// The body of a request or an answer that is one message: its pieces, none of which is copied.

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

// Connections that are open and not in use.

/// Common servers close a connection that was idle for 5 s. Ours has to be the first to let go: a request that meets the close
/// is lost, and must not be sent again.
const IDLE: Duration = Duration::from_secs(4);

/// Idle connections that are kept after a burst.
const SIZE: usize = 64;

/// The idle connections to one server.
#[derive(Default)]
pub(super) struct Pool(Guarded<Kept>);

#[derive(Default)]
struct Kept {
    /// The one that was used last stands last.
    idle: VecDeque<(Instant, Box<Http1Connection>)>,
    /// A task sees to it that they do not stay.
    is_swept: bool,
}

impl Pool {
    /// The connection that was used last, if one is still good.
    pub(super) fn take(&self) -> Option<Box<Http1Connection>> {
        loop {
            let (since, mut connection) = self.0.lock().idle.pop_back()?;
            if since.elapsed() >= IDLE {
                self.0.lock().idle.clear();
                return None;
            }
            if connection.is_free() {
                return Some(connection);
            }
        }
    }

    /// Keeps a connection over which a whole response came. Whether it can take another request is looked at when one comes.
    pub(super) fn put(self: &Arc<Self>, connection: Box<Http1Connection>) {
        let mut kept = self.0.lock();
        kept.idle.push_back((Instant::now(), connection));
        if kept.idle.len() > SIZE {
            kept.idle.pop_front();
        }
        if !kept.is_swept {
            // Without a runtime, as when a program ends, there is nothing left to do.
            let Ok(runtime) = Handle::try_current() else {
                return;
            };
            kept.is_swept = true;
            runtime.spawn(sweep(Arc::downgrade(self)));
        }
    }

    /// Lets go of what was idle for too long. When the next may have been, if any is left.
    fn sweep(&self) -> Option<Instant> {
        let mut kept = self.0.lock();
        while let Some((since, _)) = kept.idle.front() {
            if since.elapsed() < IDLE {
                return Some(*since + IDLE);
            }
            kept.idle.pop_front();
        }
        kept.is_swept = false;
        None
    }
}

/// Ends when nothing is idle, or the pool is gone.
async fn sweep(pool: Weak<Pool>) {
    let mut next = Instant::now() + IDLE;
    loop {
        tokio::time::sleep_until(next).await;
        match pool.upgrade().and_then(|pool| pool.sweep()) {
            Some(at) => next = at,
            None => return,
        }
    }
}

// The body of a response, which drives the connection it comes over and gives it back at its end. Dropped before, it takes the
// connection with it.

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
        // What comes, comes by driving, which goes on when somebody reads on.
        let mut nobody = Context::from_waker(Waker::noop());
        let mut next = |body: &mut Incoming| quietly(|| Pin::new(body).poll_frame(&mut nobody));
        let mut frame = next(&mut body.incoming);
        if frame.is_pending()
            && let Some((connection, _)) = &mut body.over
        {
            // Only what is polled is read.
            connection.drive(context);
            frame = next(&mut body.incoming);
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
