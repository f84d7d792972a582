//! A scripted MCP server over Streamable HTTP, inside the test's own process.

mod exchange;

use std::{
    collections::BTreeSet,
    convert::Infallible,
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::{DefaultBodyLimit, Request, State},
    http::{HeaderMap, Method, StatusCode, header},
    response::{IntoResponse, Response},
    routing::{any, get as on_get, post as on_post},
};
use futures_util::stream;
use tokio::{
    net::TcpListener,
    sync::{broadcast, mpsc, watch},
    task::AbortHandle,
};

use self::exchange::exchange;
use super::{
    cuttable::{Cut, CuttableListener},
    fake_sse,
    interpreter::Interpreter,
    modern::{self, Word},
    record::{How, Received, Record},
    script::{HttpAnswers, HttpTrouble, Script},
};

/// Largest body the fake reads.
const MAX_BODY: usize = 64 << 20;

/// The running server. It stops with the test's runtime.
pub struct FakeHttp {
    pub shared: Arc<Shared>,
    /// Where it listens, or did, and the task that does.
    pub serving: Mutex<(SocketAddr, AbortHandle)>,
}

pub struct Shared {
    pub interpreter: Arc<Interpreter>,
    record: Record,
    sessions: Mutex<Sessions>,
    /// Frames for every GET stream, or for those of one session; `None` ends the streams.
    pub pushed: broadcast::Sender<Option<Pushed>>,
    /// The streams of HTTP+SSE.
    pub streams: fake_sse::Streams,
    cut: watch::Sender<Cut>,
}

/// A frame that belongs to no request.
#[derive(Debug, Clone)]
pub struct Pushed {
    /// The session that it is for, if it is not for all.
    session: Option<String>,
    pub frame: String,
}

#[derive(Default)]
struct Sessions {
    known: BTreeSet<String>,
    minted: usize,
    /// What a forgotten session is told; 404 unless the test says otherwise.
    refusal: Option<StatusCode>,
}

impl FakeHttp {
    pub async fn start(script: Script, record: Record) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let shared = Arc::new(Shared {
            interpreter: Arc::new(Interpreter::new(script)),
            record,
            sessions: Mutex::default(),
            pushed: broadcast::Sender::new(256),
            streams: fake_sse::Streams::default(),
            cut: watch::Sender::new(Cut::default()),
        });
        let serving = Mutex::new(shared.clone().serve(listener));
        Self { shared, serving }
    }

    pub fn address(&self) -> SocketAddr {
        self.serving.lock().expect("no panic under lock").0
    }

    pub fn follow(&self, script: Script) {
        self.shared.interpreter.follow(script);
    }

    pub fn tell(&self, word: Word) {
        self.shared.interpreter.tell(word);
    }

    pub fn push(&self, frame: String) {
        self.shared.push(None, frame);
    }

    /// Forgets every session, as a restarted server does; requests that name one get `refusal`.
    pub fn forget_sessions(&self, refusal: StatusCode) {
        self.shared.forget_sessions(Some(refusal));
        let _ = self.shared.pushed.send(None);
    }

    pub fn cut_connections(&self) {
        self.shared.cut_connections();
    }

    pub fn refuse_connections(&self, refuse: bool) {
        self.shared.cut.send_modify(|cut| cut.refuse = refuse);
        self.shared.cut_connections();
    }
}

impl Shared {
    pub fn serve(self: Arc<Self>, listener: TcpListener) -> (SocketAddr, AbortHandle) {
        let address = listener.local_addr().expect("a bound socket");
        let listener = CuttableListener::new(listener, self.cut.subscribe());
        let router = Router::new()
            .route("/mcp", any(answer))
            .route("/sse", on_get(fake_sse::open))
            .route("/messages", on_post(fake_sse::message))
            .layer(DefaultBodyLimit::max(MAX_BODY))
            .with_state(self);
        let serving = tokio::spawn(async move { axum::serve(listener, router).await });
        (address, serving.abort_handle())
    }

    /// What a POST is answered with that is not read.
    pub fn refusal(&self) -> Option<Response> {
        match self.interpreter.script().http.trouble {
            Some(HttpTrouble::Refused(status)) => Some(failure(status)),
            _ => None,
        }
    }

