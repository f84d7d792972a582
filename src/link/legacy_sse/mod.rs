//! The link over HTTP+SSE, the remote transport of revision 2024-11-05: one stream on which everything comes, and an address, named
//! by the stream, to which everything is posted.
//!
//! Like a pipe it has a table of requests in flight and a reader that sorts; each POST is a task, because some servers answer one
//! only when the request is done. The stream is the session: when it ends, the link is over.

mod address;
mod post;
mod reader;
#[cfg(test)]
mod tests;

use std::{sync::Arc, time::Duration};

use arc_swap::ArcSwap;
use bytes::Bytes;
use http::Uri;
use hyper_util::client::proxy::matcher::Matcher;
use tokio::sync::mpsc;
use tokio_util::{
    sync::{CancellationToken, DropGuard},
    task::AbortOnDropHandle,
};

use self::reader::StreamReader;
use super::{
    Connection, Endpoint, EndpointError, LinkError, Noise, Purpose, RequestsInFlight, news_queue,
    remote::HttpClient, sorter::Sorter, tasks::LinkTasks,
};
use crate::{
    link::Slot,
    telemetry::log_context::LoggedWork,
    text::Secrets,
    wire::{Id, Outcome, Raw, RequestNumbers, notification_frame, request_frame, response_frame},
};

/// Limit: messages that came in responses to POSTs and wait for the reader.
const POST_ANSWERS: usize = 64;

/// The link. Cheap to clone.
#[derive(Clone)]
pub struct LegacySseLink {
    shared: Arc<LegacySseShared>,
}

/// Why there is no stream.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StreamOpenError {
    /// The settings cannot be used.
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
    /// The server did not open one.
    #[error(transparent)]
    Link(#[from] LinkError),
}

/// Opens the stream and waits for the address to post to. Proxies are those of the environment, as for Streamable HTTP.
pub async fn connect(
    endpoint: &Endpoint,
    numbers: RequestNumbers,
    noise: Noise,
) -> Result<Connection<LegacySseLink>, StreamOpenError> {
    connect_through(endpoint, &Matcher::from_env(), numbers, noise).await
}

async fn connect_through(
    endpoint: &Endpoint,
    proxies: &Matcher,
    numbers: RequestNumbers,
    noise: Noise,
) -> Result<Connection<LegacySseLink>, StreamOpenError> {
    let (client, uri) = HttpClient::new(endpoint, proxies)?;
    let (events, address) = reader::open(&client, &uri).await?;
    let (news_in, news) = news_queue();
    let (answered, answers) = mpsc::channel(POST_ANSWERS);
    let shared = Arc::new(LegacySseShared {
        client,
        uri,
        address: ArcSwap::from_pointee(address),
        in_flight: RequestsInFlight::new(numbers, news_in),
        answered,
        tasks: LinkTasks::new(CancellationToken::new()),
    });
    let reader = StreamReader::new(shared.clone(), events, answers, Sorter::new(noise));
    Ok(Connection {
        link: LegacySseLink { shared },
        news,
        tasks: vec![AbortOnDropHandle::new(tokio::spawn(reader.run()))],
    })
}

impl LegacySseLink {
    /// Sends a request; see [`super::Link::call`]. Comes back when the server has taken it, or when something has come for it.
    pub(super) async fn call(
        &self,
        number: u64,
        method: &str,
        params: Option<&Raw>,
        purpose: Purpose,
    ) -> Result<LegacySseExchange, LinkError> {
        let shared = &self.shared;
        let slot = shared.in_flight.insert(number, purpose)?;
        let (delivered, settled) = (CancellationToken::new(), CancellationToken::new());
        let exchange = LegacySseExchange {
            shared: shared.clone(),
            number,
            slot,
            quiet: false,
            delivered: delivered.clone(),
            _settled: settled.clone().drop_guard(),
        };
        let frame = request_frame(&Id::ours(number), method, params).joined();
        let posting = shared
            .clone()
            .post_request(number, frame, delivered, settled);
        shared.tasks.spawn(posting.logged_here());
        tokio::select! {
            biased;
            () = exchange.slot.stirred() => (),
            () = exchange.delivered.cancelled() => (),
            () = tokio::time::sleep(TAKING) => (),
        }
        match exchange.slot.failure() {
            None => Ok(exchange),
            Some(error) => Err(error),
        }
    }

