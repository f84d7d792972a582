//! HTTP requests to one server: what all of them bear, and why one failed.

use std::{error::Error, time::Duration};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Request, Response, Uri, header};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper_util::{
    client::{legacy, proxy::matcher::Matcher},
    rt::{TokioExecutor, TokioTimer},
};

use super::{Endpoint, EndpointError, Posted, Refusal, dial::Dialer};
use crate::{secret::Secret, upstream::link::LinkError};

/// Common servers close a connection that was idle for 5 s. Ours has to be the first to let go: a request that meets the close
/// is lost, and must not be sent again.
const POOL_IDLE: Duration = Duration::from_secs(4);

/// Limit: idle connections that are kept after a burst.
const POOL_SIZE: usize = 64;

/// Limit: characters of an error page that an operator gets to see.
const EXCERPT: usize = 200;

/// The way to a server, with what every request to it bears.
pub(crate) struct Client {
    http: legacy::Client<Dialer, Full<Bytes>>,
    headers: HeaderMap,
    /// What must not show in texts, should the server repeat it.
    secrets: Vec<Secret>,
}

impl Client {
    /// Prepares the way to an endpoint, whose address comes back without user and password.
    pub(crate) fn new(
        endpoint: &Endpoint,
        proxies: &Matcher,
    ) -> Result<(Self, Uri), EndpointError> {
        let (uri, mut headers) = endpoint.parse()?;
        let dialer = Dialer::new(endpoint, &uri, proxies)?;
        if let Some(credentials) = dialer.proxy_credentials(&uri) {
            headers.insert(header::PROXY_AUTHORIZATION, credentials.clone());
        }
        let http = legacy::Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(POOL_IDLE)
            .pool_max_idle_per_host(POOL_SIZE)
            .build(dialer);
        let client = Self {
            http,
            headers,
            secrets: secrets(endpoint),
        };
        Ok((client, uri))
    }

    /// A request with the headers that every request bears.
    pub(crate) fn request(&self, method: Method, uri: &Uri, body: Bytes) -> Request<Full<Bytes>> {
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = method;
        *request.uri_mut() = uri.clone();
        *request.headers_mut() = self.headers.clone();
        request
    }

    /// A request that posts one message.
    pub(crate) fn message(&self, uri: &Uri, message: Bytes) -> Request<Full<Bytes>> {
        let mut request = self.request(Method::POST, uri, message);
        request.headers_mut().insert(
            header::CONTENT_TYPE,
            HeaderValue::from_static("application/json"),
        );
        request
    }

    /// A request for a stream of events.
    pub(crate) fn stream(&self, uri: &Uri) -> Request<Full<Bytes>> {
        let mut request = self.request(Method::GET, uri, Bytes::new());
        request.headers_mut().insert(
            header::ACCEPT,
            HeaderValue::from_static("text/event-stream"),
        );
        request
    }

    /// Sends a request and tells success from refusal.
    pub(crate) async fn submit(&self, request: Request<Full<Bytes>>) -> Result<Posted, LinkError> {
        let response = self.send(request).await?;
        if response.status().is_success() {
            return Ok(Posted::Accepted(response));
        }
        Ok(Posted::Refused(Refusal::read(response, self).await))
    }

    /// Sends a request.
    pub(crate) async fn send(
        &self,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, LinkError> {
        self.http
            .request(request)
            .await
            .map_err(|error| failure(&error))
    }

    /// The beginning of a text of the server's, without our secrets.
    pub(crate) fn excerpt(&self, text: &[u8]) -> String {
        let beginning = text.get(..EXCERPT * 64).unwrap_or(text);
        let mut text = String::from_utf8_lossy(beginning).into_owned();
        for secret in &self.secrets {
            if text.contains(secret.reveal()) {
                text = text.replace(secret.reveal(), crate::secret::MASK);
            }
        }
        let visible = |c: char| if c.is_control() { ' ' } else { c };
        let mut short: String = text.trim().chars().map(visible).take(EXCERPT + 1).collect();
        if short.chars().count() > EXCERPT {
            short.pop();
            short.push('…');
        }
        short
    }
}

/// The values of the configured headers, also without the word before them (`Bearer …`), longest first.
fn secrets(endpoint: &Endpoint) -> Vec<Secret> {
    let values = endpoint.headers.iter().map(|(_, value)| value.reveal());
    let mut secrets: Vec<Secret> = values
        .flat_map(|value| {
            let bare = value.split_once(' ').map_or(value, |(_, bare)| bare);
            [value, bare]
        })
        // Shorter ones are no secrets, and would be found in any text.
        .filter(|value| value.len() >= 6)
        .map(Secret::new)
        .collect();
    secrets.sort_by_key(|secret| std::cmp::Reverse(secret.reveal().len()));
    secrets
}

/// Only a connection that never came about leaves no doubt that the request was not processed.
fn failure(error: &legacy::Error) -> LinkError {
    let text = chain(error.source().unwrap_or(error));
    if error.is_connect() {
        LinkError::NotDelivered(text)
    } else {
        LinkError::Lost(text)
    }
}

/// An error with its causes, none said twice.
pub(super) fn chain(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        cause = error.source();
    }
    text
}

/// Whether a response says that it is an event stream.
pub(crate) fn is_event_stream(headers: &HeaderMap) -> bool {
    const KIND: &[u8] = b"text/event-stream";
    headers
        .get(header::CONTENT_TYPE)
        .and_then(|kind| kind.as_bytes().get(..KIND.len()))
        .is_some_and(|kind| kind.eq_ignore_ascii_case(KIND))
}
