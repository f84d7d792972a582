//! The same scripted server over HTTP+SSE of 2024-11-05: a stream, and an address to post to.

use std::{
    collections::BTreeMap,
    convert::Infallible,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use axum::{
    body::{Body, Bytes},
    extract::{RawQuery, State},
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
};
use futures_util::stream;
use tokio::sync::{broadcast, mpsc};

use super::{
    fake_http::{Pushed, Shared, event, event_stream, is_request},
    interpreter::Output,
    record::How,
    script::HttpAnswers,
};

/// The open streams by the id of their sessions.
#[derive(Default)]
pub struct Streams {
    open: Mutex<BTreeMap<String, mpsc::UnboundedSender<String>>>,
    n_opened: AtomicUsize,
}

impl Streams {
    /// Ends every stream, and knows none of their sessions any more.
    pub fn forget(&self) {
        self.open.lock().expect("no panic under lock").clear();
    }

    fn add(&self, sender: mpsc::UnboundedSender<String>) -> String {
        let number = self.n_opened.fetch_add(1, Ordering::Relaxed) + 1;
        let id = format!("fake-stream-{number}");
        let mut open = self.open.lock().expect("no panic under lock");
        open.insert(id.clone(), sender);
        id
    }

    fn find(&self, id: &str) -> Option<mpsc::UnboundedSender<String>> {
        let open = self.open.lock().expect("no panic under lock");
        open.get(id).cloned()
    }
}

/// What one stream writes, in pieces of so many bytes.
struct Source {
    rest: Bytes,
    piece: usize,
    own: mpsc::UnboundedReceiver<String>,
    pushed: broadcast::Receiver<Option<Pushed>>,
}

impl Source {
    async fn next(mut self) -> Option<(Result<Bytes, Infallible>, Self)> {
        if self.rest.is_empty() {
            let frame = tokio::select! {
                frame = self.own.recv() => frame?,
                pushed = self.pushed.recv() => pushed.ok()??.frame,
            };
            self.rest = event(&frame);
        } else {
            // Lets the server write what it has, so that pieces leave as pieces.
            tokio::task::yield_now().await;
        }
        let chunk = self.rest.split_to(self.piece.min(self.rest.len()));
        Some((Ok(chunk), self))
    }
}

pub async fn open(State(shared): State<Arc<Shared>>, headers: HeaderMap) -> Response {
    let (sender, own) = mpsc::unbounded_channel();
    let pushed = shared.pushed.subscribe();
    let id = shared.streams.add(sender);
    shared.note(How::Get, &headers, "");
    let piece = match shared.interpreter.script().http.answer {
        HttpAnswers::SseInPieces(size) => size,
        HttpAnswers::Json | HttpAnswers::Sse => usize::MAX,
    };
    let source = Source {
        rest: format!("event: endpoint\ndata: /messages?session_id={id}\n\n").into(),
        piece,
        own,
        pushed,
    };
    event_stream(Body::from_stream(stream::unfold(source, Source::next)))
}

pub async fn message(
    State(shared): State<Arc<Shared>>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    body: String,
) -> Response {
    if let Some(refusal) = shared.refusal() {
        return refusal;
    }
    let words = shared.interpreter.words();
    shared.note(How::Frame, &headers, &body);
    let query = query.unwrap_or_default();
    let id = query.strip_prefix("session_id=").unwrap_or_default();
    let Some(sender) = shared.streams.find(id) else {
        return (StatusCode::NOT_FOUND, "no such session").into_response();
    };
    let (out, mut outputs) = mpsc::channel(16);
    if is_request(&body) {
        let (interpreter, shared) = (shared.interpreter.clone(), shared.clone());
        tokio::spawn(async move { interpreter.receive(&body, words, out).await });
        tokio::spawn(async move {
            loop {
                let output = tokio::select! {
                    output = outputs.recv() => output,
                    () = sender.closed() => None,
                };
                match output {
                    // A stream that is gone has no use for it.
                    Some(Output::Notice(frame) | Output::Answer(frame)) => {
                        drop(sender.send(frame));
                    }
                    Some(Output::Half(_) | Output::Death) => {
                        shared.forget_sessions(None);
                        shared.cut_connections();
                    }
                    None => return,
                }
            }
        });
    } else {
        shared.interpreter.receive(&body, words, out).await;
    }
    let accepted = || (StatusCode::ACCEPTED, "Accepted").into_response();
    shared.failure().unwrap_or_else(accepted)
}
