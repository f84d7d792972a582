//! Streamable HTTP, of either era, over TCP or over the local socket. Each request has a connection of its own.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{Request, Response, body::Incoming};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpStream, UnixStream},
    sync::Mutex,
};
use tokio_util::task::AbortOnDropHandle;

use super::{OPENED, Outcome, frame, lines::Events, opening};
use crate::support::modern_client::{meta_of, stamped};

/// The revision of clients without a session.
const MODERN: &str = "2026-07-28";

/// The revision of the others.
const LEGACY: &str = "2025-06-18";

/// Where requests go.
#[derive(Debug, Clone)]
pub enum Address {
    Tcp(u16),
    Local(PathBuf),
}

pub struct HttpFace {
    to: Address,
    path: String,
    modern: bool,
    last_id: AtomicU64,
    /// Sessions by endpoint.
    sessions: Mutex<HashMap<String, Arc<Mutex<Option<String>>>>>,
}

/// An answer on its way, with the connection that it comes on.
pub struct Coming {
    pub response: Response<Incoming>,
    _connection: AbortOnDropHandle<()>,
}

impl Coming {
    /// The whole body.
    pub async fn collect(self) -> Result<Bytes, hyper::Error> {
        Ok(self.response.into_body().collect().await?.to_bytes())
    }
}

/// Sends a request on a fresh connection.
pub async fn send(
    to: &Address,
    method: &str,
    path: &str,
    headers: &[(&str, String)],
    body: String,
) -> Result<Coming, String> {
    match to {
        Address::Tcp(port) => {
            let stream = TcpStream::connect(("127.0.0.1", *port)).await;
            let stream = stream.map_err(|error| format!("connect: {error}"))?;
            send_on(
                stream,
                &format!("127.0.0.1:{port}"),
                method,
                path,
                headers,
                body,
            )
            .await
        }
        Address::Local(socket) => {
            let stream = UnixStream::connect(socket).await;
            let stream = stream.map_err(|error| format!("connect: {error}"))?;
            send_on(stream, "mcpproxy", method, path, headers, body).await
        }
    }
}

async fn send_on(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    host: &str,
    method: &str,
    path: &str,
    headers: &[(&str, String)],
    body: String,
) -> Result<Coming, String> {
    let handshake = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await;
    let (mut sender, connection) = handshake.map_err(|error| error.to_string())?;
    let driven = tokio::spawn(async move { drop(connection.await) });
    let connection = AbortOnDropHandle::new(driven);
    let mut request = Request::builder()
        .method(method)
        .uri(path)
        .header("host", host);
    for (name, value) in headers {
        request = request.header(*name, value);
    }
    let request = request.body(Full::new(Bytes::from(body)));
    let response = sender.send_request(request.expect("a good request")).await;
    Ok(Coming {
        response: response.map_err(|error| format!("request: {error}"))?,
        _connection: connection,
    })
}

impl HttpFace {
    pub fn over_tcp(port: u16, path: &str, modern: bool) -> Self {
        Self::new(Address::Tcp(port), path, modern)
    }

    pub fn local(socket: &Path, path: &str, modern: bool) -> Self {
        Self::new(Address::Local(socket.to_owned()), path, modern)
    }

    fn new(to: Address, path: &str, modern: bool) -> Self {
        Self {
            to,
            path: path.to_owned(),
            modern,
            last_id: AtomicU64::new(0),
            sessions: Mutex::default(),
        }
    }

    /// Asks at this endpoint, or at the client's own.
    pub async fn request(&self, path: Option<String>, method: &str, params: &Value) -> Outcome {
        let path = path.unwrap_or_else(|| self.path.clone());
        if self.modern {
            return self.request_modern(&path, method, params).await;
        }
        let slot = {
            let mut sessions = self.sessions.lock().await;
            sessions.entry(path.clone()).or_default().clone()
        };
        let session = match self.session(&path, &slot).await {
            Ok(session) => session,
            Err(outcome) => return outcome,
        };
        let headers = session_headers(&session);
        let id = self.next_id();
        let body = frame(id, method, &params.to_string());
        let outcome = self.exchange(&path, &headers, id, body).await;
        if let Outcome::Wrong(_) = outcome {
            // It may be that the session is no more.
            *slot.lock().await = None;
        }
        outcome
    }

