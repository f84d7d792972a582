//! Records of what callers ask of servers and of the tools of our own: each request has one, from where it is known what it wants to its
//! end, whatever that is. A future that is dropped ends its record with it.

use std::fmt;

use super::{Reply, RequestError, Router, View};
use crate::{
    access::Caller,
    activity::{CallBody, CallEntrance, NewCall, OpenCall, RefusedNotice},
    call_context::{CallContext, CallId},
    config::RoutingMode,
    failure::Failure,
    text::names::ServerName,
    wire::{Outcome, Request, Target},
};

impl Router {
    /// The record of a client's request.
    pub(super) fn record(&self, context: &CallContext, view: &View, request: &Request) -> OpenCall {
        let body = CallBody::Params(request.params.as_ref());
        self.begin(context, Some(view.entrance()), &request.method, body)
    }

    /// The record of a client that wants to hear of a resource or a task.
    pub(super) fn record_following(
        &self,
        context: &CallContext,
        view: &View,
        target: &Target<'_>,
    ) -> OpenCall {
        let body = CallBody::Params(None);
        let mut record = self.begin(context, Some(view.entrance()), target.method(), body);
        record.is_of(None, target.thing());
        record
    }

    /// The record of a request of which only this is known yet.
    pub(super) fn begin(
        &self,
        context: &CallContext,
        endpoint: Option<CallEntrance>,
        method: &str,
        body: CallBody<'_>,
    ) -> OpenCall {
        self.0.activity.begin(NewCall {
            id: context.id.number(),
            parent: context.parent.map(CallId::number),
            caller: context.caller.shared_subject(),
            client: &context.client.info,
            endpoint,
            method,
            body,
            trace: context.trace.clone(),
            course: context.course.clone(),
        })
    }

    /// A notification that was not passed on: it has no answer to show that.
    pub(super) fn note_refused(
        &self,
        caller: &Caller,
        server: &ServerName,
        method: &str,
        why: &Failure,
    ) {
        self.0.activity.note_refusal(RefusedNotice {
            caller: Some(caller.shared_subject()),
            method: Some(method.into()),
            server: Some(server.as_str().into()),
            code: Some(why.code),
            error: why.error.clone(),
            ..RefusedNotice::default()
        });
    }

    /// A request that was one too many.
    pub fn note_too_often(&self, caller: &Caller, method: &str) {
        let caller = caller.shared_subject();
        self.0.activity.note_too_often(&caller, method);
    }
}

/// What became of a request.
pub(super) fn end(record: OpenCall, answered: &Result<Reply, RequestError>) {
    match answered {
        Ok(Reply::Own(result) | Reply::Passed(Outcome::Result(result))) => record.answered(result),
        Ok(Reply::Passed(Outcome::Error(error))) => record.refused_by_server(error),
        Err(error) => end_in_vain(record, error),
    }
}

/// The same of one that was passed on.
pub(super) fn end_with(record: OpenCall, passed: &Result<Outcome, RequestError>) {
    match passed {
        Ok(Outcome::Result(result)) => record.answered(result),
        Ok(Outcome::Error(error)) => record.refused_by_server(error),
        Err(error) => end_in_vain(record, error),
    }
}

pub(super) fn end_in_vain(record: OpenCall, error: &RequestError) {
    match error {
        RequestError::Failed(failure) => record.failed(failure),
        RequestError::Rpc(error) => record.was_wrong(error),
    }
}

impl fmt::Display for View {
    /// As the address that shows it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.entrance())
    }
}

impl View {
    /// The address that shows it, as calls and their records name it.
    pub fn entrance(&self) -> CallEntrance {
        match self {
            Self::Configured => CallEntrance::Path("/mcp"),
            Self::Mode(RoutingMode::RetrieveTools) => CallEntrance::Path("/mcp/call"),
            Self::Mode(RoutingMode::Direct) => CallEntrance::Path("/mcp/all"),
            Self::Mode(RoutingMode::CodeExecution) => CallEntrance::Path("/mcp/code"),
            Self::Mode(RoutingMode::Proxy) => CallEntrance::Path("/mcp/proxy"),
            Self::Profile(profile) => CallEntrance::Profile(profile.clone()),
            Self::Server(server) => CallEntrance::Server(server.clone()),
        }
    }
}