    /// What a POST is answered with, whatever came of it.
    pub fn failure(&self) -> Option<Response> {
        match self.interpreter.script().http.trouble {
            Some(HttpTrouble::Failed(status)) => Some(failure(status)),
            _ => None,
        }
    }

    /// Says something on the GET streams of a session, or on all.
    fn push(&self, session: Option<String>, frame: String) {
        // Nobody may listen.
        let _ = self.pushed.send(Some(Pushed { session, frame }));
    }

    pub fn forget_sessions(&self, refusal: Option<StatusCode>) {
        self.streams.forget();
        let mut sessions = self.sessions.lock().expect("no panic under lock");
        sessions.known.clear();
        sessions.refusal = refusal;
    }

    pub fn cut_connections(&self) {
        self.cut.send_modify(|cut| cut.generation += 1);
    }

    fn speaks_modern(&self, body: &str) -> bool {
        let script = self.interpreter.script();
        let body: serde_json::Value = serde_json::from_str(body).unwrap_or_default();
        let params = body["params"].to_string();
        script.is_modern_only() || (script.is_modern() && modern::speaks_for_itself(Some(&params)))
    }

    /// The arguments that the tool of a call wants in headers.
    fn mirrored(&self, body: &str) -> Vec<(String, String)> {
        let body: serde_json::Value = serde_json::from_str(body).unwrap_or_default();
        let script = self.interpreter.script();
        let called = body["params"]["name"].as_str().unwrap_or_default();
        let tool = script.tools.iter().find(|tool| tool.key == called);
        tool.filter(|_| body["method"] == "tools/call")
            .map(|tool| modern::mirrored(&tool.definition))
            .unwrap_or_default()
    }

    fn mint_session(&self) -> String {
        let mut sessions = self.sessions.lock().expect("no panic under lock");
        sessions.minted += 1;
        let id = format!("fake-session-{}", sessions.minted);
        sessions.known.insert(id.clone());
        id
    }

    /// Whether the request names a session that is known, and else what it is told.
    fn check_session(&self, headers: &HeaderMap) -> Result<String, StatusCode> {
        let sessions = self.sessions.lock().expect("no panic under lock");
        match headers.get("mcp-session-id").map(|id| id.to_str()) {
            Some(Ok(id)) if sessions.known.contains(id) => Ok(id.to_owned()),
            Some(_) => Err(sessions.refusal.unwrap_or(StatusCode::NOT_FOUND)),
            None => Err(StatusCode::BAD_REQUEST),
        }
    }

    pub fn note(&self, how: How, headers: &HeaderMap, body: &str) {
        let text = |value: &header::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into();
        self.record.note(Received {
            how,
            headers: headers
                .iter()
                .map(|(name, value)| (name.to_string(), text(value)))
                .collect(),
            body: body.to_owned(),
        });
    }
}

fn failure(status: u16) -> Response {
    let status = StatusCode::from_u16(status).expect("a status");
    (status, "trouble").into_response()
}

async fn answer(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    match head.method {
        Method::POST => {
            let Ok(body) = axum::body::to_bytes(body, MAX_BODY).await else {
                return StatusCode::PAYLOAD_TOO_LARGE.into_response();
            };
            if let Some(refusal) = shared.refusal() {
                return refusal;
            }
            let answer = post(shared.clone(), head.headers, &body).await;
            shared.failure().unwrap_or(answer)
        }
        _ if shared.interpreter.script().is_modern_only() => {
            StatusCode::METHOD_NOT_ALLOWED.into_response()
        }
        Method::GET => get(&shared, &head.headers),
        Method::DELETE => delete(&shared, &head.headers),
        _ => StatusCode::METHOD_NOT_ALLOWED.into_response(),
    }
}

