//! A connection to one upstream that carries frames: forwarded requests as they are, and those of our own.
//!
//! A link knows nothing of tools, names or callers. It never reconnects by itself: when it is over, its worker makes a new one.

mod authorization;
mod fetch;
pub mod http;
mod in_flight;
pub mod legacy_sse;
mod link_error;
mod news;
mod owner;
pub mod remote;
mod slot;
mod sorter;
pub mod stdio;
mod tasks;
#[cfg(test)]
mod tests;

use bytes::Bytes;
use futures_util::FutureExt;
use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;

pub use self::{
    authorization::{Authorization, Challenge, LoginHeader},
    fetch::Fetching,
    link_error::LinkError,
    news::{NEWS_CAPACITY, News, NewsSender},
    owner::{ClientKey, ConnectionOwner, Entered, Unattributed},
    remote::{AddressReach, Endpoint, EndpointError, MessageBody},
    sorter::Noise,
};
use self::{
    in_flight::{Purpose, RequestsInFlight},
    news::news_queue,
    slot::Slot,
};
use crate::{
    text::Secrets,
    wire::{
        Id, Notification, Outcome, Raw, Request, Revision, RpcError, header_params::HeaderParam,
        method, notification_frame,
    },
};

/// Limit: largest message an upstream may send. The protocol has no limit; images and files come as base64 in one message.
pub const MAX_FRAME: usize = 64 << 20;

/// The reason for refusing a larger one.
const TOO_LARGE: &str = "it is larger than 64 MiB";

/// A connection. Cheap to clone.
#[derive(Clone)]
pub enum Link {
    /// To a child process.
    Stdio(stdio::StdioLink),
    /// To a Streamable HTTP endpoint.
    Http(http::HttpLink),
    /// To an HTTP+SSE server.
    LegacySse(legacy_sse::LegacySseLink),
}

/// Who makes a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Maker {
    /// A client.
    Client,
    /// A client whose request was sent before, and was certainly not processed then.
    ClientAgain,
    /// We, for no client.
    Ourselves,
}

impl Link {
    /// From here on requests are stateless, as this revision wants it; with `None`, they belong to a connection that
    /// [`Link::initialize`] opens. The requests themselves say so too, and that is the caller's part.
    pub fn speak(&self, revision: Option<Revision>) {
        // Elsewhere what is written says everything.
        if let Some(link) = self.http() {
            link.speak(revision);
        }
    }

    fn http(&self) -> Option<&http::HttpLink> {
        match self {
            Self::Http(link) => Some(link),
            Self::Stdio(_) | Self::LegacySse(_) => None,
        }
    }

    /// Sends `initialize` and waits for the answer. Dropped before, nothing withdraws the request: the protocol forbids it.
    pub async fn initialize(&self, params: &Raw) -> Result<Outcome, LinkError> {
        if let Some(link) = self.http() {
            return link.initialize(params).await;
        }
        let (number, maker) = (self.next_number(), Maker::Ourselves);
        let call = self.call(number, method::INITIALIZE, Some(params), &[], maker);
        let mut exchange = call.await?;
        exchange.leave_quietly();
        loop {
            if let Incoming::Answer(outcome) = exchange.next().await? {
                return Ok(outcome);
            }
        }
    }

    /// Ends the handshake. Over HTTP the server is listened to from here on.
    pub async fn initialized(&self) -> Result<(), LinkError> {
        match self.http() {
            Some(link) => link.initialized().await,
            None => self.notify(method::INITIALIZED, None).await,
        }
    }

    /// Says goodbye in the transport's way: closes the child's input, or ends the session.
    pub async fn close(&self) {
        match self {
            Self::Stdio(link) => link.close(),
            Self::Http(link) => link.close().await,
            Self::LegacySse(link) => link.close().await,
        }
    }

    /// Whose the connection is. A call of a client enters here before it is sent.
    pub fn owner(&self) -> &ConnectionOwner {
        self.in_flight().owner()
    }

    fn in_flight(&self) -> &RequestsInFlight {
        match self {
            Self::Stdio(link) => link.in_flight(),
            Self::Http(link) => link.in_flight(),
            Self::LegacySse(link) => link.in_flight(),
        }
    }

