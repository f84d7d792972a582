//! Sends one admitted request to its upstream: its params edited where names differ, a progress token of ours in place of the
//! client's.

use std::time::Duration;

use super::{Refused, Reply, Router, exchange::Running, rounds::Resumed};
use crate::{
    call_context::CallContext,
    error_code::ErrorCode,
    gate::{Admitted, Wanted},
    names::ServerName,
    upstream::{Behalf, Outgoing},
    wire::{Edit, Notification, Raw, Request, RpcError, meta, method, notification_frame, splice},
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
    pub(super) method: &'a str,
    /// The params as the client wrote them.
    pub(super) original: Option<&'a Raw>,
    /// The params as the upstream gets them, but for what differs between the eras.
    pub(super) params: Option<Raw>,
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
        method: &str,
        params: Option<&Raw>,
        edits: &[(&str, Edit<'_>)],
    ) -> Result<Reply, Refused> {
        self.send(context, admitted, method, params, edits, Shown::Offered)
            .await
    }

    async fn send(
        &self,
        context: &CallContext,
        admitted: &Admitted,
        method: &str,
        params: Option<&Raw>,
        edits: &[(&str, Edit<'_>)],
        shown: Shown,
    ) -> Result<Reply, Refused> {
        let begun = Begun {
            method,
            original: params,
            params: params.map(|params| edited(params, edits)).transpose()?,
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
        let upstream = self
            .upstream(context, admitted.server(), begun.shown)
            .await?;
        let number = upstream.next_number();
        let had_token = begun.token.is_some();
        let progress = Progress {
            number,
            token: begun.token.filter(|_| context.to_client.is_open()),
        };
        let sent = match &begun.params {
            Some(params) if had_token => Some(progress.put_into(params)?),
            params => params.clone(),
        };
        let behalf = match &context.session {
            Some(session) => Behalf::Session(session.key().clone()),
            None => Behalf::Itself,
        };
        let outgoing = Outgoing {
            number,
            method: begun.method,
            params: sent,
            sender: context.sender(),
            behalf,
            stream: &context.to_client,
            deadline: context.deadline,
        };
        let call = upstream.call(admitted, outgoing).await?;
        Ok(Running {
            call,
            progress,
            method: begun.method.into(),
            params: begun.params,
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
        let text = |key: &str| {
            params
                .and_then(|p| p.get(key))
                .and_then(|value| value.string())
        };
        let (name, uri) = (text("name"), text("uri"));
        let wanted = match (&*request.method, &name, &uri) {
            (method::TOOLS_CALL, Some(name), _) => Wanted::Tool(name),
            (method::TOOLS_CALL, None, _) => {
                return Err(RpcError::invalid_params("tools/call: `name` is missing").into());
            }
            (method::PROMPTS_GET, Some(name), _) => Wanted::Prompt(name),
            (method::RESOURCES_READ, _, Some(uri)) => Wanted::Resource(uri),
            (other, _, _) => Wanted::Method(other),
        };
        let admitted =
            self.admit(context, server.as_str(), wanted)
                .map_err(|failure| match failure.code {
                    ErrorCode::UnknownTool => {
                        RpcError::invalid_params(format!("{}. {}", failure.error, failure.hint))
                            .into()
                    }
                    _ => Refused::from(failure),
                })?;
        // Set again, so that a name which stands twice means for the upstream what it meant for the gate.
        let edits: Vec<(&str, Edit<'_>)> = match wanted {
            Wanted::Tool(name) | Wanted::Prompt(name) => once(params, "name", name),
            Wanted::Resource(uri) => once(params, "uri", uri),
            Wanted::Method(_) => vec![],
        };
        let method = &request.method;
        self.send(context, &admitted, method, params, &edits, Shown::Own)
            .await
    }
}

/// Nothing to edit if the key stands there once.
fn once(
    params: Option<&Raw>,
    key: &'static str,
    value: &str,
) -> Vec<(&'static str, Edit<'static>)> {
    match params.map(|params| params.look_up([key])) {
        Some([found]) if found.times > 1 => vec![(key, Edit::Set(Raw::author(&value)))],
        _ => vec![],
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

fn edited(params: &Raw, edits: &[(&str, Edit<'_>)]) -> Result<Raw, RpcError> {
    if edits.is_empty() {
        return Ok(params.clone());
    }
    splice(params, edits).map_err(|_| RpcError::invalid_params("`params` is not an object"))
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

    fn put_into(&self, params: &Raw) -> Result<Raw, RpcError> {
        let token = match &self.token {
            Some(_) => Edit::Set(Raw::author(&format!("p{}", self.number))),
            None => Edit::Remove,
        };
        let inner = [(meta::PROGRESS_TOKEN, token)];
        edited(params, &[(meta::META, Edit::Within(&inner))])
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
