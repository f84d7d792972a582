//! A server that answers with whatever a test makes up, and tells the test what it saw.

use std::sync::Arc;

use axum::{
    body::{Body, to_bytes},
    extract::Request,
    response::{IntoResponse, Response},
    serve::ListenerExt,
};
use bytes::Bytes;
use futures_util::{StreamExt, future::BoxFuture, stream};
use http::{HeaderMap, Method, StatusCode, header};
use tokio::{net::TcpListener, sync::mpsc, task::AbortHandle};

use super::{frame_method, soon};
use crate::wire::Message;

/// A request as the server saw it.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) verb: Method,
    pub(crate) target: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Seen {
    /// The JSON-RPC method, or the HTTP verb of what has none.
    pub(crate) fn what(&self) -> String {
        match frame_method(&self.body) {
            method if method.is_empty() => self.verb.to_string(),
            method => method,
        }
    }

    /// The JSON text of the request's id.
    pub(crate) fn id(&self) -> String {
        match Message::parse(&self.body) {
            Ok(Message::Request(request)) => request.id.to_string(),
            _ => "null".to_owned(),
        }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    pub(crate) fn session(&self) -> Option<&str> {
        self.header("mcp-session-id")
    }

    pub(crate) fn mentions(&self, text: &str) -> bool {
        String::from_utf8_lossy(&self.body).contains(text)
    }

    /// An answer to this request.
    pub(crate) fn answer(&self, result: &str) -> String {
        format!(
            r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#,
            self.id()
        )
    }

    /// What a well-behaved server says to this, in the session `s1`, if it is part of opening or closing one.
    pub(crate) fn handshake(&self) -> Option<Response> {
        let result = r#"{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"odd","version":"1"}}"#;
        match self.what().as_str() {
            "initialize" => Some(in_session("s1", json(200, &self.answer(result)))),
            "GET" => Some(empty(405)),
            "DELETE" => Some(empty(200)),
            // A notification, or an answer to a question.
            _ if self.id() == "null" => Some(empty(202)),
            _ => None,
        }
    }
}

/// A server on a port of its own. Ends when it is dropped.
pub(crate) struct OddServer {
    pub(crate) url: String,
    seen: mpsc::UnboundedReceiver<Seen>,
    task: AbortHandle,
}

impl OddServer {
    /// Starts a server that answers with `respond`.
    pub(crate) async fn start<F>(respond: impl Fn(Seen) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Response> + Send + 'static,
    {
        let (saw, seen) = mpsc::unbounded_channel();
        let respond: Arc<dyn Fn(Seen) -> BoxFuture<'static, Response> + Send + Sync> =
            Arc::new(move |seen| Box::pin(respond(seen)));
        let handler = move |request: Request| {
            let (saw, respond) = (saw.clone(), respond.clone());
            async move {
                let (head, body) = request.into_parts();
                let seen = Seen {
                    verb: head.method,
                    target: head.uri.to_string(),
                    headers: head.headers,
                    body: to_bytes(body, 1 << 26).await.unwrap_or_default(),
                };
                let _ = saw.send(seen.clone());
                respond(seen).await
            }
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}/mcp", listener.local_addr().expect("an address"));
        let listener = listener.tap_io(|socket| socket.set_nodelay(true).expect("a socket"));
        let router = axum::Router::new().fallback(handler);
        let serving = tokio::spawn(async move { axum::serve(listener, router).await });
        Self {
            url,
            seen,
            task: serving.abort_handle(),
        }
    }

    /// Starts a server that opens sessions well and answers the rest with `respond`.
    pub(crate) async fn after_handshake(
        respond: impl Fn(&Seen) -> Response + Send + Sync + 'static,
    ) -> Self {
        Self::start(move |seen| {
            let response = seen.handshake().unwrap_or_else(|| respond(&seen));
            async move { response }
        })
        .await
    }

    /// The next request of this JSON-RPC method or HTTP verb.
    pub(crate) async fn sees(&mut self, what: &str) -> Seen {
        soon(async {
            loop {
                let seen = self.seen.recv().await.expect("the server runs");
                if seen.what() == what {
                    return seen;
                }
            }
        })
        .await
    }

    /// Everything that it has seen and no test has asked for.
    pub(crate) fn rest(&mut self) -> Vec<Seen> {
        std::iter::from_fn(|| self.seen.try_recv().ok()).collect()
    }
}

impl Drop for OddServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

pub(crate) fn empty(status: u16) -> Response {
    StatusCode::from_u16(status)
        .expect("a status")
        .into_response()
}

pub(crate) fn json(status: u16, body: &str) -> Response {
    typed(status, "application/json; charset=utf-8", body.to_owned())
}

pub(crate) fn typed(status: u16, kind: &'static str, body: impl Into<Body>) -> Response {
    let status = StatusCode::from_u16(status).expect("a status");
    (status, [(header::CONTENT_TYPE, kind)], body.into()).into_response()
}

pub(crate) fn in_session(id: &'static str, mut response: Response) -> Response {
    let id = http::HeaderValue::from_static(id);
    response.headers_mut().insert("mcp-session-id", id);
    response
}

/// An event stream that comes in these pieces and ends.
pub(crate) fn events(pieces: impl IntoIterator<Item = String>) -> Response {
    let pieces: Vec<String> = pieces.into_iter().collect();
    let body = stream::iter(pieces).then(async |piece| {
        // Or they would be written at once.
        tokio::task::yield_now().await;
        Ok::<_, std::io::Error>(piece)
    });
    typed(200, "text/event-stream", Body::from_stream(body))
}

/// An event stream that comes in these pieces and stays open.
pub(crate) fn open_events(pieces: impl IntoIterator<Item = String>) -> Response {
    let pieces: Vec<_> = pieces.into_iter().map(Ok::<_, std::io::Error>).collect();
    let body = stream::iter(pieces).chain(stream::pending());
    typed(200, "text/event-stream", Body::from_stream(body))
}

/// A body that breaks off after these pieces.
pub(crate) fn broken_off(kind: &'static str, pieces: impl IntoIterator<Item = String>) -> Response {
    let mut pieces: Vec<_> = pieces.into_iter().map(Ok).collect();
    pieces.push(Err(std::io::Error::other("on purpose")));
    let body = stream::iter(pieces).then(async |piece| {
        tokio::task::yield_now().await;
        piece
    });
    typed(200, kind, Body::from_stream(body))
}
