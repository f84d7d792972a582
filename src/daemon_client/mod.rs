//! The client of the daemon's local socket: speaks REST to it. Knows connections, deadlines and the shape of errors; what the
//! answers mean is its users' business.

pub mod bridge;
mod error;

use std::{
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use bytes::{Bytes, BytesMut};
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Either, Full, Limited};
use hyper::{body::Incoming, client::conn::http1};
use hyper_util::rt::TokioIo;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;
use tokio::time::timeout;
use tokio_util::task::AbortOnDropHandle;

use error::{ANOTHER, unanswered};
pub use error::{DaemonError, DaemonRefusal};

pub use crate::text::percent::encoded;

use crate::{
    api::FilesApi,
    failure::{ErrorCode, Failure, NextStep, in_plain_words},
    management::{Files, StatusReport, version_note},
    storage::{DataFile, in_words},
    wire::json_fault,
};

/// How long connecting and the first, small answer may take.
const CONNECT: Duration = Duration::from_secs(5);

/// Limit: an upstream's result may be large, but a command line that eats all memory helps nobody.
const LARGEST_ANSWER: usize = 256 * 1024 * 1024;

/// How long an answer may take.
#[derive(Debug, Clone, Copy)]
pub enum AnswerDeadline {
    /// The daemon answers out of what it knows.
    Daemon,
    /// The answer waits for an upstream.
    Upstream,
    /// The answer is that of a tool, which its progress keeps alive for half an hour; its server may have to be started first.
    Call,
}

impl AnswerDeadline {
    fn duration(self) -> Duration {
        match self {
            Self::Daemon => Duration::from_secs(30),
            Self::Upstream => Duration::from_mins(10),
            Self::Call => Duration::from_mins(40),
        }
    }
}

#[derive(Deserialize)]
struct RefusalBody {
    error: String,
    code: Option<String>,
    server: Option<Box<str>>,
    hint: Option<String>,
    closest: Option<Box<str>>,
    step: Option<Box<NextStep>>,
}

impl RefusalBody {
    /// The refusal with the next step for a person at a terminal.
    fn at_terminal(self) -> DaemonRefusal {
        let code = self.code.as_deref().and_then(ErrorCode::parse);
        let failure = Failure {
            server: self.server,
            closest: self.closest,
            step: self.step,
            ..Failure::new(
                code.unwrap_or(ErrorCode::Internal),
                self.error,
                self.hint.unwrap_or_default(),
            )
        };
        let step = failure.terminal_step();
        DaemonRefusal {
            hint: (!step.is_empty()).then_some(step),
            error: failure.error,
            code,
        }
    }
}

#[derive(Deserialize)]
struct Version {
    version: String,
}

/// A connection to the running daemon, or, where none runs, the way to the same routes over its files.
pub struct DaemonClient {
    way: Way,
    /// The body of `GET /api/v1/status`, which is the first request.
    status: Bytes,
}

enum Way {
    Socket {
        sender: http1::SendRequest<Full<Bytes>>,
        _connection: AbortOnDropHandle<()>,
    },
    Files {
        api: FilesApi,
        config_file: PathBuf,
    },
}

impl DaemonClient {
    /// What stands in for a daemon that does not run: the verbs that need none, over its files.
    pub fn over_files(files: Files) -> Self {
        Self {
            way: Way::Files {
                config_file: files.config_file().to_owned(),
                api: FilesApi::new(files),
            },
            status: Bytes::new(),
        }
    }

    /// Whether no daemon runs.
    pub fn is_over_files(&self) -> bool {
        matches!(self.way, Way::Files { .. })
    }

    /// ` PREPOSITION FILE`, the file to which a change was written, if no daemon runs; else nothing.
    pub fn in_file(&self, preposition: &str) -> String {
        match &self.way {
            Way::Socket { .. } => String::new(),
            Way::Files { config_file, .. } => format!(" {preposition} {}", config_file.display()),
        }
    }

