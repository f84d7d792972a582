//! The link over HTTP+SSE, the remote transport of revision 2024-11-05: one stream on which everything comes, and an address, named
//! by the stream, to which everything is posted.
//!
//! Like a pipe it has a table of requests in flight and a reader that sorts; each POST is a task, because some servers answer one
//! only when the request is done. The stream is the session: when it ends, the link is over.

mod address;
mod exchange;
mod post;
mod reader;
mod shared;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use hyper_util::client::proxy::matcher::Matcher;
use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;

pub use self::exchange::LegacySseExchange;
use self::{reader::StreamReader, shared::LegacySseShared};
use super::{
    Connection, Endpoint, EndpointError, LinkError,
    in_flight::{Purpose, RequestsInFlight},
    news_queue,
    noise::Noise,
    remote::HttpClient,
    sorter::Sorter,
    tasks::LinkTasks,
};
use crate::wire::{Id, Outcome, Raw, RequestNumbers, notification_frame, response_frame};

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
    let shared = Arc::new(LegacySseShared::new(
        client,
        uri,
        address,
        answered,
        RequestsInFlight::new(numbers, news_in),
    ));
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
        LegacySseExchange::begin(&self.shared, number, method, params, purpose).await
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
