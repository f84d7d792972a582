//! A collector of spans that speaks OTLP over HTTP, inside the test's own process.

use std::{
    collections::BTreeMap,
    fmt::Write,
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{HeaderMap, StatusCode, Uri},
};
use opentelemetry_proto::tonic::{
    collector::trace::v1::ExportTraceServiceRequest,
    common::v1::{KeyValue, any_value},
    trace::v1::Span,
};
use prost::Message;

use super::{http, patience::until};

/// The running collector. It stops with the test's runtime.
pub struct FakeCollector {
    address: SocketAddr,
    posts: Posts,
}

type Posts = Arc<Mutex<Vec<Post>>>;

/// What it does with what it gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Collecting {
    Takes,
    Refuses(StatusCode),
    NeverAnswers,
}

/// One request.
#[derive(Debug, Clone)]
pub struct Post {
    pub path: String,
    pub headers: HeaderMap,
    pub body: Bytes,
}

/// A span as it came, its ids as they stand in a `traceparent`.
#[derive(Debug, Clone)]
pub struct SeenSpan {
    pub trace: String,
    pub id: String,
    pub parent: String,
    pub state: String,
    pub name: String,
    pub kind: &'static str,
    pub attributes: BTreeMap<String, String>,
    pub is_error: bool,
    pub message: String,
    /// In nanoseconds.
    pub from: u64,
    pub to: u64,
    /// Whose span it is.
    pub resource: BTreeMap<String, String>,
}

impl SeenSpan {
    /// An attribute; empty where there is none.
    pub fn get(&self, key: &str) -> &str {
        self.attributes.get(key).map_or("", String::as_str)
    }

    /// As whoever is asked for it names it.
    pub fn traceparent(&self) -> String {
        format!("00-{}-{}-01", self.trace, self.id)
    }
}

impl FakeCollector {
    pub async fn start() -> Self {
        Self::that(Collecting::Takes).await
    }

    pub async fn that(does: Collecting) -> Self {
        let posts = Posts::default();
        let router = Router::new()
            .fallback(take)
            .with_state((does, posts.clone()));
        let address = http::serve(router).await;
        Self { address, posts }
    }

    /// Its address, as it is configured.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// All that came.
    pub fn posts(&self) -> Vec<Post> {
        self.posts.lock().expect("no panic under lock").clone()
    }

    /// All spans that came.
    pub fn spans(&self) -> Vec<SeenSpan> {
        self.posts()
            .iter()
            .flat_map(|post| spans_of(&post.body))
            .collect()
    }

    /// Waits for the spans of so many that this is true of.
    pub async fn wait_for(
        &self,
        count: usize,
        is_meant: impl Fn(&SeenSpan) -> bool,
    ) -> Vec<SeenSpan> {
        until(&format!("{count} spans"), || {
            let mut spans = self.spans();
            spans.retain(|span| is_meant(span));
            (spans.len() >= count).then_some(spans)
        })
        .await
    }
}

async fn take(
    State((does, posts)): State<(Collecting, Posts)>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> StatusCode {
    let post = Post {
        path: uri.to_string(),
        headers,
        body,
    };
    posts.lock().expect("no panic under lock").push(post);
    match does {
        Collecting::Takes => StatusCode::OK,
        Collecting::Refuses(status) => status,
        Collecting::NeverAnswers => std::future::pending().await,
    }
}

fn spans_of(body: &Bytes) -> Vec<SeenSpan> {
    let request = ExportTraceServiceRequest::decode(body.clone()).expect("spans in protobuf");
    let mut all = Vec::new();
    for of_resource in request.resource_spans {
        let resource = of_resource.resource.expect("whose they are").attributes;
        let resource = pairs(resource);
        for of_scope in of_resource.scope_spans {
            let spans = of_scope.spans.into_iter();
            all.extend(spans.map(|span| seen(span, resource.clone())));
        }
    }
    all
}

fn seen(span: Span, resource: BTreeMap<String, String>) -> SeenSpan {
    let status = span.status.unwrap_or_default();
    SeenSpan {
        trace: hex(&span.trace_id),
        id: hex(&span.span_id),
        parent: hex(&span.parent_span_id),
        state: span.trace_state,
        name: span.name,
        kind: match span.kind {
            1 => "internal",
            2 => "server",
            3 => "client",
            _ => "other",
        },
        attributes: pairs(span.attributes),
        is_error: status.code == 2,
        message: status.message,
        from: span.start_time_unix_nano,
        to: span.end_time_unix_nano,
        resource,
    }
}

fn pairs(all: Vec<KeyValue>) -> BTreeMap<String, String> {
    let text = |pair: KeyValue| match pair.value.and_then(|value| value.value) {
        Some(any_value::Value::StringValue(text)) => (pair.key, text),
        other => (pair.key, format!("{other:?}")),
    };
    all.into_iter().map(text).collect()
}

fn hex(bytes: &[u8]) -> String {
    let mut digits = String::new();
    for byte in bytes {
        write!(digits, "{byte:02x}").expect("writing to memory");
    }
    digits
}
