//! One client of a server: its handshake, its requests, one after the other, and its leave.

use std::{
    collections::HashMap,
    error::Error,
    process::Stdio,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use http_body_util::{BodyExt, Full};
use hyper::{
    Method, Request, Response,
    body::{Bytes, Incoming},
    client::conn::http1::{SendRequest, handshake},
};
use hyper_util::rt::TokioIo;
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::TcpStream,
    process::{ChildStdin, Command},
    sync::oneshot,
};

pub(crate) type Failure = Box<dyn Error + Send + Sync>;

const HANDSHAKE: &str = r#"{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"load","version":"1"}}"#;

/// Where clients connect to.
pub(crate) enum Server {
    Http {
        host: String,
        path: String,
        token: String,
    },
    Pipes(Arc<Pipes>),
}

/// A process that all clients share.
pub(crate) struct Pipes {
    input: tokio::sync::Mutex<ChildStdin>,
    waiting: Mutex<HashMap<u64, oneshot::Sender<Bytes>>>,
}

static LAST_ID: AtomicU64 = AtomicU64::new(0);

impl Server {
    /// The server at a URL, or what a command starts, with its process.
    pub(crate) fn at(server: &str) -> Result<(Self, Option<u32>), Failure> {
        if let Some(address) = server.strip_prefix("http://") {
            let (host, path) = address.split_once('/').unwrap_or((address, ""));
            let (host, path) = (host.to_owned(), format!("/{path}"));
            let token = String::new();
            return Ok((Self::Http { host, path, token }, None));
        }
        let mut words = server.split(' ');
        let mut child = Command::new(words.next().unwrap_or_default())
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let input = child.stdin.take().ok_or("no input")?;
        let output = child.stdout.take().ok_or("no output")?;
        let pipes = Arc::new(Pipes {
            input: input.into(),
            waiting: Mutex::default(),
        });
        let (reader, process) = (pipes.clone(), child.id());
        tokio::spawn(async move {
            let mut output = BufReader::with_capacity(1 << 20, output);
            let mut line = Vec::new();
            while output
                .read_until(b'\n', &mut line)
                .await
                .is_ok_and(|length| length > 0)
            {
                let waiting = id_of(&line).and_then(|id| reader.waiting().remove(&id));
                if let Some(waiting) = waiting {
                    // It fails where the time was up.
                    let _ = waiting.send(std::mem::take(&mut line).into());
                }
                line.clear();
            }
            drop(child);
        });
        Ok((Self::Pipes(pipes), process))
    }

    pub(crate) fn with_token(mut self, given: String) -> Self {
        if let Self::Http { token, .. } = &mut self {
            *token = given;
        }
        self
    }

    /// A client whose handshake is done.
    pub(crate) async fn open(&self) -> Result<Session, Failure> {
        let link = match self {
            Self::Pipes(pipes) => Link::Pipes(pipes.clone()),
            Self::Http { host, path, token } => {
                let http = Http::connect(host, path, token).await?;
                match path.ends_with("/sse") {
                    true => Link::Sse(Sse::open(http).await?),
                    false => Link::Http(http),
                }
            }
        };
        let mut session = Session { link };
        session.request("initialize", HANDSHAKE).await?;
        session.notify("notifications/initialized").await?;
        Ok(session)
    }
}

impl Pipes {
    fn waiting(&self) -> std::sync::MutexGuard<'_, HashMap<u64, oneshot::Sender<Bytes>>> {
        self.waiting.lock().expect("no panic under lock")
    }

    async fn send(&self, mut message: String) -> Result<(), Failure> {
        message.push('\n');
        self.input
            .lock()
            .await
            .write_all(message.as_bytes())
            .await?;
        Ok(())
    }
}

/// One client.
pub(crate) struct Session {
    link: Link,
}

enum Link {
    Http(Http),
    Sse(Sse),
    Pipes(Arc<Pipes>),
}

impl Session {
    /// The whole answer, which is a result.
    pub(crate) async fn request(&mut self, method: &str, params: &str) -> Result<Bytes, Failure> {
        let id = LAST_ID.fetch_add(1, Ordering::Relaxed) + 1;
        let message =
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#);
        let answer = match &mut self.link {
            Link::Http(http) => http.exchange(message).await?,
            Link::Sse(sse) => sse.exchange(message).await?,
            Link::Pipes(pipes) => {
                let (sender, answer) = oneshot::channel();
                pipes.waiting().insert(id, sender);
                pipes.send(message).await?;
                answer.await?
            }
        };
        // In large answers only the ends are looked at.
        let ends = [
            &answer[..answer.len().min(300)],
            &answer[answer.len().saturating_sub(300)..],
        ];
        let says = |what: &str| {
            let what = what.as_bytes();
            ends.iter()
                .any(|end| end.windows(what.len()).any(|some| some == what))
        };
        let is_result = says("\"result\":") && !says("\"isError\":true");
        if is_result && id_of(&answer).is_none_or(|its| its == id) {
            return Ok(answer);
        }
        Err(String::from_utf8_lossy(ends[0]).into())
    }

