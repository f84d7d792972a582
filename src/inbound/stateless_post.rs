//! A `POST` of the revision without handshake: one request or one notification, whose headers repeat what its body says.

use axum::response::Response;
use http::{HeaderMap, StatusCode, request::Parts};

use super::{
    Inbound,
    answer::{self, REVISION},
    answering::Answer,
    client_connection,
    dispatch::{ServedClient, Unframed, Work, no_batches_in},
    request_headers, stateless, stream,
};
use crate::{
    access::Caller,
    call_context::ClientSender,
    router::View,
    wire::{self, Id, Message, Notification, Request, RequestMeta, Revision, RpcError, method},
};

/// The revision that the header names.
fn named(headers: &HeaderMap) -> &str {
    let named = headers.get(REVISION).map(|value| value.to_str());
    named.and_then(Result::ok).unwrap_or_default()
}

/// Whether the header names a revision without handshake.
pub(super) fn is_named_by(headers: &HeaderMap) -> bool {
    Revision::is_modern_header(named(headers))
}

/// Whether what was posted is stateless. What is posted in a session is not, whatever the header of a client says that agreed on something
/// else in it.
pub(super) fn is_stateless(has_session: bool, headers: &HeaderMap, unframed: &Unframed) -> bool {
    let message = unframed.only();
    if message.is_some_and(stateless::is_stateless) {
        return true;
    }
    if has_session || message.is_some_and(stateless::is_opening) {
        return false;
    }
    is_named_by(headers) || message.is_some_and(stateless::is_modern_request)
}

impl Inbound {
    /// Answers it.
    pub(super) async fn post_stateless(
        &self,
        caller: Caller,
        view: View,
        head: &Parts,
        unframed: Unframed,
    ) -> Response {
        match unframed {
            Unframed::Batch(_) => refused(None, &no_batches_in(Revision::NEWEST)),
            Unframed::One(Message::Request(request)) => {
                self.stateless_request(caller, view, head, request).await
            }
            Unframed::One(Message::Notification(notification)) => {
                self.stateless_notification(caller, view, head, notification)
                    .await
            }
            Unframed::One(Message::Response(_)) => {
                let why = "this revision does not accept answers as messages";
                let step = "send them in \"inputResponses\"";
                refused(None, &RpcError::refused_request(why, step))
            }
        }
    }

    async fn stateless_request(
        &self,
        caller: Caller,
        view: View,
        head: &Parts,
        request: Request,
    ) -> Response {
        let meta = match self.checked(&view, &head.headers, &request) {
            Ok(meta) => meta,
            Err(error) => return refused(Some(&request.id), &error),
        };
        let connection = client_connection::of(head);
        let client = ServedClient::without_session(self, caller, view, meta.revision, connection);
        let client = client.with_headers(&head.headers);
        let (to_client, receiver) = ClientSender::new(self.memory());
        let answering = client.stateless(&meta, request, to_client);
        stream::respond(
            receiver,
            answering,
            status,
            answer::accepted,
            stream::answering,
        )
        .await
    }

    /// The sender's metadata in a request, once its headers agree with them. A request at odds with itself is refused for that before
    /// anything about its revision.
    fn checked(
        &self,
        view: &View,
        headers: &HeaderMap,
        request: &Request,
    ) -> Result<RequestMeta, RpcError> {
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
        let in_headers = tool.map(|name| self.0.router.header_params(view, &name));
        request_headers::check(headers, request, &in_headers.unwrap_or_default())?;
        meta
    }

    /// The core protocol has none over HTTP, where a request is withdrawn by closing its answer; extensions may have some.
    async fn stateless_notification(
        &self,
        caller: Caller,
        view: View,
        head: &Parts,
        notification: Notification,
    ) -> Response {
        let named = named(&head.headers);
        if Revision::is_modern_header(named) && Revision::parse(named).is_none() {
            return refused(None, &wire::unsupported(named));
        }
        let connection = client_connection::of(head);
        let client =
            ServedClient::without_session(self, caller, view, Revision::NEWEST, connection);
        let notification = Message::Notification(notification);
        if let Work::Noting(noting) = client.serve(notification, ClientSender::nowhere()) {
            noting.await;
        }
        answer::accepted()
    }
}

/// Refuses the asking itself.
fn refused(id: Option<&Id>, error: &RpcError) -> Response {
    let status = match error.code {
        RpcError::INVALID_PARAMS => StatusCode::BAD_REQUEST,
        code => answer::status_of(code),
    };
    answer::rpc_error(status, id, error)
}

fn status(answer: &Answer) -> StatusCode {
    answer.error.map_or(StatusCode::OK, answer::status_of)
}
