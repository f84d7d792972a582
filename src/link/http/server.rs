//! One HTTP request to the server, in a session of it. Knows no JSON-RPC ids and no lanes.

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Response, Uri, header::CONTENT_LENGTH};
use hyper_util::client::proxy::matcher::Matcher;

use super::session::HttpSession;
use crate::{
    link::{
        LinkError,
        remote::{Endpoint, EndpointError, HttpClient, Posted, ServerBody, request},
    },
    wire::MessageFrame,
};

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// A server and how to address it.
pub(super) struct Server {
    client: HttpClient,
    uri: Uri,
}

impl Server {
    pub(super) fn new(endpoint: &Endpoint, proxies: &Matcher) -> Result<Self, EndpointError> {
        let (client, uri) = HttpClient::new(endpoint, proxies)?;
        Ok(Self { client, uri })
    }

    /// Posts one message, with headers of its own.
    pub(super) async fn post(
        &self,
        session: &HttpSession,
        message: &MessageFrame,
        headers: &HeaderMap,
    ) -> Result<Posted, LinkError> {
        let of_all = session.of_messages(|| self.client.message_headers());
        let posting = || {
            let mut all = of_all.clone();
            for (name, value) in headers {
                all.insert(name, value.clone());
            }
            all.insert(CONTENT_LENGTH, message.size().into());
            request(Method::POST, &self.uri, all, message.clone())
        };
        self.client.submit(posting).await
    }

    /// Opens a stream of events, after the given one.
    pub(super) async fn get(
        &self,
        session: &HttpSession,
        last_id: Option<&Bytes>,
    ) -> Result<Response<ServerBody>, LinkError> {
        let mut request = self.client.stream(&self.uri);
        let headers = request.headers_mut();
        session.stamp(headers);
        if let Some(id) = last_id.and_then(|id| HeaderValue::from_bytes(id).ok()) {
            headers.insert(LAST_EVENT_ID, id);
        }
        self.client.send(|| request.clone()).await
    }

    /// Ends a session.
    pub(super) async fn delete(&self, session: &HttpSession) -> Result<(), LinkError> {
        let mut request = self.client.request(Method::DELETE, &self.uri, Bytes::new());
        session.stamp(request.headers_mut());
        self.client.send(|| request.clone()).await.map(drop)
    }

    /// The beginning of a text of the server's, without our secrets.
    pub(super) fn excerpt(&self, text: &[u8]) -> String {
        self.client.excerpt(text)
    }
}
