//! `POST` on an MCP endpoint: one message, or a batch of the revision that has them.

use std::time::Duration;

use axum::{
    body::{Body, HttpBody},
    extract::Request as HttpRequest,
    response::Response,
};
use bytes::{Bytes, BytesMut};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use http_body_util::BodyExt;

use super::{
    Inbound,
    answer::{self, Answer, REVISION, SESSION},
    dispatch::{Envelope, MAX_MESSAGE, too_large, took},
    session::Agreed,
    stream,
};
use crate::{
    access::Caller,
    call_context::{ClientReceiver, ClientSender},
    router::View,
    wire::{FrameError, Message, Request, Revision, RpcError, method, parse_client, result_frame},
};

/// A body that is too large is read and thrown away up to this size, because many clients cannot hear an answer before they have
/// sent everything.
const MAX_DISCARDED: usize = 256 << 20;

/// How long a client may take to send its body.
const BODY_DEADLINE: Duration = Duration::from_mins(2);

/// A request without an answer after this time is answered by a stream, so that the client sees it alive.
const PATIENCE: Duration = Duration::from_secs(10);

/// How the client of a POST can be answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reads {
    /// One JSON message.
    Json,
    /// An event stream, too.
    Events,
}

impl Inbound {
    pub(super) async fn post(&self, caller: Caller, view: View, request: HttpRequest) -> Response {
        let (head, body) = request.into_parts();
        let body = match read(body).await {
            Ok(body) => body,
            Err(refusal) => return refusal,
        };
        let (mut messages, is_batch) = match parse_client(&body) {
            Ok(parsed) => parsed,
            Err(error) => return malformed(&error),
        };
        if self.is_stateless(&caller, &view, &head.headers, &messages) {
            return self
                .post_stateless(caller, view, &head.headers, messages, is_batch)
                .await;
        }
        let envelope = match self.envelope(caller, view, &head.headers, messages.first()) {
            Ok(envelope) => envelope,
            Err(refusal) => return refusal,
        };
        if is_batch {
            return self.array(&envelope, messages).await;
        }
        let reads = match &envelope.session {
            Some(_) if accepts_events(&head.headers) => Reads::Events,
            _ => Reads::Json,
        };
        match messages.pop() {
            Some(Ok(message)) => self.single(envelope, reads, message).await,
            Some(Err(error)) => malformed(&error),
            None => answer::accepted(),
        }
    }

