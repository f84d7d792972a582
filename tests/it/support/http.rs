//! Plain HTTP requests, a connection each: closing the answer closes the connection.

use std::net::SocketAddr;

use axum::{
    Router,
    http::{HeaderMap, Request, Response},
};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{body::Incoming, client::conn::http1::SendRequest};
use hyper_util::rt::TokioIo;
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::Mutex,
    task::AbortHandle,
};

use super::patience::within;

/// A request that every endpoint answers.
pub const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

/// The header of a body as MCP wants it.
pub const JSON: (&str, &str) = ("content-type", "application/json");

/// The header of a client that takes an answer or a stream.
pub const BOTH: (&str, &str) = ("accept", "application/json, text/event-stream");

/// Something that listens on a TCP address.
pub trait Reachable {
    fn address(&self) -> SocketAddr;
}

impl Reachable for SocketAddr {
    fn address(&self) -> SocketAddr {
        *self
    }
}

/// Serves these routes until the test's runtime ends, and gives their address.
pub async fn serve(routes: Router) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("it listens");
    tokio::spawn(async move { axum::serve(listener, routes).await });
    address
}

/// An address at which nobody listens.
pub fn free_address() -> SocketAddr {
    let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    free.local_addr().expect("it listens")
}

/// A whole answer.
#[derive(Debug, Clone)]
pub struct HttpAnswer {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl HttpAnswer {
    pub fn header(&self, name: &str) -> &str {
        header(&self.headers, name)
    }

    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("the body is text")
    }

    /// The body, which has to be JSON.
    pub fn json(&self) -> serde_json::Value {
        let text = self.text();
        serde_json::from_str(text)
            .unwrap_or_else(|error| panic!("status {}: {error}: {text:?}", self.status))
    }
}

/// An answer whose body is still coming. Dropping it closes the connection.
pub struct OpenAnswer {
    pub status: u16,
    pub headers: HeaderMap,
    body: Incoming,
    patient: bool,
    /// None where it outlives the answer.
    _connection: Option<Connection>,
}

impl OpenAnswer {
    fn of(answer: Response<Incoming>, connection: Option<Connection>) -> Self {
        let (head, body) = answer.into_parts();
        Self {
            status: head.status.as_u16(),
            headers: head.headers,
            body,
            patient: false,
            _connection: connection,
        }
    }

    pub fn header(&self, name: &str) -> &str {
        header(&self.headers, name)
    }

    /// The next piece of the body; nothing at its end, however it ends.
    pub async fn next(&mut self) -> Option<Bytes> {
        let next = async {
            loop {
                let frame = self.body.frame().await?.ok()?;
                if let Ok(data) = frame.into_data() {
                    return Some(data);
                }
            }
        };
        if self.patient {
            return next.await;
        }
        within("more of an HTTP answer", next).await
    }

    /// More of the body may come at any time.
    pub fn wait_for_ever(&mut self) {
        self.patient = true;
    }

    pub async fn whole(mut self) -> HttpAnswer {
        let mut body = Vec::new();
        while let Some(piece) = self.next().await {
            body.extend_from_slice(&piece);
        }
        HttpAnswer {
            status: self.status,
            headers: self.headers,
            body: body.into(),
        }
    }
}

struct Connection(AbortHandle);

impl Drop for Connection {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Sends a request with exactly these headers (and a `Host`, unless given) and waits for the head of the answer.
pub async fn open(
    to: SocketAddr,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: impl Into<Bytes>,
) -> OpenAnswer {
    let host = to.to_string();
    let all = with_host(headers, &host);
    let stream = TcpStream::connect(to).await.expect("somebody listens");
    open_on(stream, method, path, &all, body).await
}

fn with_host<'a>(headers: &[(&'a str, &'a str)], host: &'a str) -> Vec<(&'a str, &'a str)> {
    let mut all = headers.to_vec();
    if !headers.iter().any(|(name, _)| *name == "host") {
        all.push(("host", host));
    }
    all
}

