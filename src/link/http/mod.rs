//! The link over Streamable HTTP, to servers with sessions (revisions 2025-03-26 to 2025-11-25) and to stateless ones (2026-07-28).
//!
//! A call is one POST whose response is its stream. The task of the caller reads it, so there is no reader task; the table of requests
//! in flight only decides which client gets a question that comes outside of the calls' streams. Other tasks read the stream of
//! notifications, renew the session and withdraw requests; all end with the link.

mod exchange;
mod listen;
mod post;
mod pull;
mod renewal;
mod server;
mod session;
#[cfg(test)]
mod tests;

use std::{pin::pin, sync::Arc};

use http::HeaderMap;
use hyper_util::client::proxy::matcher::Matcher;
use tokio_util::sync::{CancellationToken, DropGuard};

pub use self::exchange::HttpExchange;
use self::{
    exchange::Withdrawal,
    server::{HttpShared, Server, of_request},
    session::HttpSession,
};
use super::{
    Connection, Endpoint, EndpointError, LinkError, Maker, Purpose, RequestsInFlight, news_queue,
    remote::GOODBYE, tasks::LinkTasks,
};
use crate::{
    text::Secrets,
    wire::{
        Id, Outcome, Raw, RequestNumbers, Revision, header_params::HeaderParam, method,
        notification_frame, request_frame, response_frame,
    },
};

/// The link. Cheap to clone; when the last clone is gone, its tasks end.
#[derive(Clone)]
pub struct HttpLink {
    shared: Arc<HttpShared>,
    /// Tasks of the link hold `shared` only, so this goes when nobody uses the link any more.
    _alive: Arc<DropGuard>,
}

/// Prepares a link. Nothing is sent yet. Proxies are those of the environment (`HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY`, `NO_PROXY`).
pub fn connect(
    endpoint: &Endpoint,
    numbers: RequestNumbers,
) -> Result<Connection<HttpLink>, EndpointError> {
    connect_through(endpoint, &Matcher::from_env(), numbers)
}

fn connect_through(
    endpoint: &Endpoint,
    proxies: &Matcher,
    numbers: RequestNumbers,
) -> Result<Connection<HttpLink>, EndpointError> {
    let server = Server::new(endpoint, proxies)?;
    let (news_in, news) = news_queue();
    let closed = CancellationToken::new();
    let alive = closed.clone().drop_guard();
    let link = HttpLink {
        shared: Arc::new(HttpShared::new(
            server,
            RequestsInFlight::new(numbers, news_in),
            LinkTasks::new(closed),
        )),
        _alive: Arc::new(alive),
    };
    Ok(Connection {
        link,
        news,
        // They end with the last clone of the link.
        tasks: Vec::new(),
    })
}

impl HttpLink {
    /// From here on requests are stateless, as this revision wants it; with `None`, they belong to a session that
    /// `initialize` opens.
    pub fn speak(&self, revision: Option<Revision>) {
        let session = HttpSession::speaking(&self.shared.session(), revision);
        self.shared.session.store(Arc::new(session));
    }

    /// Opens the session; see [`super::Link::initialize`].
    pub(super) async fn initialize(&self, params: &Raw) -> Result<Outcome, LinkError> {
        let id = Id::ours(self.in_flight().next_number());
        let frame = request_frame(&id, method::INITIALIZE, Some(params)).joined();
        // Boxed, because it is large and seldom.
        let mut opening = Box::pin(self.shared.open(id, frame));
        self.shared.tasks.unless_closed(opening.as_mut()).await
    }

    /// See [`super::Link::initialized`].
    pub(super) async fn initialized(&self) -> Result<(), LinkError> {
        let frame = notification_frame(method::INITIALIZED, None);
        let session = self.shared.session();
        let sent = self.shared.tell(&session, frame);
        self.shared.tasks.unless_closed(pin!(sent)).await?;
        self.shared.listen().await;
        Ok(())
    }

    /// Ends every task of the link, and the session if there is one. Requests in flight fail.
    pub async fn close(&self) {
        let shared = &self.shared;
        let session = shared.session();
        let is_first = shared.tasks.end("the link was closed");
        shared.tasks.idle().await;
        if is_first && session.has_id() {
            // A server need not allow this, and forgets the session by itself some day.
            let _ = tokio::time::timeout(GOODBYE, shared.server.delete(&session)).await;
        }
    }

    /// Sends a request; see [`super::Link::call`].
    pub(super) async fn call(
        &self,
        number: u64,
        method: &str,
        params: Option<&Raw>,
        mirrored: &[HeaderParam],
        purpose: Purpose,
        maker: Maker,
    ) -> Result<HttpExchange, LinkError> {
        let id = Id::ours(number);
        let frame = request_frame(&id, method, params);
        // Where requests are stateless, nothing comes but on their own streams.
        let (headers, slot) = if self.shared.session().is_stateless() {
            (of_request(method, params, mirrored), None)
        } else {
            let slot = self.shared.in_flight.insert(number, purpose)?;
            (HeaderMap::new(), Some(slot))
        };
        let mut withdrawal = Withdrawal::new(self.clone(), number, slot);
        let sent = {
            let sent_in = &mut withdrawal.sent_in;
            let request = pin!(self.shared.request(&id, frame, &headers, maker, sent_in));
            self.shared.tasks.unless_closed(request).await
        };
        match sent {
            Ok(pull) => Ok(HttpExchange::new(pull, withdrawal)),
            Err(error) => {
                withdrawal.failed(&error);
                Err(error)
            }
        }
    }

    /// Sends a notification; comes back when the server has taken it.
    pub async fn notify(&self, method: &str, params: Option<&Raw>) -> Result<(), LinkError> {
        let frame = notification_frame(method, params);
        let notified = pin!(self.shared.notify(frame));
        self.shared.tasks.unless_closed(notified).await
    }

    /// The HTTP status with which the server refused to open a session, be it with or without a JSON-RPC error. Servers of the older
    /// transport refuse with 400, 404 or 405.
    pub fn refused_with(&self) -> Option<u16> {
        self.shared.refused_with()
    }

    /// Whether the server gave it a session.
    pub fn has_session(&self) -> bool {
        self.shared.session().has_id()
    }

    /// See [`super::Link::session_number`].
    pub(super) fn session_number(&self) -> u64 {
        self.shared.session().number
    }

    /// See [`super::Link::lists_read_in`].
    pub(super) fn lists_read_in(&self, number: u64) {
        let session = self.shared.session();
        if session.number == number {
            session.lists_read();
        }
    }

    pub(super) fn in_flight(&self) -> &RequestsInFlight {
        &self.shared.in_flight
    }

    /// See [`super::Link::secrets`].
    pub(super) fn secrets(&self) -> Secrets {
        self.shared.server.client.secrets()
    }

    pub(super) fn tasks(&self) -> &LinkTasks {
        &self.shared.tasks
    }

    /// Answers a question. A question dies with its session, so the answer is not sent in another.
    pub async fn answer(&self, id: &Id, outcome: &Outcome) -> Result<(), LinkError> {
        let frame = response_frame(id, outcome);
        let session = self.shared.session();
        let sent = self.shared.tell(&session, frame);
        self.shared.tasks.unless_closed(pin!(sent)).await
    }
}