async fn post(shared: Arc<Shared>, headers: HeaderMap, body: &Bytes) -> Response {
    let body = String::from_utf8_lossy(body).into_owned();
    let received = Received {
        how: How::Frame,
        headers: Vec::new(),
        body: body.clone(),
    };
    let words = shared.interpreter.words();
    shared.note(How::Frame, &headers, &body);
    let habits = shared.interpreter.script().http.clone();
    if shared.speaks_modern(&body) {
        return modern_post(shared, &headers, habits.answer, body, words).await;
    }
    let opening = received.method() == "initialize";
    if habits.sessions
        && !opening
        && let Err(refusal) = shared.check_session(&headers)
    {
        let error =
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"no such session"}}"#;
        return (refusal, [(header::CONTENT_TYPE, "application/json")], error).into_response();
    }
    if !is_request(&body) {
        let (out, _) = mpsc::channel(1);
        shared.interpreter.receive(&body, words, out).await;
        return StatusCode::ACCEPTED.into_response();
    }
    let session = headers.get("mcp-session-id");
    let session = session.map(|id| String::from_utf8_lossy(id.as_bytes()).into_owned());
    let mut response = exchange(shared.clone(), session, habits.answer, body, words).await;
    if habits.sessions && opening {
        let id = shared.mint_session().parse().expect("plain text");
        response.headers_mut().insert("mcp-session-id", id);
    }
    response
}

/// A request that speaks for itself: its headers have to say what its body says, and errors of the protocol have their status.
async fn modern_post(
    shared: Arc<Shared>,
    headers: &HeaderMap,
    answers: HttpAnswers,
    body: String,
    words: broadcast::Receiver<Word>,
) -> Response {
    let header = |name: &str| {
        let value = headers.get(name)?.to_str().ok()?;
        Some(value.to_owned())
    };
    if let Some(mismatch) = modern::mismatch(header, &body, &shared.mirrored(&body)) {
        let id = serde_json::from_str::<serde_json::Value>(&body).unwrap_or_default()["id"].clone();
        let error = serde_json::json!({
            "jsonrpc": "2.0", "id": id, "error": {"code": -32020, "message": mismatch},
        });
        return (StatusCode::BAD_REQUEST, json(error.to_string())).into_response();
    }
    let mut response = exchange(shared, None, answers, body, words).await;
    if let Some(status) = response.extensions().get::<StatusCode>() {
        *response.status_mut() = *status;
    }
    response
}

fn json(body: String) -> Response {
    let status = match serde_json::from_str::<serde_json::Value>(&body).unwrap_or_default()["error"]
        ["code"]
        .as_i64()
    {
        Some(-32601) => StatusCode::NOT_FOUND,
        Some(-32020 | -32021 | -32022 | -32602) => StatusCode::BAD_REQUEST,
        _ => StatusCode::OK,
    };
    let mut response = ([(header::CONTENT_TYPE, "application/json")], body).into_response();
    response.extensions_mut().insert(status);
    response
}

pub fn is_request(body: &str) -> bool {
    #[derive(serde::Deserialize)]
    struct Shape {
        id: Option<serde::de::IgnoredAny>,
        method: Option<serde::de::IgnoredAny>,
    }
    serde_json::from_str::<Shape>(body)
        .map_or(true, |shape| shape.id.is_some() && shape.method.is_some())
}

fn get(shared: &Arc<Shared>, headers: &HeaderMap) -> Response {
    let habits = shared.interpreter.script().http.clone();
    let pushed = shared.pushed.subscribe();
    shared.note(How::Get, headers, "");
    if !habits.stream {
        return StatusCode::METHOD_NOT_ALLOWED.into_response();
    }
    if habits.sessions
        && let Err(refusal) = shared.check_session(headers)
    {
        return refusal.into_response();
    }
    let session = shared.check_session(headers).ok();
    let chunks = stream::unfold((pushed, session), |(mut pushed, session)| async move {
        loop {
            let heard = pushed.recv().await.ok()??;
            if heard.session.is_none() || heard.session == session {
                let event = event(&heard.frame);
                return Some((Ok::<_, Infallible>(event), (pushed, session)));
            }
        }
    });
    event_stream(Body::from_stream(chunks))
}

fn delete(shared: &Arc<Shared>, headers: &HeaderMap) -> Response {
    shared.note(How::Delete, headers, "");
    match shared.check_session(headers) {
        Ok(id) => {
            let mut sessions = shared.sessions.lock().expect("no panic under lock");
            sessions.known.remove(&id);
            StatusCode::OK.into_response()
        }
        Err(refusal) => refusal.into_response(),
    }
}

pub fn event_stream(body: Body) -> Response {
    ([(header::CONTENT_TYPE, "text/event-stream")], body).into_response()
}

pub fn event(frame: &str) -> Bytes {
    let data = frame.replace('\n', "\ndata: ");
    format!("event: message\ndata: {data}\n\n").into()
}