/// A connection that stays open after an answer, for one request after the other.
pub struct KeptConnection {
    to: SocketAddr,
    sender: Mutex<SendRequest<Full<Bytes>>>,
    _connection: Connection,
}

impl KeptConnection {
    pub async fn open(to: SocketAddr) -> Self {
        let stream = TcpStream::connect(to).await.expect("somebody listens");
        let (sender, connection) = connected(stream).await;
        Self {
            to,
            sender: Mutex::new(sender),
            _connection: connection,
        }
    }

    /// Sends a request when the answer before has been read.
    pub async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> OpenAnswer {
        let host = self.to.to_string();
        let request = request_of(method, path, &with_host(headers, &host), body);
        let mut sender = self.sender.lock().await;
        let exchange = async {
            sender.ready().await.expect("an open connection");
            sender.send_request(request).await.expect("an HTTP answer")
        };
        let answer = within(&format!("an answer to {method} {path}"), exchange).await;
        OpenAnswer::of(answer, None)
    }
}

async fn connected(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
) -> (SendRequest<Full<Bytes>>, Connection) {
    let connecting = hyper::client::conn::http1::handshake(TokioIo::new(stream));
    let (sender, connection) = connecting.await.expect("a connected stream");
    (sender, Connection(tokio::spawn(connection).abort_handle()))
}

fn request_of(
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: impl Into<Bytes>,
) -> Request<Full<Bytes>> {
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.body(Full::new(body.into()));
    request.expect("a good request")
}

/// Sends a request with exactly these headers on a fresh connection of any kind.
pub async fn open_on(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: impl Into<Bytes>,
) -> OpenAnswer {
    let answer = try_open_on(stream, method, path, headers, body).await;
    answer.expect("an HTTP answer")
}

/// The same, where the other side may end instead of answering.
pub async fn try_open_on(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: impl Into<Bytes>,
) -> hyper::Result<OpenAnswer> {
    let request = request_of(method, path, headers, body);
    let exchange = async {
        let (mut sender, connection) = connected(stream).await;
        let answer = sender.send_request(request).await?;
        Ok(OpenAnswer::of(answer, Some(connection)))
    };
    within(&format!("an answer to {method} {path}"), exchange).await
}

/// [`open`], and the whole body.
pub async fn send(
    to: SocketAddr,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: impl Into<Bytes>,
) -> HttpAnswer {
    open(to, method, path, headers, body).await.whole().await
}

/// Writes bytes to a fresh connection and gives whatever comes back until the other side closes. Writing does not wait for
/// reading, so that an answer before the end of a request is seen.
pub async fn send_bytes(to: SocketAddr, request: impl Into<Bytes>) -> String {
    let stream = TcpStream::connect(to).await.expect("somebody listens");
    let (mut reader, mut writer) = stream.into_split();
    let request = request.into();
    let writing = tokio::spawn(async move {
        // The other side may have heard enough.
        let _ = writer.write_all(&request).await;
        writer
    });
    let mut answer = Vec::new();
    let reading = async {
        let mut piece = vec![0; 64 << 10];
        loop {
            match reader.read(&mut piece).await {
                // A reset after the answer ends it as well.
                Ok(0) | Err(_) => return,
                Ok(n) => answer.extend_from_slice(&piece[..n]),
            }
        }
    };
    within("the end of a raw answer", reading).await;
    writing.abort();
    String::from_utf8_lossy(&answer).into_owned()
}

fn header<'a>(headers: &'a HeaderMap, name: &str) -> &'a str {
    headers
        .get(name)
        .map_or("", |value| value.to_str().expect("a readable header"))
}

/// Headers as requests take them.
pub fn pairs(headers: &[(String, String)]) -> Vec<(&str, &str)> {
    let pairs = headers.iter().map(|(name, value)| (&**name, &**value));
    pairs.collect()
}
