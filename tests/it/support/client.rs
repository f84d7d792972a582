//! An MCP client that speaks raw frames over Streamable HTTP or HTTP+SSE, so that tests see every byte.

use std::{
    borrow::Cow,
    collections::VecDeque,
    fmt::Display,
    net::SocketAddr,
    sync::atomic::{AtomicU64, Ordering},
};

use serde::Deserialize;
use serde_json::{Value, value::RawValue};

use super::{
    event_stream::EventStream,
    feed::{Feed, Heard},
    http::{self, HttpAnswer, OpenAnswer, Reachable},
    patience::until_async,
    sse::Parser,
};

/// A client. Requests may run at once; each has a connection of its own.
pub struct TestClient {
    pub(super) to: SocketAddr,
    path: String,
    revision: String,
    pub(super) session: Option<String>,
    shown: Vec<(String, String)>,
    /// The stream of a client over HTTP+SSE.
    feed: Option<Feed>,
    /// The raw result of `initialize`; empty without a session.
    pub initialized: String,
    last_id: AtomicU64,
}

/// A client that is not connected yet.
pub struct Speaking {
    revision: String,
    over_sse: bool,
    capabilities: String,
    shown: Vec<(String, String)>,
}

impl Speaking {
    /// Speaks HTTP+SSE.
    pub fn over_sse(mut self) -> Self {
        self.over_sse = true;
        self
    }

    /// Sends this header with every request.
    pub fn showing(mut self, name: &str, value: &str) -> Self {
        self.shown.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Declares these capabilities, a raw object.
    pub fn declaring(mut self, capabilities: &str) -> Self {
        capabilities.clone_into(&mut self.capabilities);
        self
    }

    /// `initialize` and `notifications/initialized`.
    pub async fn connect(self, to: &impl Reachable, path: &str) -> TestClient {
        let mut client = TestClient::stateless(to, path);
        client.shown = self.shown;
        if self.over_sse {
            let feed = Feed::open_with(to.address(), path, &http::pairs(&client.shown)).await;
            client.path.clone_from(&feed.address);
            client.feed = Some(feed);
        }
        client.revision.clone_from(&self.revision);
        let params = format!(
            r#"{{"protocolVersion":"{}","capabilities":{},"clientInfo":{{"name":"test","version":"1"}}}}"#,
            self.revision, self.capabilities
        );
        let reply = client.request("initialize", params).await;
        reply.result().clone_into(&mut client.initialized);
        // From here on it says what was agreed, not what it asked for.
        let agreed: Value = serde_json::from_str(&client.initialized).expect("JSON");
        let agreed = agreed["protocolVersion"].as_str().expect("a revision");
        agreed.clone_into(&mut client.revision);
        let session = reply.header("mcp-session-id");
        client.session = (!session.is_empty()).then(|| session.to_owned());
        let answer = client.notify("notifications/initialized", "{}").await;
        assert_eq!(answer.status, 202, "initialized: {}", answer.text());
        client
    }
}

impl TestClient {
    /// A client of this revision.
    pub fn speaking(revision: &str) -> Speaking {
        Speaking {
            revision: revision.to_owned(),
            over_sse: false,
            capabilities: "{}".to_owned(),
            shown: Vec::new(),
        }
    }

    /// A client that never initializes.
    pub fn stateless(to: &impl Reachable, path: &str) -> TestClient {
        TestClient {
            to: to.address(),
            path: path.to_owned(),
            revision: String::new(),
            session: None,
            shown: Vec::new(),
            feed: None,
            initialized: String::new(),
            last_id: AtomicU64::new(0),
        }
    }

    /// Sends this header with every request.
    pub fn showing(mut self, name: &str, value: &str) -> Self {
        self.shown.push((name.to_owned(), value.to_owned()));
        self
    }

    pub fn session(&self) -> &str {
        self.session.as_deref().expect("a client with a session")
    }

    /// Calls a tool with raw arguments.
    pub async fn call(&self, tool: &str, arguments: impl Display) -> Reply {
        self.request("tools/call", call_params(tool, arguments))
            .await
    }

    /// Calls a tool and asks for progress under this raw token.
    pub async fn call_with_progress(
        &self,
        tool: &str,
        arguments: impl Display,
        token: &str,
    ) -> Reply {
        let tool = Value::from(tool);
        let params = format!(
            r#"{{"name":{tool},"arguments":{arguments},"_meta":{{"progressToken":{token}}}}}"#
        );
        self.request("tools/call", params).await
    }

    /// The names that `tools/list` gives.
    pub async fn tool_names(&self) -> Vec<String> {
        #[derive(Deserialize)]
        struct Named {
            name: String,
        }
        let list = self.request("tools/list", "{}").await;
        let tools = entries(list.result(), "tools");
        let name = |tool: &String| serde_json::from_str::<Named>(tool).map(|tool| tool.name);
        let names: Result<_, _> = tools.iter().map(name).collect();
        names.expect("every tool has a name")
    }