    /// Finds the session and the revision. A request that opens a session needs neither.
    #[expect(
        clippy::result_large_err,
        reason = "the error is the answer, made once"
    )]
    fn envelope(
        &self,
        caller: Caller,
        view: View,
        headers: &HeaderMap,
        first: Option<&Result<Message, FrameError>>,
    ) -> Result<Envelope, Response> {
        let first_id = match first {
            Some(Ok(Message::Request(request))) => Some(&request.id),
            _ => None,
        };
        let opens = matches!(first, Some(Ok(Message::Request(request))) if &*request.method == method::INITIALIZE);
        let session = if headers.contains_key(SESSION) && !opens {
            let found = self.session_of(&caller, &view, headers);
            Some(found.ok_or_else(|| answer::no_session(first_id))?)
        } else {
            None
        };
        let said = headers
            .get(REVISION)
            .map(|value| value.to_str().unwrap_or_default());
        let agreed = session.as_ref().map(|session| session.agreed());
        let revision = match (&agreed, said) {
            (Some(agreed), _) => agreed.revision,
            (None, None) => Revision::UNSAID,
            (None, Some(said)) => match Revision::from_header(said) {
                Some(revision) => revision,
                // `initialize` of a client that names a newer revision: what is agreed, its params say.
                None if opens => Revision::NEWEST_LEGACY,
                None => {
                    let error = RpcError::invalid_request(format!(
                        "MCP-Protocol-Version {said:?} is not a revision"
                    ));
                    return Err(answer::rpc_error(StatusCode::BAD_REQUEST, first_id, &error));
                }
            },
        };
        let heard = session
            .as_ref()
            .and_then(|session| session.wishes.log_level());
        Ok(Envelope {
            view,
            caller,
            session,
            connection: None,
            revision,
            client: agreed.map(|agreed| agreed.client).unwrap_or_default(),
            log_level: heard,
        })
    }

    async fn single(&self, envelope: Envelope, reads: Reads, message: Message) -> Response {
        match message {
            Message::Request(request) if &*request.method == method::INITIALIZE => {
                self.initialize(&envelope, &request).await
            }
            Message::Request(request) => self.request(envelope, reads, request).await,
            Message::Notification(notification) => {
                self.notification(&envelope, &notification).await;
                answer::accepted()
            }
            Message::Response(response) => {
                took(envelope.session.as_deref(), response);
                answer::accepted()
            }
        }
    }

    async fn initialize(&self, envelope: &Envelope, request: &Request) -> Response {
        match self
            .0
            .router
            .open(&envelope.caller, &envelope.view, request.params.as_ref())
            .await
        {
            Ok(opening) => {
                let agreed = Agreed {
                    revision: opening.revision,
                    client: opening.client.clone(),
                };
                let session =
                    self.0
                        .sessions
                        .open(envelope.caller.clone(), envelope.view.clone(), agreed);
                tracing::debug!(client = opening.client.info.as_str(), revision = %opening.revision, "session opened");
                let mut response =
                    answer::json(StatusCode::OK, result_frame(&request.id, &opening.result));
                let id = HeaderValue::from_str(&session.id).expect("a UUID is a header value");
                response.headers_mut().insert(SESSION, id);
                response
            }
            Err(error) => answer::rpc_error(StatusCode::OK, Some(&request.id), &error),
        }
    }

    async fn request(&self, envelope: Envelope, reads: Reads, request: Request) -> Response {
        if reads == Reads::Json {
            let frame = self
                .answer(envelope, request, ClientSender::nowhere())
                .await;
            return frame.map_or_else(answer::accepted, |frame| {
                answer::json(StatusCode::OK, frame)
            });
        }
        let (to_client, receiver) = ClientSender::new();
        let session = envelope.session.clone();
        let answering = self.answer(envelope, request, to_client);
        let answering = Box::pin(async {
            answering.await.map(|frame| Answer {
                status: StatusCode::OK,
                frame,
            })
        });
        respond(receiver, answering, |receiver, answering| match &session {
            Some(session) => self.answering(session, receiver, answering),
            None => stream::answering(receiver, answering),
        })
        .await
    }

    async fn array(
        &self,
        envelope: &Envelope,
        messages: Vec<Result<Message, FrameError>>,
    ) -> Response {
        if !envelope.revision.has_batches() {
            let error =
                RpcError::invalid_request(format!("revision {} has no batches", envelope.revision));
            return answer::rpc_error(StatusCode::BAD_REQUEST, None, &error);
        }
        let answers = self.batch(envelope, messages).await;
        answers.map_or_else(answer::accepted, |answers| {
            answer::json(StatusCode::OK, answers)
        })
    }
}

/// JSON if the answer comes before anything else does, an event stream otherwise.
pub(super) async fn respond(
    receiver: ClientReceiver,
    mut answering: stream::Answering,
    stream: impl FnOnce(ClientReceiver, stream::Answering) -> Response,
) -> Response {
    tokio::select! {
        biased;
        answer = &mut answering => match (answer, receiver.take()) {
            (Some(answer), None) => answer::json(answer.status, answer.frame),
            (None, _) => answer::accepted(),
            (Some(answer), Some(notice)) => {
                receiver.put_back(notice);
                stream(receiver, Box::pin(std::future::ready(Some(answer))))
            }
        },
        notice = receiver.next() => {
            receiver.put_back(notice);
            stream(receiver, answering)
        }
        () = tokio::time::sleep(PATIENCE) => stream(receiver, answering),
    }
}

/// The whole body.
pub(super) async fn read(mut body: Body) -> Result<Bytes, Response> {
    let expected = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    let reading = async {
        let (mut text, mut size) = (BytesMut::with_capacity(expected.min(MAX_MESSAGE)), 0_usize);
        while let Some(frame) = body.frame().await {
            let data = frame
                .map_err(|_| answer::empty(StatusCode::BAD_REQUEST))?
                .into_data()
                .unwrap_or_default();
            size = size.saturating_add(data.len());
            if size <= MAX_MESSAGE {
                text.extend_from_slice(&data);
            } else if size > MAX_DISCARDED {
                break;
            } else {
                text = BytesMut::new();
            }
        }
        if size > MAX_MESSAGE {
            return Err(answer::rpc_error(
                StatusCode::PAYLOAD_TOO_LARGE,
                None,
                &too_large(),
            ));
        }
        Ok(text.freeze())
    };
    match tokio::time::timeout(BODY_DEADLINE, reading).await {
        Ok(body) => body,
        Err(_) => Err(answer::empty(StatusCode::REQUEST_TIMEOUT)),
    }
}

pub(super) fn malformed(error: &FrameError) -> Response {
    answer::rpc_error(StatusCode::BAD_REQUEST, None, &error.to_rpc_error())
}

fn accepts_events(headers: &HeaderMap) -> bool {
    headers
        .get_all(header::ACCEPT)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .any(|value| {
            value.contains("text/event-stream") || value.contains("*/*") || value.contains("text/*")
        })
}