    /// What must not show in texts, should the server repeat it.
    pub fn secrets(&self) -> Secrets {
        match self {
            Self::Stdio(link) => link.secrets(),
            Self::Http(link) => link.secrets(),
            Self::LegacySse(link) => link.secrets(),
        }
    }

    /// The HTTP status with which the server refused to open a session; see [`http::HttpLink::refused_with`].
    pub fn refused_with(&self) -> Option<u16> {
        self.http()?.refused_with()
    }

    /// Whether the server gave the connection a session, as remote servers may.
    pub fn has_session(&self) -> bool {
        self.http().is_none_or(http::HttpLink::has_session)
    }

    /// A number for a request of our own.
    pub fn next_number(&self) -> u64 {
        self.in_flight().next_number()
    }

    /// Where goes what the upstream says that belongs to no request.
    pub fn news(&self) -> &NewsSender {
        self.in_flight().news()
    }

    /// Whether requests have headers.
    pub fn has_headers(&self) -> bool {
        self.http().is_some()
    }

    /// Sends a request with the id [`Id::ours`]`(number)` and gives the stream of what comes back for it. No other request has the
    /// number. `mirrored` are the arguments that go into headers as well. A question or log line that names no request may be
    /// attributed to this one, unless it is one of our own.
    /// May be dropped at any time; a request that was sent is then cancelled upstream.
    pub async fn call(
        &self,
        number: u64,
        method: &str,
        params: Option<&Raw>,
        mirrored: &[HeaderParam],
        maker: Maker,
    ) -> Result<Exchange, LinkError> {
        let purpose = match maker {
            Maker::Client | Maker::ClientAgain => Purpose::of_client(method, params),
            Maker::Ourselves => Purpose::Own,
        };
        match self {
            Self::Stdio(link) => {
                let called = link.call(number, method, params, purpose);
                called.map(Exchange::Stdio)
            }
            // Boxed, because each future around these would be as large, and is moved when it begins.
            Self::Http(link) => {
                let called = Box::pin(link.call(number, method, params, mirrored, purpose, maker));
                let exchange = called.await?;
                Ok(Exchange::Http(Box::new(exchange)))
            }
            Self::LegacySse(link) => {
                let called = Box::pin(link.call(number, method, params, purpose));
                called.await.map(Exchange::LegacySse)
            }
        }
    }

    /// Sends a `subscriptions/listen`, which stands beside the calls: what is attributed to one of them passes it by.
    pub async fn listen(&self, number: u64, params: &Raw) -> Result<Exchange, LinkError> {
        if let Self::Stdio(link) = self {
            let called = link.call(number, method::LISTEN, Some(params), Purpose::Listening);
            return called.map(Exchange::Stdio);
        }
        // Elsewhere announcements come on a stream of their own.
        let maker = Maker::Ourselves;
        self.call(number, method::LISTEN, Some(params), &[], maker)
            .await
    }

    /// The number of the session that it has now; 0 where sessions are not renewed.
    pub fn session_number(&self) -> u64 {
        match self {
            Self::Http(link) => link.session_number(),
            Self::Stdio(_) | Self::LegacySse(_) => 0,
        }
    }

    /// The server's lists were read in the session of this number, and calls are checked against them. Until then, clients' requests
    /// fail in a session that took the place of a lost one.
    pub fn lists_read_in(&self, session_number: u64) {
        if let Self::Http(link) = self {
            link.lists_read_in(session_number);
        }
    }

    /// Sends a notification.
    pub async fn notify(&self, method: &str, params: Option<&Raw>) -> Result<(), LinkError> {
        match self {
            Self::Stdio(link) => link.notify(method, params),
            Self::Http(link) => link.notify(method, params).await,
            Self::LegacySse(link) => link.notify(method, params).await,
        }
    }

    /// Hands a question that named no request to the newest call of the client whose connection this is.
    pub fn attribute(&self, question: &Request) -> Result<(), Unattributed> {
        self.in_flight().attribute_question(question)
    }