    async fn notify(&mut self, method: &str) -> Result<(), Failure> {
        let message = format!(r#"{{"jsonrpc":"2.0","method":"{method}"}}"#);
        match &mut self.link {
            Link::Http(http) => http.post(message).await.map(drop),
            Link::Sse(sse) => sse.posts.post(message).await.map(drop),
            Link::Pipes(pipes) => pipes.send(message).await,
        }
    }

    /// The stream of notifications, on a connection of its own; HTTP+SSE and pipes have theirs anyway.
    pub(crate) async fn listen(&mut self) -> Result<Option<Response<Incoming>>, Failure> {
        let Link::Http(http) = &self.link else {
            return Ok(None);
        };
        let mut other = Http::connect(&http.host, &http.path, &http.token).await?;
        other.session.clone_from(&http.session);
        let stream = other.send(Method::GET, String::new()).await?;
        match stream.status().is_success() {
            true => Ok(Some(stream)),
            false => Err(format!("no stream: {}", stream.status()).into()),
        }
    }

    pub(crate) async fn leave(mut self) -> Result<(), Failure> {
        if let Link::Http(http) = &mut self.link {
            let answer = http.send(Method::DELETE, String::new()).await?;
            answer.into_body().collect().await?;
        }
        Ok(())
    }
}

/// The number that an answer begins or ends with, if it is written as everybody writes it.
fn id_of(answer: &[u8]) -> Option<u64> {
    let mark = b"\"id\":";
    let head = &answer[..answer.len().min(300)];
    let at = head.windows(mark.len()).position(|some| some == mark)? + mark.len();
    let digits = head[at..].iter().take_while(|byte| byte.is_ascii_digit());
    digits
        .map(|byte| u64::from(byte - b'0'))
        .reduce(|number, digit| number * 10 + digit)
}

/// A connection for requests.
struct Http {
    sender: SendRequest<Full<Bytes>>,
    host: String,
    path: String,
    token: String,
    session: Option<String>,
}

impl Http {
    async fn connect(host: &str, path: &str, token: &str) -> Result<Self, Failure> {
        let stream = TcpStream::connect(host).await?;
        stream.set_nodelay(true)?;
        let (sender, connection) = handshake(TokioIo::new(stream)).await?;
        tokio::spawn(connection);
        Ok(Self {
            sender,
            host: host.to_owned(),
            path: path.to_owned(),
            token: token.to_owned(),
            session: None,
        })
    }

    async fn send(&mut self, method: Method, body: String) -> Result<Response<Incoming>, Failure> {
        let accept = match method {
            Method::GET => "text/event-stream",
            _ => "application/json, text/event-stream",
        };
        let mut request = Request::builder()
            .method(method)
            .uri(&self.path)
            .header("host", &self.host)
            .header("accept", accept)
            .header("content-type", "application/json");
        if let Some(session) = &self.session {
            request = request.header("mcp-session-id", session);
            request = request.header("mcp-protocol-version", "2025-06-18");
        }
        if !self.token.is_empty() {
            request = request.header("authorization", format!("Bearer {}", self.token));
        }
        let request = request.body(Full::from(body))?;
        self.sender.ready().await?;
        Ok(self.sender.send_request(request).await?)
    }

    async fn post(&mut self, message: String) -> Result<Bytes, Failure> {
        let answer = self.send(Method::POST, message).await?;
        if let (None, Some(session)) = (&self.session, answer.headers().get("mcp-session-id")) {
            self.session = Some(session.to_str()?.to_owned());
        }
        let status = answer.status();
        let body = answer.into_body().collect().await?.to_bytes();
        match status.is_success() {
            true => Ok(body),
            false => Err(format!("{status}: {}", String::from_utf8_lossy(&body)).into()),
        }
    }

    /// The answer alone, also where a stream brings it.
    async fn exchange(&mut self, message: String) -> Result<Bytes, Failure> {
        let body = self.post(message).await?;
        let line = |line: &[u8]| {
            let data = line.strip_prefix(b"data:")?.trim_ascii();
            id_of(data).map(|_| body.slice_ref(data))
        };
        match body.first() {
            Some(b'{') => Ok(body),
            _ => body
                .split(|byte| *byte == b'\n')
                .find_map(line)
                .ok_or_else(|| "no answer".into()),
        }
    }
}

/// A stream of answers, and a connection for requests.
struct Sse {
    events: Incoming,
    read: Vec<u8>,
    posts: Http,
}

impl Sse {
    async fn open(mut http: Http) -> Result<Self, Failure> {
        let stream = http.send(Method::GET, String::new()).await?;
        let posts = Http::connect(&http.host, "", &http.token).await?;
        let mut sse = Self {
            events: stream.into_body(),
            read: Vec::new(),
            posts,
        };
        let place = sse.event().await?;
        let place = std::str::from_utf8(&place)?;
        let place = place.strip_prefix("http://").map_or(place, |whole| {
            whole.find('/').map_or("/", |at| whole.split_at(at).1)
        });
        sse.posts.path = place.to_owned();
        Ok(sse)
    }

    async fn exchange(&mut self, message: String) -> Result<Bytes, Failure> {
        self.posts.post(message).await?;
        loop {
            let event = self.event().await?;
            if id_of(&event).is_some() {
                return Ok(event);
            }
        }
    }

    /// What the next event that carries something says.
    async fn event(&mut self) -> Result<Bytes, Failure> {
        let mut searched = 0;
        loop {
            while let Some(at) = self.read[searched..].iter().position(|byte| *byte == b'\n') {
                let end = searched + at;
                let line: Vec<u8> = self.read.drain(..=end).collect();
                searched = 0;
                if let Some(data) = line.strip_prefix(b"data:") {
                    return Ok(Bytes::copy_from_slice(data.trim_ascii()));
                }
            }
            searched = self.read.len();
            let frame = self.events.frame().await.ok_or("the stream ended")??;
            self.read
                .extend_from_slice(frame.data_ref().ok_or("the stream ended")?);
        }
    }
}
