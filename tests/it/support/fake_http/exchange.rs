//! A request on its way, and its answer as JSON or as an event stream.

use std::{convert::Infallible, sync::Arc};

use axum::{
    body::{Body, Bytes},
    http::{HeaderMap, header},
    response::{IntoResponse, Response},
};
use futures_util::stream;
use tokio::sync::{broadcast, mpsc};

use super::{Shared, event, event_stream, json};
use crate::support::{interpreter::Output, modern::Word, record::How, script::HttpAnswers};

/// A request on its way: what follows from it, and a note in the record if the client leaves early.
struct Exchange {
    outputs: mpsc::Receiver<Output>,
    complete: bool,
    shared: Arc<Shared>,
    session: Option<String>,
    body: String,
}

impl Exchange {
    fn start(
        shared: Arc<Shared>,
        session: Option<String>,
        body: String,
        words: broadcast::Receiver<Word>,
    ) -> Self {
        let (out, outputs) = mpsc::channel(16);
        let (interpreter, frame) = (shared.interpreter.clone(), body.clone());
        tokio::spawn(async move { interpreter.receive(&frame, words, out).await });
        Self {
            outputs,
            complete: false,
            shared,
            session,
            body,
        }
    }

    /// The next frame, and what follows it.
    async fn next(&mut self) -> Option<(String, After)> {
        if self.complete {
            return None;
        }
        match self.outputs.recv().await {
            Some(Output::Notice(frame)) => Some((frame, After::More)),
            Some(Output::Answer(frame)) => {
                self.complete = true;
                Some((frame, After::Nothing))
            }
            Some(Output::Half(frame)) => {
                self.complete = true;
                Some((frame, After::Death))
            }
            Some(Output::Death) => {
                self.complete = true;
                self.die();
                std::future::pending().await
            }
            // A method that is never answered.
            None => std::future::pending().await,
        }
    }
}

/// What follows a frame.
enum After {
    More,
    Nothing,
    /// Only half of it is written.
    Death,
}

impl Exchange {
    fn die(&self) {
        self.shared.forget_sessions(None);
        self.shared.cut_connections();
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        if !self.complete {
            self.shared
                .note(How::Abandoned, &HeaderMap::new(), &self.body);
            return;
        }
        // What comes after the answer has only the session's own stream left.
        let (shared, session) = (self.shared.clone(), self.session.take());
        let mut outputs = std::mem::replace(&mut self.outputs, mpsc::channel(1).1);
        tokio::spawn(async move {
            while let Some(Output::Notice(frame)) = outputs.recv().await {
                shared.push(session.clone(), frame);
            }
        });
    }
}

pub(super) async fn exchange(
    shared: Arc<Shared>,
    session: Option<String>,
    answers: HttpAnswers,
    body: String,
    words: broadcast::Receiver<Word>,
) -> Response {
    let mut exchange = Exchange::start(shared, session, body, words);
    let piece = match answers {
        HttpAnswers::SseInPieces(size) => size,
        HttpAnswers::Json | HttpAnswers::Sse => usize::MAX,
    };
    let first = match answers {
        HttpAnswers::Json => match exchange.next().await {
            Some((answer, After::Nothing)) => {
                return json(answer);
            }
            Some((answer, After::Death)) => return half_of_json(exchange, &answer),
            first => first.map(|(frame, _)| frame),
        },
        HttpAnswers::Sse | HttpAnswers::SseInPieces(_) => None,
    };
    let first = first.map_or(Bytes::new(), |frame| event(&frame));
    let chunks = stream::unfold(
        (exchange, first),
        move |(mut exchange, mut rest)| async move {
            if rest.is_empty() {
                let (frame, after) = exchange.next().await?;
                rest = event(&frame);
                if matches!(after, After::Death) {
                    exchange.die();
                    let half = rest.split_to(rest.len() / 2);
                    return Some((Ok(half), (exchange, Bytes::new())));
                }
            } else {
                // Lets the server write what it has, so that pieces leave as pieces.
                tokio::task::yield_now().await;
            }
            let chunk = rest.split_to(piece.min(rest.len()));
            Some((Ok::<_, Infallible>(chunk), (exchange, rest)))
        },
    );
    event_stream(Body::from_stream(chunks))
}

/// An answer that ends in the middle.
fn half_of_json(exchange: Exchange, answer: &str) -> Response {
    let head = [
        (header::CONTENT_TYPE, "application/json".to_owned()),
        (header::CONTENT_LENGTH, answer.len().to_string()),
    ];
    let half = Bytes::copy_from_slice(&answer.as_bytes()[..answer.len() / 2]);
    let body = stream::unfold((exchange, Some(half)), async |(exchange, half)| {
        if let Some(half) = half {
            return Some((Ok(half), (exchange, None)));
        }
        exchange.die();
        Some((
            Err(std::io::Error::other("the server died")),
            (exchange, None),
        ))
    });
    (head, Body::from_stream(body)).into_response()
}
