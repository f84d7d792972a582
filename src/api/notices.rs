//! The answer to a call with the notices before it: a line of JSON for each notification of the server about the call, and
//! the answer as the last line. Lines are written as they come.

use std::{convert::Infallible, pin::Pin};

use axum::{
    body::Body,
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use futures_util::stream;
use http::{HeaderMap, header};
use serde_json::json;

use crate::{
    call_context::{ClientReceiver, ClientSender},
    runtime::memory_budget::MemoryBudget,
    wire::{Raw, lines},
};

/// The type of such an answer. Clients that accept it get notifications.
pub(super) const MEDIA_TYPE: &str = "application/x-ndjson";

/// Limit: bytes of notifications that wait for a client which reads slowly.
const WAITING: usize = 1 << 20;

/// Whether what comes before the answer is wanted.
pub(super) fn is_wanted(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(header::ACCEPT).iter();
    let mut accepted = accepted.filter_map(|value| value.to_str().ok());
    accepted.any(|value| value.contains(MEDIA_TYPE))
}

/// The way for notifications.
pub(super) fn channel() -> (ClientSender, ClientReceiver) {
    ClientSender::new(&MemoryBudget::of(WAITING))
}

/// Params that ask a server for its progress.
pub(super) fn progress_params() -> Raw {
    Raw::author(&json!({ "_meta": { "progressToken": 1 } }))
}

type Answering = Pin<Box<dyn Future<Output = Bytes> + Send>>;

/// What is still to be written.
enum Rest {
    /// The call runs.
    Running(Answering),
    /// The answer is there; notifications that came before it go first.
    Answered(Bytes),
    Written,
}

/// The lines. A client that leaves ends the call.
pub(super) fn respond(
    notices: ClientReceiver,
    answering: impl Future<Output = Bytes> + Send + 'static,
) -> Response {
    let begun = (notices, Rest::Running(Box::pin(answering)));
    let written = stream::unfold(begun, |(notices, mut rest)| async move {
        let item = |frame: &Bytes, notices, rest| {
            Some((Ok::<_, Infallible>(line(frame)), (notices, rest)))
        };
        loop {
            rest = match rest {
                Rest::Running(mut answering) => tokio::select! {
                    biased;
                    frame = notices.next() => return item(&frame, notices, Rest::Running(answering)),
                    answer = &mut answering => Rest::Answered(answer),
                },
                Rest::Answered(answer) => match notices.take() {
                    Some(frame) => return item(&frame, notices, Rest::Answered(answer)),
                    None => return item(&answer, notices, Rest::Written),
                },
                Rest::Written => return None,
            }
        }
    });
    let kind = [(header::CONTENT_TYPE, MEDIA_TYPE)];
    (kind, Body::from_stream(written)).into_response()
}

fn line(frame: &Bytes) -> Bytes {
    let mut line = Vec::new();
    lines::append(frame, &mut line);
    line.into()
}