    /// Connects to the daemon of a data folder.
    pub async fn connect(data_dir: &Path) -> Result<Self, DaemonError> {
        let socket = DataFile::Socket.within(data_dir);
        let stream = open_socket(&socket)
            .await
            .map_err(|error| not_opened(&socket, &error))?;
        let pid = process_at(&stream);
        let greeted = timeout(CONNECT, Self::greet(&socket, pid, stream)).await;
        let daemon = greeted.map_err(|_| DaemonError::Silent {
            pid,
            seconds: CONNECT.as_secs(),
        })??;
        // Every version of mcpproxy says which it is.
        if serde_json::from_slice::<Version>(&daemon.status).is_ok() {
            return Ok(daemon);
        }
        Err(DaemonError::Unreachable {
            socket,
            pid,
            reason: ANOTHER.to_owned(),
        })
    }

    async fn greet(
        socket: &Path,
        pid: Option<i32>,
        stream: SocketStream,
    ) -> Result<Self, DaemonError> {
        let unreachable = |reason: String| DaemonError::Unreachable {
            socket: socket.to_owned(),
            pid,
            reason,
        };
        let (sender, connection) = http1::handshake(TokioIo::new(stream))
            .await
            .map_err(|error| unreachable(unanswered(&error)))?;
        // Errors of the connection show in the request that is under way.
        let connection = tokio::spawn(async move { drop(connection.await) });
        let mut daemon = Self {
            way: Way::Socket {
                sender,
                _connection: AbortOnDropHandle::new(connection),
            },
            status: Bytes::new(),
        };
        daemon.status = daemon
            .get("/api/v1/status")
            .await
            .map_err(|error| match error {
                DaemonError::Lost { reason, .. } => unreachable(reason),
                DaemonError::Refused(DaemonRefusal {
                    code: None,
                    hint: None,
                    ..
                }) => unreachable(ANOTHER.to_owned()),
                other => other,
            })?;
        Ok(daemon)
    }

    /// The notice for the user of a daemon that is of another version.
    pub fn version_note(&self) -> Option<String> {
        let Version { version } = serde_json::from_slice(&self.status).ok()?;
        version_note(&version)
    }

    /// The daemon's status when we connected, as it came.
    pub fn status(&self) -> &Bytes {
        &self.status
    }

    /// The same, parsed; nothing if no daemon runs, or if one of another version writes it in another way.
    pub fn status_report(&self) -> Option<StatusReport> {
        serde_json::from_slice(&self.status).ok()
    }

    /// What `GET path` answers.
    pub async fn fetch<T: DeserializeOwned>(&mut self, path: &str) -> Result<T, DaemonError> {
        self.ask_for(Method::GET, path, "").await
    }

    /// What the daemon answers out of what it knows.
    pub async fn ask_for<T: DeserializeOwned>(
        &mut self,
        method: Method,
        path: &str,
        body: impl Into<Bytes>,
    ) -> Result<T, DaemonError> {
        let deadline = AnswerDeadline::Daemon;
        self.request(method, path, body, deadline).await
    }

    /// What the answer to a request says.
    pub async fn request<T: DeserializeOwned>(
        &mut self,
        method: Method,
        path: &str,
        body: impl Into<Bytes>,
        deadline: AnswerDeadline,
    ) -> Result<T, DaemonError> {
        let request = format!("{method} {path}");
        read(&request, &self.send(method, path, body, deadline).await?)
    }

    /// The body of `GET path`.
    pub async fn get(&mut self, path: &str) -> Result<Bytes, DaemonError> {
        self.ask(Method::GET, path, "").await
    }

    /// The body of an answer that the daemon gives out of what it knows.
    pub async fn ask(
        &mut self,
        method: Method,
        path: &str,
        body: impl Into<Bytes>,
    ) -> Result<Bytes, DaemonError> {
        let deadline = AnswerDeadline::Daemon;
        self.send(method, path, body, deadline).await
    }

    /// The body of the answer to a request whose own body is JSON, or empty.
    pub async fn send(
        &mut self,
        method: Method,
        path: &str,
        body: impl Into<Bytes>,
        deadline: AnswerDeadline,
    ) -> Result<Bytes, DaemonError> {
        let name = format!("{method} {path}");
        let request = request(method, path, body.into(), "application/json")?;
        answered(name, deadline, self.exchange(request), |_| false).await
    }