    /// Waits until this tool is listed.
    pub async fn wait_for_tool(&self, name: &str) {
        until_async(&format!("{name} in the list"), async || {
            let names = self.tool_names().await;
            names.iter().any(|known| known == name).then_some(())
        })
        .await;
    }

    /// Sends a request and waits for its answer.
    pub async fn request(&self, method: &str, params: impl Display) -> Reply {
        self.start(method, params).await.finish().await
    }

    /// Sends a request and waits for the head of its answer only. Dropping the exchange leaves the server alone with it.
    pub async fn start(&self, method: &str, params: impl Display) -> Exchange {
        let id = self.last_id.fetch_add(1, Ordering::Relaxed) + 1;
        let frame =
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#);
        let heard = self.feed.as_ref().map(Feed::hear);
        let answer = self.open("POST", &frame).await;
        if heard.is_some() {
            assert_eq!(answer.status, 202, "POST {}", self.path);
        }
        Exchange::new(id.to_string(), answer, heard)
    }

    /// The id of the request that was sent last.
    pub fn last_id(&self) -> u64 {
        self.last_id.load(Ordering::Relaxed)
    }

    pub async fn notify(&self, method: &str, params: impl Display) -> HttpAnswer {
        let frame = format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{params}}}"#);
        self.open("POST", &frame).await.whole().await
    }

    /// Answers a question of the server.
    pub async fn respond(&self, id: &Value, result: &str) -> HttpAnswer {
        let frame = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#);
        self.open("POST", &frame).await.whole().await
    }

    /// Where it posts.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Over HTTP+SSE: everything that comes from now on.
    pub fn hear(&self) -> Heard {
        self.feed.as_ref().expect("a client over HTTP+SSE").hear()
    }

    /// Opens the session's own stream.
    pub async fn listen(&self) -> EventStream {
        let answer = self.open("GET", "").await;
        assert_eq!(answer.status, 200, "GET {}", self.path);
        EventStream::new(answer)
    }

    /// Takes up a stream after this event.
    pub async fn resume(&self, last_event: &str) -> OpenAnswer {
        let headers = [
            ("accept", "text/event-stream"),
            ("mcp-session-id", self.session()),
            ("mcp-protocol-version", &self.revision),
            ("last-event-id", last_event),
        ];
        http::open(self.to, "GET", &self.path, &headers, "").await
    }

    /// Sends a request whose answer comes as a stream, and gives the stream.
    pub async fn stream(&self, method: &str, params: impl Display) -> EventStream {
        let exchange = self.start(method, params).await;
        assert!(exchange.streamed, "an answer to {method} as JSON");
        EventStream::new(exchange.answer)
    }

    pub async fn delete(&self) -> HttpAnswer {
        self.open("DELETE", "").await.whole().await
    }

    /// Posts a body with exactly these headers.
    pub async fn raw_post(&self, headers: &[(&str, &str)], body: &str) -> HttpAnswer {
        http::send(self.to, "POST", &self.path, headers, body.to_owned()).await
    }

    async fn open(&self, method: &str, body: &str) -> OpenAnswer {
        let mut headers = vec![("accept", "application/json, text/event-stream")];
        if method == "GET" {
            headers = vec![("accept", "text/event-stream")];
        }
        if method == "POST" {
            headers.push(("content-type", "application/json"));
        }
        if let Some(session) = &self.session {
            headers.push(("mcp-session-id", session));
            headers.push(("mcp-protocol-version", &self.revision));
        }
        headers.extend(http::pairs(&self.shown));
        http::open(self.to, method, &self.path, &headers, body.to_owned()).await
    }
}

/// The `params` of a `tools/call`.
pub fn call_params(tool: &str, arguments: impl Display) -> String {
    format!(
        r#"{{"name":{},"arguments":{arguments}}}"#,
        Value::from(tool)
    )
}

/// A message as far as it must be read to be sorted.
#[derive(Deserialize)]
pub(super) struct Frame<'a> {
    #[serde(borrow)]
    pub id: Option<&'a RawValue>,
    #[serde(borrow)]
    pub method: Option<Cow<'a, str>>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

impl<'a> Frame<'a> {
    pub fn read(frame: &'a str) -> Self {
        serde_json::from_str(frame).unwrap_or_else(|error| panic!("no message: {error}: {frame:?}"))
    }
}

/// A request whose answer is on its way.
pub struct Exchange {
    id: String,
    answer: OpenAnswer,
    /// Where the answer comes if not in the response.
    heard: Option<Heard>,
    streamed: bool,
    parser: Parser,
    frames: VecDeque<String>,
}

