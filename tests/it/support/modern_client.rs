//! An MCP client of the revision without handshake that speaks raw frames over HTTP: every request carries its metadata, and its
//! headers repeat what its body says.

use std::{
    fmt::Display,
    net::SocketAddr,
    sync::atomic::{AtomicI64, Ordering},
};

use serde_json::{Value, json};

use super::{
    client::{Exchange, Reply, call_params},
    event_stream::EventStream,
    http::{self, HttpAnswer, KeptConnection, OpenAnswer, Reachable},
    patience::until_async,
};

pub use super::modern::stamped;

/// The revision that it speaks.
pub const MODERN: &str = "2026-07-28";

/// A client. Requests may run at once; each has a connection of its own, unless they shall share one.
pub struct ModernClient {
    to: SocketAddr,
    path: String,
    meta: Value,
    /// What it shows of itself with every request.
    shown: Vec<(String, String)>,
    last_id: AtomicI64,
    kept: Option<KeptConnection>,
}

/// What the requests of a client with these capabilities say of it.
pub fn meta_of(capabilities: &Value) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    })
}

impl ModernClient {
    /// A client that can do nothing but call.
    pub fn new(to: &impl Reachable, path: &str) -> Self {
        Self::able_to(to, path, &json!({}))
    }

    pub fn able_to(to: &impl Reachable, path: &str, capabilities: &Value) -> Self {
        Self {
            to: to.address(),
            path: path.to_owned(),
            meta: meta_of(capabilities),
            shown: Vec::new(),
            last_id: AtomicI64::new(0),
            kept: None,
        }
    }

    /// Says that it is of this name.
    pub fn named(mut self, name: &str) -> Self {
        self.meta["io.modelcontextprotocol/clientInfo"]["name"] = name.into();
        self
    }

    /// Sends its requests over one connection, one after the other.
    pub async fn on_one_connection(mut self) -> Self {
        self.kept = Some(KeptConnection::open(self.to).await);
        self
    }

    /// Sends this header with every request.
    pub fn showing(mut self, name: &str, value: &str) -> Self {
        self.shown.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Wants log lines from this level on.
    pub fn logging_at(mut self, level: &str) -> Self {
        self.meta["io.modelcontextprotocol/logLevel"] = level.into();
        self
    }

    pub async fn call(&self, tool: &str, arguments: impl Display) -> Reply {
        self.request("tools/call", call_params(tool, arguments))
            .await
    }

    /// Sends a request and waits for its answer.
    pub async fn request(&self, method: &str, params: impl Display) -> Reply {
        self.start(method, params).await.finish().await
    }

    /// Sends a request and waits for the head of its answer only. Dropping the exchange withdraws the request.
    pub async fn start(&self, method: &str, params: impl Display) -> Exchange {
        let (id, answer) = self.send(method, &params.to_string(), &[]).await;
        Exchange::new(id, answer, None)
    }

    /// Sends a request with these headers beside those that the body asks for.
    pub async fn start_with(
        &self,
        method: &str,
        params: impl Display,
        headers: &[(&str, &str)],
    ) -> Exchange {
        let (id, answer) = self.send(method, &params.to_string(), headers).await;
        Exchange::new(id, answer, None)
    }

    /// Opens a stream of news; its first event is the acknowledgement.
    pub async fn listen(&self, notifications: &str) -> EventStream {
        let params = format!(r#"{{"notifications":{notifications}}}"#);
        let (_, answer) = self.send("subscriptions/listen", &params, &[]).await;
        assert_eq!(answer.status, 200, "subscriptions/listen");
        assert_eq!(answer.header("content-type"), "text/event-stream");
        EventStream::new(answer)
    }

    /// The id of the request that was sent last.
    pub fn last_id(&self) -> i64 {
        self.last_id.load(Ordering::Relaxed)
    }

    /// Posts a body with exactly these headers.
    pub async fn raw_post(&self, headers: &[(&str, &str)], body: &str) -> HttpAnswer {
        http::send(self.to, "POST", &self.path, headers, body.to_owned()).await
    }

    /// The names that `tools/list` gives.
    pub async fn tool_names(&self) -> Vec<String> {
        let list = self.request("tools/list", "{}").await.value();
        let tools = list["tools"].as_array().expect("a list of tools");
        let name = |tool: &Value| tool["name"].as_str().expect("a name").to_owned();
        tools.iter().map(name).collect()
    }

    /// Waits until this tool is listed.
    pub async fn wait_for_tool(&self, name: &str) {
        until_async(&format!("{name} in the list"), async || {
            let names = self.tool_names().await;
            names.iter().any(|known| known == name).then_some(())
        })
        .await;
    }

    async fn send(
        &self,
        method: &str,
        params: &str,
        more: &[(&str, &str)],
    ) -> (String, OpenAnswer) {
        let id = self.last_id.fetch_add(1, Ordering::Relaxed) + 1;
        let params = stamped(params, &self.meta);
        let frame =
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#);
        let read: Value = serde_json::from_str(&params).expect("params are JSON");
        let mut headers = vec![
            ("content-type", "application/json"),
            ("accept", "application/json, text/event-stream"),
            ("mcp-protocol-version", MODERN),
            ("mcp-method", method),
        ];
        let named = match method {
            "tools/call" | "prompts/get" => read["name"].as_str(),
            "resources/read" => read["uri"].as_str(),
            "tasks/get" | "tasks/update" | "tasks/cancel" => read["taskId"].as_str(),
            _ => None,
        };
        headers.extend(named.map(|name| ("mcp-name", name)));
        headers.extend(more);
        headers.extend(self.shown.iter().map(|(name, value)| (&**name, &**value)));
        let answer = match &self.kept {
            Some(kept) => kept.send("POST", &self.path, &headers, frame).await,
            None => http::open(self.to, "POST", &self.path, &headers, frame).await,
        };
        (id.to_string(), answer)
    }
}
