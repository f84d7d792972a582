//! Sends one admitted request to its upstream: its params edited where names differ, a progress token of ours in place of the
//! client's.

use std::time::Duration;

use super::{Refused, Reply, Router, exchange::Running, rounds::Resumed};
use crate::{
    call_context::CallContext,
    error_code::ErrorCode,
    gate::{Admitted, AdmittedMessage},
    names::ServerName,
    upstream::{Outgoing, Requestor},
    wire::{
        Edit, Notification, Raw, Request, RpcError, Target, meta, method, notification_frame,
        splice,
    },
};

/// How the upstream's things are called where the client sees them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shown {
    /// As the upstream calls them: the client knows whom it talks to.
    Own,
    /// Under names that tell the server; so must questions to the user.
    Offered,
}

/// A request as it is about to be sent.
pub(super) struct Begun<'a> {
    /// The params as the client wrote them.
    pub(super) params: Option<&'a Raw>,
    /// What is changed of them besides the name and the progress token.
    pub(super) edits: &'a [(&'a str, Edit<'a>)],
    /// The client's progress token.
    pub(super) token: Option<Raw>,
    pub(super) shown: Shown,
}

impl Router {
    /// Forwards a request of an endpoint that shows many servers, with `edits` made to the params.
    pub(super) async fn forward(
        &self,
        context: &CallContext,
        admitted: &Admitted,
        params: Option<&Raw>,
        edits: &[(&str, Edit<'_>)],
    ) -> Result<Reply, Refused> {
        self.send(context, admitted, params, edits, Shown::Offered)
            .await
    }

    async fn send(
        &self,
        context: &CallContext,
        admitted: &Admitted,
        params: Option<&Raw>,
        edits: &[(&str, Edit<'_>)],
        shown: Shown,
    ) -> Result<Reply, Refused> {
        let begun = Begun {
            params,
            edits,
            token: progress_token(params)?,
            shown,
        };
        let running = match self.resumed(context, admitted, &begun).await? {
            Some(Resumed::Asking(reply)) => return Ok(reply),
            Some(Resumed::Going(running)) => *running,
            None => self.begin(context, admitted, begun).await?,
        };
        self.run(context, admitted, running).await
    }

    /// Sends a request, with a progress token of ours in place of the client's.
    pub(super) async fn begin(
        &self,
        context: &CallContext,
        admitted: &Admitted,
        begun: Begun<'_>,
    ) -> Result<Running, Refused> {
        let upstream = self.upstream(context, admitted, begun.shown).await?;
        let number = upstream.next_number();
        let had_token = begun.token.is_some();
        let progress = Progress {
            number,
            token: begun.token.filter(|_| context.to_client.is_open()),
        };
        let message = if had_token {
            progress.put_into(admitted, begun.params, begun.edits)?
        } else {
            admitted.message(begun.params, begun.edits)?
        };
        let requestor = match &context.session {
            Some(session) => Requestor::Session(session.key().clone()),
            None => Requestor::Unidentified,
        };
        let outgoing = Outgoing {
            number,
            message: &message,
            sender: context.sender(),
            requestor,
            stream: &context.to_client,
            deadline: context.deadline,
        };
        let call = upstream.call(outgoing).await?;
        Ok(Running {
            call,
            progress,
            method: admitted.method().into(),
            params: message.params().cloned(),
            shown: begun.shown,
            rounds: 0,
            waited: Duration::ZERO,
        })
    }

    /// Forwards a request of a transparent endpoint as it is, whatever its method.
    pub(super) async fn pass(
        &self,
        context: &CallContext,
        server: &ServerName,
        request: &Request,
    ) -> Result<Reply, Refused> {
        let params = request.params.as_ref();
        let target = Target::of(&request.method, params)?;
        let admitted = self.0.gate.admit(&context.caller, server.as_str(), target);
        let admitted = admitted.map_err(|failure| match failure.code {
            ErrorCode::UnknownTool => {
                RpcError::invalid_params(format!("{}. {}", failure.error, failure.hint)).into()
            }
            _ => Refused::from(failure),
        })?;
        self.send(context, &admitted, params, &[], Shown::Own).await
    }
}

/// The client's token. It must be found wherever the upstream would find one: a token that passed could be that of another call.
fn progress_token(params: Option<&Raw>) -> Result<Option<Raw>, RpcError> {
    let Some([found]) = params.map(|params| params.look_up([meta::META])) else {
        return Ok(None);
    };
    if found.times > 1 {
        return Err(RpcError::invalid_params("`_meta` stands there twice"));
    }
    Ok(found.value.and_then(|meta| meta.get(meta::PROGRESS_TOKEN)))
}

/// The client's progress token and ours.
pub(super) struct Progress {
    number: u64,
    token: Option<Raw>,
}

impl Progress {
    /// From now on the client knows the progress by this token.
    pub(super) fn heard_as(&mut self, token: Option<Raw>) {
        self.token = token;
    }

    pub(super) fn token(&self) -> Option<Raw> {
        self.token.clone()
    }

    fn put_into<'a>(
        &self,
        admitted: &'a Admitted,
        params: Option<&Raw>,
        edits: &[(&str, Edit<'_>)],
    ) -> Result<AdmittedMessage<'a>, RpcError> {
        let token = match &self.token {
            Some(_) => Edit::Set(Raw::author(&format!("p{}", self.number))),
            None => Edit::Remove,
        };
        let inner = [(meta::PROGRESS_TOKEN, token)];
        let token = (meta::META, Edit::Within(&inner));
        let edits: Vec<(&str, Edit<'_>)> = edits.iter().cloned().chain([token]).collect();
        admitted.message(params, &edits)
    }

    /// The frame for the client; `None` for progress that it did not ask for.
    pub(super) fn bring_back(&self, notice: &Notification) -> Option<bytes::Bytes> {
        if &*notice.method != method::PROGRESS {
            return Some(notification_frame(&notice.method, notice.params.as_ref()));
        }
        let (token, params) = (self.token.as_ref()?, notice.params.as_ref()?);
        let named = params.get(meta::PROGRESS_TOKEN)?.string()?;
        if named
            .strip_prefix('p')
            .and_then(|digits| digits.parse().ok())
            != Some(self.number)
        {
            return None;
        }
        let params = splice(params, &[(meta::PROGRESS_TOKEN, Edit::Set(token.clone()))]).ok()?;
        Some(notification_frame(method::PROGRESS, Some(&params)))
    }
}
