//! One HTTP request to the server, in a session of it. Knows no JSON-RPC ids and no lanes.

use std::sync::Arc;

use arc_swap::ArcSwap;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Response, Uri, header::CONTENT_LENGTH};
use hyper_util::client::proxy::matcher::Matcher;
use tokio::task::AbortHandle;

use super::{HttpSession, session::Renewals};
use crate::{
    link::{
        Endpoint, EndpointError, LinkError, RequestsInFlight,
        remote::{HttpClient, Posted, ServerBody, request},
        tasks::LinkTasks,
    },
    runtime::sync::Guarded,
    wire::{
        MessageFrame, Raw,
        header_params::{HeaderParam, PREFIX},
        header_value, name_key,
    },
};

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// A server and how to address it.
pub(super) struct Server {
    pub(super) client: HttpClient,
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
}

// What a link stands on: the server, the session, and the tasks that run beside the calls.

pub(super) struct HttpShared {
    pub(super) server: Server,
    pub(super) session: ArcSwap<HttpSession>,
    pub(super) renewals: Renewals,
    pub(super) in_flight: RequestsInFlight,
    /// The task that reads the stream of notifications.
    pub(super) listener: Guarded<Option<AbortHandle>>,
    pub(super) tasks: LinkTasks,
}

impl HttpShared {
    pub(super) fn new(server: Server, in_flight: RequestsInFlight, tasks: LinkTasks) -> Self {
        Self {
            server,
            session: ArcSwap::default(),
            renewals: Renewals::default(),
            in_flight,
            listener: Guarded::default(),
            tasks,
        }
    }

    pub(super) fn session(&self) -> Arc<HttpSession> {
        self.session.load_full()
    }
}

// What a request's headers repeat of its body (revision 2026-07-28, Streamable HTTP, "Request Metadata"). They are read from the
// params that are really sent, never taken from a client.

const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");

/// The headers of one request. `mirrored` are the arguments that its tool wants to see there.
pub(super) fn of_request(
    method: &str,
    params: Option<&Raw>,
    mirrored: &[HeaderParam],
) -> HeaderMap {
    let mut headers = HeaderMap::new();
    // A method that no header can carry is none that a server knows.
    if let Ok(value) = HeaderValue::from_str(method) {
        headers.insert(METHOD, value);
    }
    let Some(params) = params else {
        return headers;
    };
    let name = name_key(method).and_then(|key| params.get(key)?.string());
    if let Some(value) = name.as_deref().and_then(encoded) {
        headers.insert(NAME, value);
    }
    if !mirrored.is_empty() {
        let arguments = params.get("arguments");
        for param in mirrored {
            let value = param.value(arguments.as_ref());
            let name = HeaderName::try_from(format!("{PREFIX}{}", param.name));
            if let (Some(value), Ok(name)) = (value.as_deref().and_then(encoded), name) {
                headers.insert(name, value);
            }
        }
    }
    headers
}

fn encoded(text: &str) -> Option<HeaderValue> {
    HeaderValue::from_str(&header_value::encode(text)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::header_params;

    #[track_caller]
    fn check(method: &str, params: &str, expected: &[(&str, &str)]) {
        let schema = r#"{"properties":{"region":{"type":"string","x-mcp-header":"Region"},"n":{"type":"integer","x-mcp-header":"N"}}}"#;
        let schema = Raw::parse_str(schema).expect("JSON");
        let mirrored = header_params::read(&schema).expect("a good schema");
        let params = Raw::parse_str(params).expect("JSON");
        let made = of_request(method, Some(&params), &mirrored);
        let mut made: Vec<_> = made
            .iter()
            .map(|(name, value)| (name.as_str(), value.to_str().expect("plain")))
            .collect();
        made.sort_unstable();
        assert_eq!(made, expected);
    }

    #[test]
    fn headers_repeat_what_the_body_says() {
        check(
            "tools/call",
            r#"{"name":"where","arguments":{"region":" gr\u00fcn","n":-7}}"#,
            &[
                ("mcp-method", "tools/call"),
                ("mcp-name", "where"),
                ("mcp-param-n", "-7"),
                ("mcp-param-region", "=?base64?IGdyw7xu?="),
            ],
        );
        check(
            "tools/call",
            r#"{"name":"x","arguments":{"region":null}}"#,
            &[("mcp-method", "tools/call"), ("mcp-name", "x")],
        );
        check(
            "resources/read",
            r#"{"uri":"file:///a b","name":"other"}"#,
            &[
                ("mcp-method", "resources/read"),
                ("mcp-name", "file:///a b"),
            ],
        );
        check(
            "tasks/cancel",
            r#"{"taskId":"t1"}"#,
            &[("mcp-method", "tasks/cancel"), ("mcp-name", "t1")],
        );
        check(
            "tools/list",
            r#"{"name":"x"}"#,
            &[("mcp-method", "tools/list")],
        );
        check("a\nb", "{}", &[]);
    }
}
