//! Records of callers' requests to servers and to built-in tools. Each request has one record, from the moment when its target is known to
//! its end. A future that is dropped ends its record.

use super::{Reply, RequestError, Router, View};
use crate::{
    access::Caller,
    activity::{CallBody, CallEntrance, NewCall, OpenCall, RefusedNotice},
    call_context::{CallContext, CallId},
    failure::Failure,
    text::names::ServerName,
    wire::{Outcome, Request, Target},
};

impl Router {
    /// Begins the record of a client's request.
    pub(super) fn record(&self, context: &CallContext, view: &View, request: &Request) -> OpenCall {
        let body = CallBody::Params(request.params.as_ref());
        self.begin(context, Some(view.entrance()), &request.method, body)
    }

    /// Begins the record of a client's subscription to a resource or a task.
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

    /// Begins a record.
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

    /// Records a notification that was not passed on: its sender gets no answer.
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

    /// Records a request beyond the rate limit.
    pub fn note_too_often(&self, caller: &Caller, method: &str) {
        let caller = caller.shared_subject();
        self.0.activity.note_too_often(&caller, method);
    }
}

/// Ends the record of a request.
pub(super) fn end(record: OpenCall, answered: &Result<Reply, RequestError>) {
    match answered {
        Ok(Reply::Own(result)) => record.answered(result),
        Ok(Reply::Passed(outcome)) => end_passed(record, outcome),
        Err(error) => end_refused(record, error),
    }
}

/// Ends the record of a request that was forwarded, or refused.
pub(super) fn end_forwarded(record: OpenCall, forwarded: &Result<Outcome, RequestError>) {
    match forwarded {
        Ok(outcome) => end_passed(record, outcome),
        Err(error) => end_refused(record, error),
    }
}

fn end_passed(record: OpenCall, outcome: &Outcome) {
    match outcome {
        Outcome::Result(result) => record.answered(result),
        Outcome::Error(error) => record.refused_by_server(error),
    }
}

/// Ends the record of a request that mcpproxy refused, or could not forward.
pub(super) fn end_refused(record: OpenCall, error: &RequestError) {
    match error {
        RequestError::Failed(failure) => record.failed(failure),
        RequestError::Rpc(error) => record.was_wrong(error),
    }
}
