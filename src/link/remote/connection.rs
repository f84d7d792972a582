//! One HTTP/1.1 connection, driven by its user of the moment: its request, its response and its body are the business of one
//! task, so no message has to change hands between tasks, let alone threads.
//!
//! Only [`Http1Connection::drive`] has anything to wait for. What it brings is looked for after it, by whoever called it; so nobody
//! else's waker is left behind, and a task does not wake itself to run once more for nothing.

use std::{
    future::poll_fn,
    pin::{Pin, pin},
    task::{Context, Poll, Waker},
};

use http::{Request, Response};
use hyper::{
    body::Incoming,
    client::conn::http1::{self, SendRequest},
};
use hyper_util::client::legacy::connect::Connection as _;
use tokio::task::coop::unconstrained;

use super::{dial::Stream, message_body::MessageBody};

/// A connection that is open, as far as is known.
pub(super) struct Http1Connection {
    sender: SendRequest<MessageBody>,
    /// Reads and writes; gone when the connection has ended.
    driver: Option<http1::Connection<Stream, MessageBody>>,
    /// The other end is a proxy that takes whole requests.
    forwarded: bool,
}

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

    /// Whether requests are to bear the whole address.
    pub(super) fn is_forwarded(&self) -> bool {
        self.forwarded
    }

    /// Sends a request and waits for the head of the response. The body comes as this is driven on.
    pub(super) async fn exchange(
        &mut self,
        request: Request<MessageBody>,
    ) -> Result<Response<Incoming>, Unanswered> {
        // Without a budget: one that is spent would wake nobody here.
        let mut response = pin!(unconstrained(self.sender.try_send_request(request)));
        let driver = &mut self.driver;
        let response = poll_fn(|context| {
            drive(driver, context);
            response
                .as_mut()
                .poll(&mut Context::from_waker(Waker::noop()))
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