impl Exchange {
    pub fn new(id: String, answer: OpenAnswer, heard: Option<Heard>) -> Self {
        let kind = answer.header("content-type");
        Self {
            id,
            streamed: heard.is_some() || kind.starts_with("text/event-stream"),
            answer,
            heard,
            parser: Parser::default(),
            frames: VecDeque::new(),
        }
    }

    /// The next frame as it came; nothing when the body is at its end.
    pub async fn next(&mut self) -> Option<String> {
        if let Some(heard) = &mut self.heard {
            return heard.next().await;
        }
        if !self.streamed {
            let mut body = Vec::new();
            while let Some(piece) = self.answer.next().await {
                body.extend_from_slice(&piece);
            }
            let body = String::from_utf8(body).expect("answers are UTF-8");
            return (!body.is_empty()).then_some(body);
        }
        while self.frames.is_empty() {
            let events = self.parser.feed(&self.answer.next().await?);
            let frames = events.into_iter().map(|event| event.data);
            self.frames.extend(frames.filter(|data| !data.is_empty()));
        }
        self.frames.pop_front()
    }

    /// Waits for the answer; everything before it is a notice.
    pub async fn finish(mut self) -> Reply {
        let mut notices = Vec::new();
        while let Some(frame) = self.next().await {
            let parsed = Frame::read(&frame);
            let id = parsed.id.map(RawValue::get);
            let is_answer = parsed.method.is_none() && (id == Some(&self.id) || !self.streamed);
            if is_answer {
                return Reply {
                    status: self.answer.status,
                    headers: self.answer.headers.clone(),
                    streamed: self.streamed,
                    notices,
                    ..Reply::of_line(frame)
                };
            }
            notices.push(frame);
        }
        panic!(
            "status {}: the answer to {} never came, only {notices:?}",
            self.answer.status, self.id
        );
    }
}

/// An answer to a request.
#[derive(Debug, Clone)]
pub struct Reply {
    pub status: u16,
    pub headers: axum::http::HeaderMap,
    /// It came as an event stream.
    pub streamed: bool,
    /// The frames before the answer: notifications and questions.
    pub notices: Vec<String>,
    /// The whole frame.
    pub frame: String,
    result: Option<String>,
    error: Option<String>,
}

impl Reply {
    /// One that came on a pipe.
    pub(super) fn of_line(frame: String) -> Self {
        let parsed = Frame::read(&frame);
        let raw = |member: Option<&RawValue>| member.map(|raw| raw.get().to_owned());
        Self {
            status: 0,
            headers: axum::http::HeaderMap::new(),
            streamed: false,
            notices: Vec::new(),
            result: raw(parsed.result),
            error: raw(parsed.error),
            frame,
        }
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .map_or("", |value| value.to_str().expect("a readable header"))
    }

    /// The bytes of `result`.
    pub fn result(&self) -> &str {
        let failed = || panic!("status {}: no result in {}", self.status, self.frame);
        self.result.as_deref().unwrap_or_else(failed)
    }

    /// The bytes of `error`.
    pub fn error(&self) -> &str {
        let succeeded = || panic!("status {}: no error in {}", self.status, self.frame);
        self.error.as_deref().unwrap_or_else(succeeded)
    }

    /// The error as a tree.
    pub fn error_value(&self) -> Value {
        serde_json::from_str(self.error()).expect("an error is JSON")
    }

    pub fn error_code(&self) -> i64 {
        self.error_value()["code"]
            .as_i64()
            .expect("an error has a code")
    }

    /// The result as a tree: for looking into, not for comparing bytes.
    pub fn value(&self) -> Value {
        serde_json::from_str(self.result()).expect("a result is JSON")
    }

    /// The text of the first content block.
    pub fn text(&self) -> String {
        let text = self.value()["content"][0]["text"].take();
        let none = || panic!("no text in {}", self.frame);
        text.as_str().map_or_else(none, str::to_owned)
    }

    /// The JSON inside the text of a result that says `isError`.
    pub fn failure(&self) -> Value {
        assert_eq!(self.value()["isError"], true, "{}", self.frame);
        let text = self.text();
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text:?}"))
    }
}

/// The raw entries of a list inside a raw result, under this key.
pub fn entries(result: &str, key: &str) -> Vec<String> {
    use std::collections::BTreeMap;
    let fields: BTreeMap<String, &RawValue> =
        serde_json::from_str(result).expect("a result is an object");
    let list = fields
        .get(key)
        .unwrap_or_else(|| panic!("no {key} in {result}"));
    let entries: Vec<&RawValue> = serde_json::from_str(list.get()).expect("a list");
    entries.iter().map(|raw| raw.get().to_owned()).collect()
}