    /// Sends a notification; comes back when the server has taken it.
    pub async fn notify(&self, method: &str, params: Option<&Raw>) -> Result<(), LinkError> {
        self.shared.tell(notification_frame(method, params)).await
    }

    pub(super) fn in_flight(&self) -> &RequestsInFlight {
        &self.shared.in_flight
    }

    pub(super) fn tasks(&self) -> &LinkTasks {
        &self.shared.tasks
    }

    /// See [`super::Link::secrets`].
    pub(super) fn secrets(&self) -> Secrets {
        self.shared.client.secrets()
    }

    /// Answers a question.
    pub async fn answer(&self, id: &Id, outcome: &Outcome) -> Result<(), LinkError> {
        let frame = response_frame(id, outcome);
        self.shared.tell(frame).await
    }

    /// Ends the stream, and with it the session. Requests in flight fail.
    pub async fn close(&self) {
        self.shared.end("the link was closed");
        self.shared.tasks.idle().await;
    }
}

// What the reader and the callers of a link stand on: the server and its addresses, the requests in flight, and the end.

struct LegacySseShared {
    client: HttpClient,
    /// Where the stream comes from.
    uri: Uri,
    /// Where messages are posted.
    address: ArcSwap<Uri>,
    in_flight: RequestsInFlight,
    /// Messages that came in the response to a POST, on their way to the reader, which sorts them.
    answered: mpsc::Sender<Bytes>,
    tasks: LinkTasks,
}

impl LegacySseShared {
    /// Ends the link: everything in flight fails, and nothing more is sent. The first reason counts.
    fn end(&self, reason: &str) {
        self.in_flight.close(&LinkError::Lost(reason.into()));
        self.tasks.end(reason);
    }
}

// One forwarded request: the stream of what comes back for it, and its withdrawal when the caller leaves before the answer.

/// A withdrawal waits so long for its request to arrive first. Not longer, because some servers take a request only when it is done.
const HEAD_START: Duration = Duration::from_secs(1);

/// How long a caller waits for the server to take the request. Later the request may still be answered, but it is too late to send it
/// again elsewhere; longer than a connection may take.
const TAKING: Duration = Duration::from_secs(15);

/// The stream of one request. Dropping it before the answer cancels the request upstream.
pub struct LegacySseExchange {
    shared: Arc<LegacySseShared>,
    number: u64,
    slot: Arc<Slot>,
    /// The server does not hear of a withdrawal.
    quiet: bool,
    /// Cancelled when the request has been posted.
    delivered: CancellationToken,
    /// Ends the posting when the request is over.
    _settled: DropGuard,
}

impl LegacySseExchange {
    /// See [`crate::link::Exchange::leave_quietly`].
    pub(in crate::link) fn leave_quietly(&mut self) {
        self.quiet = true;
    }

    pub(in crate::link) fn slot(&self) -> &Slot {
        &self.slot
    }
}

impl Drop for LegacySseExchange {
    fn drop(&mut self) {
        // A request that was answered, or has failed, is not in the table any more.
        if !self.shared.in_flight.leave(self.number, &self.slot) || self.quiet {
            return;
        }
        let (shared, number) = (self.shared.clone(), self.number);
        let delivered = self.delivered.clone();
        let withdrawal = async move {
            let _ = tokio::time::timeout(HEAD_START, delivered.cancelled()).await;
            shared.withdraw(number).await;
        };
        self.shared.tasks.spawn(withdrawal.logged_here());
    }
}
