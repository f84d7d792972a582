//! Sends one admitted request to its upstream and carries back what comes: notices in order onto the caller's own stream, then the
//! answer, untouched.

use super::{Refused, Reply, Router};
use crate::{
    call_context::CallContext,
    error_code::ErrorCode,
    gate::{Admitted, Wanted},
    names::ServerName,
    upstream::Outgoing,
    upstream::link::Inbound,
    wire::{
        Edit, Id, Notification, Outcome, Raw, Request, Revision, RpcError, bridge, meta, method,
        notification_frame, splice,
    },
};

impl Router {
    /// Forwards with `edits` made to the params, and with a progress token of ours in place of the client's.
    pub(super) async fn forward(
        &self,
        context: &CallContext,
        admitted: &Admitted,
        method: &str,
        params: Option<&Raw>,
        edits: &[(&str, Edit<'_>)],
    ) -> Result<Reply, Refused> {
        let number = Id::next_number();
        let token = progress_token(params)?;
        let had_token = token.is_some();
        let ours = Progress {
            number,
            token: token.filter(|_| context.outlet.is_open()),
        };
        let params = match params {
            Some(params) if had_token => Some(ours.put_into(params, edits)?),
            Some(params) => Some(edited(params, edits)?),
            None => None,
        };
        let upstream = self.upstream(admitted.server())?;
        let mut call = upstream
            .call(
                admitted,
                Outgoing {
                    number,
                    method,
                    params,
                    sender: context.sender(),
                },
            )
            .await?;
        loop {
            match call.next().await? {
                Inbound::Notice(notice) => {
                    if let Some(frame) = ours.bring_back(&notice) {
                        context.outlet.send(frame);
                    }
                }
                Inbound::Question(question) => {
                    let refusal =
                        Outcome::Error(RpcError::method_not_found(&question.method).to_raw());
                    call.answer(&question.id, &refusal).await?;
                }
                Inbound::Answer(outcome) => {
                    let outcome = bridged(context.revision, call.revision(), method, outcome);
                    return Ok(Reply::Passed(outcome));
                }
            }
        }
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
        self.forward(context, &admitted, &request.method, params, &edits)
            .await
    }
}

/// An upstream's answer as a client of this revision must get it.
fn bridged(client: Revision, upstream: Revision, method: &str, outcome: Outcome) -> Outcome {
    match outcome {
        Outcome::Result(result) => {
            Outcome::Result(bridge::result_for(client, upstream, method, result))
        }
        Outcome::Error(error) => Outcome::Error(bridge::error_for(client, upstream, method, error)),
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
struct Progress {
    number: u64,
    token: Option<Raw>,
}

impl Progress {
    fn put_into(&self, params: &Raw, edits: &[(&str, Edit<'_>)]) -> Result<Raw, RpcError> {
        let token = match &self.token {
            Some(_) => Edit::Set(Raw::author(&format!("p{}", self.number))),
            None => Edit::Remove,
        };
        let inner = [(meta::PROGRESS_TOKEN, token)];
        let mut all = edits.to_vec();
        all.push((meta::META, Edit::Within(&inner)));
        edited(params, &all)
    }

    /// The frame for the client; `None` for progress that it did not ask for.
    fn bring_back(&self, notice: &Notification) -> Option<bytes::Bytes> {
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
