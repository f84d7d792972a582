//! Calls over REST: the context in which one is made, and its answer. A client that accepts it gets the notifications about the call
//! first, one line of JSON each as they come, and the answer as the last line.

use std::{convert::Infallible, pin::Pin};

use axum::{
    body::Body,
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use futures_util::stream;
use http::{HeaderMap, header};
use serde_json::json;

use super::{Answer, Api, failure_words::for_sender, json_response};
use crate::{
    access::Caller,
    call_context::{CallContext, ClientReceiver, ClientSender},
    config::ChangeAuthor,
    failure::{RestFailure, Result, shown_failure},
    runtime::memory_budget::MemoryBudget,
    wire::{Raw, lines, method},
};

/// The type of an answer with notifications. Clients that accept it get them.
pub(super) const MEDIA_TYPE: &str = "application/x-ndjson";

/// Limit: bytes of notifications that wait for a client which reads slowly.
const WAITING: usize = 1 << 20;

/// The context of a call by this caller, and where its notifications come out if the client wants them.
pub(super) fn begin(
    api: &Api,
    caller: Caller,
    headers: &HeaderMap,
) -> (CallContext, Option<ClientReceiver>) {
    let calls = &api.0.calls;
    let mut context = CallContext::alone(calls, caller, method::TOOLS_CALL);
    context.begin_trace(None, None, calls.trace_in(headers).as_ref());
    let accepted = headers.get_all(header::ACCEPT).iter();
    let mut accepted = accepted.filter_map(|value| value.to_str().ok());
    let notices = accepted.any(|value| value.contains(MEDIA_TYPE)).then(|| {
        let (to_client, notices) = ClientSender::new(&MemoryBudget::of(WAITING));
        context.to_client = to_client;
        notices
    });
    (context, notices)
}

/// Answers a call with what it comes to. `undone` begins a failure that stands behind notifications; elsewhere the route adds it.
pub(super) async fn answer(
    notices: Option<ClientReceiver>,
    undone: &'static str,
    call: impl Future<Output = Result<Bytes>> + Send + 'static,
) -> Answer {
    let Some(notices) = notices else {
        return Ok(json_response(call.await?));
    };
    let answering = async move {
        call.await.unwrap_or_else(|failure| {
            let failure = RestFailure::of(for_sender(failure.undone(undone)));
            shown_failure(&failure).bytes().clone()
        })
    };
    // The answer is made after this task's end.
    let sender = ChangeAuthor::of_this_task();
    Ok(respond(notices, sender.during(answering)))
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
    /// The call is over; notifications that came before its end go first. Empty once its answer is written.
    Ending(Option<Bytes>),
}

/// The lines as they come. A client that leaves ends the call.
fn respond(
    notices: ClientReceiver,
    answering: impl Future<Output = Bytes> + Send + 'static,
) -> Response {
    let begun = (notices, Rest::Running(Box::pin(answering)));
    let written = stream::unfold(begun, |(notices, mut rest)| async move {
        let frame = loop {
            match &mut rest {
                Rest::Running(answering) => tokio::select! {
                    biased;
                    frame = notices.next() => break frame,
                    answer = answering => rest = Rest::Ending(Some(answer)),
                },
                Rest::Ending(answer) => break notices.take().or_else(|| answer.take())?,
            }
        };
        Some((Ok::<_, Infallible>(line(&frame)), (notices, rest)))
    });
    let kind = [(header::CONTENT_TYPE, MEDIA_TYPE)];
    (kind, Body::from_stream(written)).into_response()
}

fn line(frame: &Bytes) -> Bytes {
    let mut line = Vec::new();
    lines::append(frame, &mut line);
    line.into()
}