    async fn request_modern(&self, path: &str, method: &str, params: &Value) -> Outcome {
        let id = self.next_id();
        let params_text = stamped(&params.to_string(), &meta_of(&json!({})));
        let mut headers = vec![
            ("mcp-protocol-version", MODERN.to_owned()),
            ("mcp-method", method.to_owned()),
        ];
        if let Some(name) = params["name"].as_str() {
            headers.push(("mcp-name", name.to_owned()));
        }
        let body = frame(id, method, &params_text);
        self.exchange(path, &headers, id, body).await
    }

    /// The session, opened if there is none.
    async fn session(&self, path: &str, slot: &Mutex<Option<String>>) -> Result<String, Outcome> {
        let mut slot = slot.lock().await;
        if let Some(session) = &*slot {
            return Ok(session.clone());
        }
        let id = self.next_id();
        let body = frame(id, "initialize", &opening(LEGACY).to_string());
        let coming = self.post(path, &[], body).await;
        let coming = coming.map_err(Outcome::Disconnected)?;
        let session = coming.response.headers().get("mcp-session-id");
        let session = session.and_then(|id| id.to_str().ok()).map(str::to_owned);
        match answer_of(coming, id).await {
            Outcome::Answer(frame) if frame["result"].is_object() => (),
            other => return Err(other),
        }
        let Some(session) = session else {
            return Err(Outcome::Wrong("initialize gave no session".to_owned()));
        };
        let headers = session_headers(&session);
        let told = self.post(path, &headers, OPENED.to_owned()).await;
        told.map_err(Outcome::Disconnected)?;
        *slot = Some(session.clone());
        Ok(session)
    }

    async fn exchange(
        &self,
        path: &str,
        headers: &[(&str, String)],
        id: u64,
        body: String,
    ) -> Outcome {
        match self.post(path, headers, body).await {
            Ok(coming) => answer_of(coming, id).await,
            Err(why) => Outcome::Disconnected(why),
        }
    }

    async fn post(
        &self,
        path: &str,
        headers: &[(&str, String)],
        body: String,
    ) -> Result<Coming, String> {
        let mut all = vec![
            ("content-type", "application/json".to_owned()),
            ("accept", "application/json, text/event-stream".to_owned()),
        ];
        all.extend_from_slice(headers);
        send(&self.to, "POST", path, &all, body).await
    }

    fn next_id(&self) -> u64 {
        self.last_id.fetch_add(1, Ordering::Relaxed) + 1
    }
}

fn session_headers(session: &str) -> Vec<(&'static str, String)> {
    vec![
        ("mcp-session-id", session.to_owned()),
        ("mcp-protocol-version", LEGACY.to_owned()),
    ]
}

/// Reads the answer to this id, from a body or from a stream.
async fn answer_of(coming: Coming, id: u64) -> Outcome {
    let status = coming.response.status().as_u16();
    let kind = coming.response.headers().get("content-type");
    let streamed = kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"));
    let mut body = coming.response.into_body();
    let (mut whole, mut events) = (Vec::new(), Events::default());
    while let Some(piece) = body.frame().await {
        let piece = match piece.map(hyper::body::Frame::into_data) {
            Ok(Ok(piece)) => piece,
            Ok(Err(_)) => continue,
            Err(error) => return Outcome::Disconnected(format!("the answer broke off: {error}")),
        };
        if !streamed {
            whole.extend_from_slice(&piece);
            continue;
        }
        for (_, data) in events.feed(&piece) {
            if let Some(outcome) = take(&data, id) {
                return outcome;
            }
        }
    }
    if streamed {
        return Outcome::Disconnected("the stream ended before the answer".to_owned());
    }
    let text = String::from_utf8_lossy(&whole);
    match take(&text, id) {
        _ if status == 503 => Outcome::Disconnected(format!("status 503: {text}")),
        Some(outcome) => outcome,
        None => Outcome::Wrong(format!("status {status}, no answer: {text}")),
    }
}

/// What a frame is to whoever waits for this id; nothing if it is for somebody who does not wait.
fn take(text: &str, id: u64) -> Option<Outcome> {
    let Ok(frame) = serde_json::from_str::<Value>(text) else {
        let shown: String = text.chars().take(200).collect();
        return Some(Outcome::Wrong(format!("no JSON: {shown:?}")));
    };
    if frame["method"].is_string() {
        return None;
    }
    if frame["id"] == id {
        return Some(Outcome::Answer(frame));
    }
    let shown: String = text.chars().take(300).collect();
    Some(Outcome::Wrong(format!(
        "the answer to another request than {id}: {shown}"
    )))
}