    /// Answers a question of the upstream.
    pub async fn answer(&self, id: &Id, outcome: &Outcome) -> Result<(), LinkError> {
        match self {
            Self::Stdio(link) => link.answer(id, outcome),
            Self::Http(link) => link.answer(id, outcome).await,
            Self::LegacySse(link) => link.answer(id, outcome).await,
        }
    }

    /// Refuses a question of the upstream without waiting until the refusal is sent.
    pub fn refuse(&self, id: Id, error: &RpcError) {
        let outcome = Outcome::Error(error.to_raw());
        let link = self.clone();
        self.finish_soon(async move { link.answer(&id, &outcome).await });
    }

    /// Sends an answer to the upstream without waiting until it is sent.
    pub fn finish_soon(
        &self,
        answering: impl Future<Output = Result<(), LinkError>> + Send + 'static,
    ) {
        let answering = async move {
            if let Err(error) = answering.await {
                tracing::debug!(%error, "a question of the server could not be answered");
            }
        };
        match self {
            // Never waits.
            Self::Stdio(_) => drop(answering.now_or_never()),
            Self::Http(link) => drop(link.tasks().spawn(answering)),
            Self::LegacySse(link) => drop(link.tasks().spawn(answering)),
        }
    }
}

/// What comes back for one request, in order, pulled by the caller's own task. Dropping it before the answer cancels the request
/// upstream.
pub enum Exchange {
    /// From a child process.
    Stdio(stdio::StdioExchange),
    /// From a Streamable HTTP endpoint.
    Http(Box<http::HttpExchange>),
    /// From an HTTP+SSE server.
    LegacySse(legacy_sse::LegacySseExchange),
}

impl Exchange {
    /// Sends no withdrawal when this is dropped: for requests whose withdrawal may be more than the server understands.
    pub fn leave_quietly(&mut self) {
        match self {
            Self::Stdio(exchange) => exchange.leave_quietly(),
            // A stream that is closed says so.
            Self::Http(_) => (),
            Self::LegacySse(exchange) => exchange.leave_quietly(),
        }
    }

    /// Nobody reads for a while, so little is kept but the answer; or from now on somebody does again.
    pub fn set_parked(&self, parked: bool) {
        if let Some(slot) = self.slot() {
            slot.set_parked(parked);
        }
    }

    /// Where messages wait. A stream that carries only this request's needs none.
    fn slot(&self) -> Option<&Slot> {
        match self {
            Self::Stdio(exchange) => Some(exchange.slot()),
            Self::Http(exchange) => exchange.slot(),
            Self::LegacySse(exchange) => Some(exchange.slot()),
        }
    }

    /// The next message of this request; the answer is the last. Cancel-safe.
    pub async fn next(&mut self) -> Result<Incoming, LinkError> {
        match self {
            Self::Stdio(exchange) => exchange.slot().next().await,
            Self::Http(exchange) => exchange.next().await,
            Self::LegacySse(exchange) => exchange.slot().next().await,
        }
    }
}

/// A message that belongs to one request.
#[derive(Debug)]
pub enum Incoming {
    /// Progress, a log line, or anything else that wants no answer.
    Notice(Notification),
    /// The upstream asks something on behalf of this request.
    Question(Request),
    /// The end.
    Answer(Outcome),
}

/// A link that was just made, and what hangs on it.
pub struct Connection<L = Link> {
    /// The link.
    pub link: L,
    /// What belongs to no request.
    pub news: mpsc::Receiver<News>,
    /// Tasks of the link; dropping them ends it.
    pub tasks: Vec<AbortOnDropHandle<()>>,
}

impl<L> Connection<L> {
    /// The same as a link of any transport.
    pub fn by(self, transport: impl FnOnce(L) -> Link) -> Connection {
        Connection {
            link: transport(self.link),
            news: self.news,
            tasks: self.tasks,
        }
    }
}

/// Withdraws a request: its client has gone, or its time is over, or it was one of our own.
fn withdrawal_frame(number: u64) -> Bytes {
    let params = Raw::author(&serde_json::json!({
        "requestId": Id::ours(number).to_raw(),
        "reason": "nobody waits for the answer any more",
    }));
    notification_frame(method::CANCELLED, Some(&params))
}