    /// [`DaemonClient::send`] for a verb that may also answer in lines: all but the last go to `notify` as they come, the last one is the
    /// answer, and may be a refusal, too.
    pub async fn send_for_lines(
        &mut self,
        path: &str,
        body: impl Into<Bytes>,
        notify: impl FnMut(&[u8]),
    ) -> Result<Bytes, DaemonError> {
        let name = format!("POST {path}");
        let accept = "application/x-ndjson, application/json";
        let request = request(Method::POST, path, body.into(), accept)?;
        let exchange = self.exchange_lines(request, notify);
        answered(name, AnswerDeadline::Call, exchange, is_refusal).await
    }

    async fn exchange_lines(
        &mut self,
        request: Request<Full<Bytes>>,
        mut notify: impl FnMut(&[u8]),
    ) -> Result<(StatusCode, Bytes), String> {
        let answer = self.respond(request).await?;
        let status = answer.status();
        let mut body = Limited::new(answer.into_body(), LARGEST_ANSWER);
        let mut unfinished = BytesMut::new();
        let mut last = Bytes::new();
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| unanswered(&*error))?;
            unfinished.extend_from_slice(&frame.into_data().unwrap_or_default());
            while let Some(end) = memchr::memchr(b'\n', &unfinished) {
                if !last.is_empty() {
                    notify(&last);
                }
                last = unfinished.split_to(end + 1).freeze();
            }
        }
        if unfinished.is_empty() {
            return Ok((status, last));
        }
        // An answer that is no line is a daemon's that knows none.
        Ok((status, unfinished.freeze()))
    }

    async fn exchange(
        &mut self,
        request: Request<Full<Bytes>>,
    ) -> Result<(StatusCode, Bytes), String> {
        let answer = self.respond(request).await?;
        let status = answer.status();
        let body = Limited::new(answer.into_body(), LARGEST_ANSWER)
            .collect()
            .await
            .map_err(|error| unanswered(&*error))?;
        Ok((status, body.to_bytes()))
    }

    async fn respond(&mut self, request: Request<Full<Bytes>>) -> Result<Response<Body>, String> {
        match &mut self.way {
            Way::Socket { sender, .. } => {
                sender.ready().await.map_err(|error| unanswered(&error))?;
                let answer = sender.send_request(request).await;
                let answer = answer.map_err(|error| unanswered(&error))?;
                Ok(answer.map(Either::Left))
            }
            Way::Files { api, .. } => Ok(api.answer(request).await.map(Either::Right)),
        }
    }
}

/// The body of the answer to a request. `is_refusal` says which body refuses it, whatever the status.
async fn answered(
    request: String,
    deadline: AnswerDeadline,
    exchange: impl Future<Output = Result<(StatusCode, Bytes), String>>,
    is_refusal: impl Fn(&[u8]) -> bool,
) -> Result<Bytes, DaemonError> {
    match timeout(deadline.duration(), exchange).await {
        Err(_) => Err(DaemonError::TimedOut { request, deadline }),
        Ok(Err(reason)) => Err(DaemonError::Lost { request, reason }),
        Ok(Ok((status, body))) if status.is_success() && !is_refusal(&body) => Ok(body),
        Ok(Ok((status, body))) => Err(DaemonError::Refused(refusal(status, &body))),
    }
}

/// The body of an answer, as it comes.
type Body = Either<Incoming, Full<Bytes>>;

fn request(
    method: Method,
    path: &str,
    body: Bytes,
    accept: &'static str,
) -> Result<Request<Full<Bytes>>, DaemonError> {
    let name = format!("{method} {path}");
    Request::builder()
        .method(method)
        .uri(path)
        .header(http::header::HOST, "mcpproxy")
        .header(http::header::CONTENT_TYPE, "application/json")
        .header(http::header::ACCEPT, accept)
        .body(Full::new(body))
        .map_err(|error| DaemonError::BadAnswer {
            request: name,
            reason: error.to_string(),
        })
}

/// A path with these parameters, of which those that are given.
pub fn with_query(path: &str, parameters: &[(&str, Option<String>)]) -> String {
    let given = parameters
        .iter()
        .filter_map(|(name, value)| Some(format!("{name}={}", encoded(value.as_ref()?))));
    match given.collect::<Vec<String>>().join("&") {
        query if query.is_empty() => path.to_owned(),
        query => format!("{path}?{query}"),
    }
}

/// Whether a last line says no.
fn is_refusal(line: &[u8]) -> bool {
    let read = serde_json::from_slice::<RefusalBody>(line);
    read.is_ok_and(|refusal| refusal.code.is_some())
}

