//! A `POST` of the revision without handshake: one request or one notification, whose headers repeat what its body says.

use axum::response::Response;
use http::{HeaderMap, StatusCode};

use super::{
    Inbound,
    answer::{self, Answer, REVISION},
    dispatch::{Envelope, framed},
    post, request_headers, stateless, stream,
};
use crate::{
    access::Caller,
    call_context::ClientSender,
    router::View,
    wire::{
        self, FrameError, Id, Message, Notification, Outcome, Raw, Request, RequestMeta, Revision,
        RpcError, method,
    },
};

/// The HTTP status that goes with an error, whoever it is of: the one table (transports, "Protocol Version Header" and "Server
/// Validation"). Whatever is about the thing that was asked for, rather than about the asking, is an answer like any other.
fn status_of(code: i64) -> StatusCode {
    match code {
        RpcError::PARSE_ERROR
        | RpcError::INVALID_REQUEST
        | RpcError::HEADER_MISMATCH
        | RpcError::MISSING_CAPABILITY
        | RpcError::UNSUPPORTED_REVISION => StatusCode::BAD_REQUEST,
        RpcError::METHOD_NOT_FOUND => StatusCode::NOT_FOUND,
        _ => StatusCode::OK,
    }
}

/// The revision that the header names.
fn said(headers: &HeaderMap) -> &str {
    let said = headers.get(REVISION).map(|value| value.to_str());
    said.and_then(Result::ok).unwrap_or_default()
}

/// Whether the header names a revision without handshake.
pub(super) fn is_named_by(headers: &HeaderMap) -> bool {
    Revision::is_modern_header(said(headers))
}

impl Inbound {
    /// Whether what was posted speaks for itself. A session that is here stays one, whatever the header of a client says that
    /// agreed on something else in it.
    pub(super) fn is_stateless(
        &self,
        caller: &Caller,
        view: &View,
        headers: &HeaderMap,
        messages: &[Result<Message, FrameError>],
    ) -> bool {
        let message = match messages {
            [Ok(message)] => Some(message),
            _ => None,
        };
        if message.is_some_and(stateless::speaks_for_itself) {
            return true;
        }
        if self.session_of(caller, view, headers).is_some()
            || message.is_some_and(stateless::is_opening)
        {
            return false;
        }
        is_named_by(headers) || message.is_some_and(stateless::is_modern_request)
    }

    /// Answers it.
    pub(super) async fn post_stateless(
        &self,
        caller: Caller,
        view: View,
        headers: &HeaderMap,
        mut messages: Vec<Result<Message, FrameError>>,
        is_batch: bool,
    ) -> Response {
        if is_batch {
            let why = format!("revision {} has no batches", Revision::NEWEST);
            return refused(None, &RpcError::invalid_request(why));
        }
        match messages.pop() {
            Some(Ok(Message::Request(request))) => {
                self.stateless_request(caller, view, headers, request).await
            }
            Some(Ok(Message::Notification(notification))) => {
                self.stateless_notification(&caller, view, headers, &notification)
                    .await
            }
            Some(Ok(Message::Response(_))) => {
                let why = "nothing is asked of clients in this revision, so they answer nothing";
                refused(None, &RpcError::invalid_request(why))
            }
            Some(Err(error)) => post::malformed(&error),
            None => answer::accepted(),
        }
    }

    async fn stateless_request(
        &self,
        caller: Caller,
        view: View,
        headers: &HeaderMap,
        request: Request,
    ) -> Response {
        let envelope = match self.envelope_of(caller, view, headers, &request) {
            Ok(envelope) => envelope,
            Err(error) => return refused(Some(&request.id), &error),
        };
        let (inbound, (to_client, receiver)) = (self.clone(), ClientSender::new());
        post::respond(
            receiver,
            Box::pin(async move {
                let _present = inbound.presence().enter();
                let outcome = inbound.outcome(envelope, &request, to_client).await;
                Some(Answer {
                    status: status(&outcome),
                    frame: framed(&request.id, &outcome),
                })
            }),
            stream::answering,
        )
        .await
    }

    /// What a request says of its sender, once its headers are known to say the same. A request at odds with itself hears of that
    /// before anything about its revision.
    fn envelope_of(
        &self,
        caller: Caller,
        view: View,
        headers: &HeaderMap,
        request: &Request,
    ) -> Result<Envelope, RpcError> {
        let params = request.params.as_ref();
        let meta = RequestMeta::read(params);
        if let Err(error) = &meta
            && error.code == RpcError::INVALID_PARAMS
        {
            return Err(error.clone());
        }
        let tool = match &*request.method {
            method::TOOLS_CALL => params.and_then(|params| params.get("name")),
            _ => None,
        };
        let tool = tool.and_then(|name| name.string());
        let in_headers = tool.map(|name| self.0.router.header_params(&view, &name));
        request_headers::check(headers, request, &in_headers.unwrap_or_default())?;
        Ok(Envelope::stateless(view, caller, &meta?))
    }

    /// The core protocol has none over HTTP, where a request is withdrawn by closing its answer; extensions may have some.
    async fn stateless_notification(
        &self,
        caller: &Caller,
        view: View,
        headers: &HeaderMap,
        notification: &Notification,
    ) -> Response {
        let said = said(headers);
        if Revision::is_modern_header(said) && Revision::parse(said).is_none() {
            return refused(None, &wire::unsupported(said));
        }
        let router = &self.0.router;
        router.notification(caller, None, &view, notification).await;
        answer::accepted()
    }
}

/// Refuses the asking itself.
fn refused(id: Option<&Id>, error: &RpcError) -> Response {
    let status = match error.code {
        RpcError::INVALID_PARAMS => StatusCode::BAD_REQUEST,
        code => status_of(code),
    };
    answer::rpc_error(status, id, error)
}

fn status(outcome: &Outcome) -> StatusCode {
    match outcome {
        Outcome::Result(_) => StatusCode::OK,
        Outcome::Error(error) => code(error).map_or(StatusCode::OK, status_of),
    }
}

fn code(error: &Raw) -> Option<i64> {
    error.get("code")?.read().ok()
}
