//! One HTTP request to the server, and what the head of the response says about it. Knows no JSON-RPC ids and no lanes.

use std::{error::Error, time::Duration};

use bytes::Bytes;
use http::{
    HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, Uri, header,
};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper_util::{
    client::{
        legacy::{self, Client},
        proxy::matcher::Matcher,
    },
    rt::{TokioExecutor, TokioTimer},
};

use super::{Endpoint, EndpointError, dial::Dialer, reply::Whole, session::Session};
use crate::{secret::Secret, upstream::link::LinkError};

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// Common servers close a connection that was idle for 5 s. Ours has to be the first to let go: a request that meets the close
/// is lost, and must not be sent again.
const POOL_IDLE: Duration = Duration::from_secs(4);

/// Limit: idle connections that are kept after a burst.
const POOL_SIZE: usize = 64;

/// Limit: characters of an error page that an operator gets to see.
const EXCERPT: usize = 200;

/// A server and how to address it.
pub(super) struct Server {
    client: Client<Dialer, Full<Bytes>>,
    uri: Uri,
    headers: HeaderMap,
    /// What must not show in texts, should the server repeat it.
    secrets: Vec<Secret>,
}

impl Server {
    pub(super) fn new(endpoint: &Endpoint, proxies: &Matcher) -> Result<Self, EndpointError> {
        let (uri, mut headers) = endpoint.parse()?;
        let dialer = Dialer::new(endpoint, &uri, proxies)?;
        if let Some(credentials) = dialer.proxy_credentials(&uri) {
            headers.insert(header::PROXY_AUTHORIZATION, credentials.clone());
        }
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(POOL_IDLE)
            .pool_max_idle_per_host(POOL_SIZE)
            .build(dialer);
        Ok(Self {
            client,
            uri,
            headers,
            secrets: secrets(endpoint),
        })
    }

    /// Posts one message.
    pub(super) async fn post(
        &self,
        session: &Session,
        message: Bytes,
    ) -> Result<Posted, LinkError> {
        let mut request = self.request(Method::POST, session, message);
        request.headers_mut().insert(
            header::CONTENT_TYPE,
            HeaderValue::from_static("application/json"),
        );
        let response = self.send(request).await?;
        if response.status().is_success() {
            return Ok(Posted::Accepted(response));
        }
        Ok(Posted::Refused(self.refusal(response).await))
    }

    /// Opens a stream of events, after the given one.
    pub(super) async fn get(
        &self,
        session: &Session,
        last_id: Option<&Bytes>,
    ) -> Result<Response<Incoming>, LinkError> {
        let mut request = self.request(Method::GET, session, Bytes::new());
        let headers = request.headers_mut();
        headers.insert(
            header::ACCEPT,
            HeaderValue::from_static("text/event-stream"),
        );
        if let Some(id) = last_id.and_then(|id| HeaderValue::from_bytes(id).ok()) {
            headers.insert(LAST_EVENT_ID, id);
        }
        self.send(request).await
    }

    /// Ends a session.
    pub(super) async fn delete(&self, session: &Session) -> Result<(), LinkError> {
        let request = self.request(Method::DELETE, session, Bytes::new());
        self.send(request).await.map(drop)
    }

    fn request(&self, method: Method, session: &Session, body: Bytes) -> Request<Full<Bytes>> {
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = method;
        *request.uri_mut() = self.uri.clone();
        *request.headers_mut() = self.headers.clone();
        session.stamp(request.headers_mut());
        request
    }

    async fn send(&self, request: Request<Full<Bytes>>) -> Result<Response<Incoming>, LinkError> {
        self.client
            .request(request)
            .await
            .map_err(|error| failure(&error))
    }

    async fn refusal(&self, response: Response<Incoming>) -> Refusal {
        let status = response.status();
        let target = response.headers().get(header::LOCATION).cloned();
        // The status is what counts: a body that cannot be read says nothing more.
        let body = Whole::of(response).read().await.unwrap_or_default();
        let text = match target.filter(|_| status.is_redirection()) {
            Some(target) => self.excerpt(redirected(&target).as_bytes()),
            None => self.excerpt(&body),
        };
        Refusal { status, body, text }
    }

    /// The beginning of a text of the server's, without our secrets.
    pub(super) fn excerpt(&self, text: &[u8]) -> String {
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

/// What became of a message that was posted.
pub(super) enum Posted {
    /// The server took it; what it says is in the response.
    Accepted(Response<Incoming>),
    /// The server did not.
    Refused(Refusal),
}

/// A response whose status is no success.
pub(super) struct Refusal {
    pub(super) status: StatusCode,
    pub(super) body: Bytes,
    text: String,
}

impl Refusal {
    /// The refusal as an error.
    pub(super) fn into_error(self) -> LinkError {
        LinkError::Status {
            status: self.status.as_u16(),
            text: self.text,
        }
    }
}

/// Where a server that moved is now. Without user and query, which may hold secrets.
fn redirected(target: &HeaderValue) -> String {
    let target = target.to_str().ok().and_then(|t| t.parse::<Uri>().ok());
    let Some(target) = target else {
        return "it redirects, which is not followed".to_owned();
    };
    let origin = match (target.scheme_str(), target.host(), target.port()) {
        (Some(scheme), Some(host), Some(port)) => format!("{scheme}://{host}:{port}"),
        (Some(scheme), Some(host), None) => format!("{scheme}://{host}"),
        _ => String::new(),
    };
    format!(
        "it redirects to {origin}{}, which is not followed",
        target.path()
    )
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
pub(super) fn is_event_stream(headers: &HeaderMap) -> bool {
    const KIND: &[u8] = b"text/event-stream";
    headers
        .get(header::CONTENT_TYPE)
        .and_then(|kind| kind.as_bytes().get(..KIND.len()))
        .is_some_and(|kind| kind.eq_ignore_ascii_case(KIND))
}