/// Reads the body of an answer that says no.
pub fn refusal(status: StatusCode, body: &[u8]) -> DaemonRefusal {
    if let Some(refusal) = rpc_refusal(body) {
        return refusal;
    }
    match serde_json::from_slice::<RefusalBody>(body) {
        Ok(body) => body.at_terminal(),
        Err(_) => DaemonRefusal {
            error: format!("the daemon answered with HTTP status {status}"),
            code: None,
            hint: None,
        },
    }
}

/// What an MCP endpoint says: the same inside a JSON-RPC error.
fn rpc_refusal(body: &[u8]) -> Option<DaemonRefusal> {
    let answer: Value = serde_json::from_slice(body).ok()?;
    let refusal = RefusalBody::deserialize(answer.pointer("/error/data")?).ok()?;
    Some(refusal.at_terminal())
}

/// Reads an answer.
pub fn read<'a, T: Deserialize<'a>>(request: &str, body: &'a [u8]) -> Result<T, DaemonError> {
    serde_json::from_slice(body).map_err(|error| DaemonError::BadAnswer {
        request: request.to_owned(),
        reason: in_plain_words(&json_fault(&error)),
    })
}

/// Reads one of several outcomes in an answer: of what was refused, why.
pub fn read_outcome<'a, T: Deserialize<'a>>(
    request: &str,
    outcome: &'a [u8],
) -> Result<T, DaemonError> {
    if is_refusal(outcome) {
        return Err(DaemonError::Refused(refusal(StatusCode::OK, outcome)));
    }
    read(request, outcome)
}

/// Opens the daemon's local socket.
#[cfg(unix)]
pub async fn open_socket(socket: &Path) -> io::Result<SocketStream> {
    SocketStream::connect(socket).await
}

#[cfg(unix)]
type SocketStream = tokio::net::UnixStream;
#[cfg(not(unix))]
type SocketStream = tokio::io::DuplexStream;

/// The process that listens at the other end, where the system says that.
#[cfg(unix)]
fn process_at(stream: &SocketStream) -> Option<i32> {
    stream.peer_cred().ok()?.pid()
}
#[cfg(not(unix))]
fn process_at(_: &SocketStream) -> Option<i32> {
    None
}

/// Why a socket was not opened.
pub(in crate::daemon_client) fn not_opened(socket: &Path, error: &io::Error) -> DaemonError {
    let folder = || socket.parent().unwrap_or(socket).to_owned();
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => DaemonError::NotRunning(None),
        io::ErrorKind::PermissionDenied => match socket.symlink_metadata() {
            Err(_) => DaemonError::ClosedFolder(folder()),
            Ok(_) => DaemonError::OtherUser(socket.to_owned()),
        },
        io::ErrorKind::NotADirectory => DaemonError::NoFolder(folder()),
        // Of the system's names for a path that is too long none gets here: the path is refused before.
        io::ErrorKind::InvalidInput => DaemonError::TooLong(socket.to_owned()),
        _ => DaemonError::Unreachable {
            socket: socket.to_owned(),
            pid: None,
            reason: in_words(error),
        },
    }
}

/// Elsewhere there is no local socket yet.
#[cfg(not(unix))]
pub async fn open_socket(_socket: &Path) -> io::Result<SocketStream> {
    std::future::ready(Err(io::Error::new(
        io::ErrorKind::Unsupported,
        "the local socket needs a Unix system",
    )))
    .await
}

#[cfg(test)]
mod tests {
    use super::{Version, read, with_query};

    #[test]
    fn an_answer_that_is_not_understood_says_why_in_plain_words() {
        for (body, why) in [
            ("{}", "`version` is missing"),
            ("<p>", "not JSON at line 1, column 1"),
        ] {
            let answer = read::<Version>("GET /x", body.as_bytes());
            let error = answer.err().expect("it is none").to_string();
            assert!(error.ends_with(why), "{error}");
        }
    }

    #[test]
    fn a_query_has_what_is_given() {
        let server = ("server", Some("a&b".to_owned()));
        let path = with_query(
            "/x",
            &[("kind", None), server, ("after", Some("3".to_owned()))],
        );
        assert_eq!(path, "/x?server=a%26b&after=3");
        assert_eq!(with_query("/x", &[("kind", None)]), "/x");
    }
}
