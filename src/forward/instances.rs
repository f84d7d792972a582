//! Which instance of a server a request goes to: the one that all share, the client's own, one that is leased for the request, or that
//! of its workspace. The one place that decides this, whatever a client wants of the server.

use std::{sync::Arc, time::Duration};

use futures_util::future::FutureExt;

use super::{label, questions::answer_or_refusal, request::EndpointKind};
use crate::{
    access::Caller,
    call_context::{CallContext, ClientIdentity, ClientSession, Unasked},
    config::Root,
    error_code::{ErrorCode, Failure},
    fingerprint::Fingerprint,
    gate::Admitted,
    names::ServerName,
    upstream::{
        Ask, InstanceScope, Lease, Lessee, Requestor, SessionKey, Sharing, TellClient, Upstream,
        Upstreams,
    },
    wire::{Outcome, Raw, bridge, method, notification_frame},
};

/// How long a client may take to name its roots. A call waits for it.
const ROOTS: Duration = Duration::from_secs(10);

/// Limit: roots of one client. Nobody opens more folders.
const MAX_ROOTS: usize = 256;

/// The connection that a request goes over.
pub(super) struct Chosen {
    pub(super) upstream: Upstream,
    /// If the request has it to itself.
    pub(super) lease: Option<Lease>,
}

impl Chosen {
    /// The client that the server hears there, as far as that can be told.
    pub(super) fn requestor(&self, context: &CallContext) -> Requestor {
        match (&self.lease, &context.session, context.connection) {
            (Some(lease), ..) => lease.requestor().clone(),
            (None, Some(session), _) => Requestor::Session(session.key().clone()),
            (None, None, Some(connection)) => Requestor::Connection {
                number: connection.number(),
                subject: context.caller.subject().into(),
            },
            (None, None, None) => Requestor::Unidentified,
        }
    }
}

impl From<Upstream> for Chosen {
    fn from(upstream: Upstream) -> Self {
        let lease = None;
        Self { upstream, lease }
    }
}

/// Where an admitted request goes.
pub(super) async fn choose(
    upstreams: &Upstreams,
    context: &CallContext,
    admitted: &Admitted,
    endpoint: EndpointKind,
) -> Result<Chosen, Failure> {
    let base = upstreams.of(admitted)?;
    // Few servers are not shared: these futures are no part of every call's.
    let chosen = match base.sharing() {
        Sharing::All => base,
        Sharing::Unable => {
            return Box::pin(by_ability(upstreams, context, admitted, base, endpoint)).await;
        }
        Sharing::Nobody => Box::pin(own(upstreams, context, base.name(), endpoint)).await?,
        Sharing::Workspace => Box::pin(of_workspace(upstreams, context, base)).await?,
    };
    Ok(chosen.into())
}

/// At a server that asks: the client's own instance if it can be asked at any time; one that it has for this request if it can be
/// asked on the way back; and for all others the one that they share.
async fn by_ability(
    upstreams: &Upstreams,
    context: &CallContext,
    admitted: &Admitted,
    base: Upstream,
    endpoint: EndpointKind,
) -> Result<Chosen, Failure> {
    let can_be_asked = context.client.can_be_asked();
    if context.revision.has_server_requests() {
        if can_be_asked && context.session.is_some() {
            let own = own(upstreams, context, base.name(), endpoint).await?;
            return Ok(own.into());
        }
    } else if can_be_asked && bridge::may_ask(admitted.method()) {
        let capabilities = context.client.answering_capabilities();
        let lessee = Lessee {
            session_key: session_key(&context.caller, context.session.as_ref()),
            connection: context.connection,
            client: Fingerprint::of_value(&context.client.info),
            capabilities: Fingerprint::of_value(&capabilities),
        };
        let lease = upstreams.lease(&base, lessee, capabilities).await?;
        return Ok(Chosen {
            upstream: lease.upstream().clone(),
            lease: Some(lease),
        });
    }
    Ok(upstreams.for_unable(&base).await?.into())
}

/// The client's own instance. Requests that belong to no session share one with those of the same subject.
async fn own(
    upstreams: &Upstreams,
    context: &CallContext,
    server: &ServerName,
    endpoint: EndpointKind,
) -> Result<Upstream, Failure> {
    let session = context.session.as_ref();
    let session_key = session_key(&context.caller, session);
    if let Some(upstream) = upstreams.of_session(server, &session_key) {
        return Ok(upstream);
    }
    bind(session, server).await?;
    let scope = match session.filter(|_| context.revision.has_server_requests()) {
        Some(session) => InstanceScope::Client {
            session_key: session_key.clone(),
            capabilities: context.client.capabilities.clone(),
            ask: asking(session, &context.client, server, endpoint),
            tell: telling(session),
        },
        None => InstanceScope::Apart(session_key.clone()),
    };
    let ended = session.map(|session| session.ended().clone());
    upstreams.enter(server, session_key, ended, scope).await
}

/// The instance of the workspace that the client is in; without roots the one that all such clients share.
async fn of_workspace(
    upstreams: &Upstreams,
    context: &CallContext,
    base: Upstream,
) -> Result<Upstream, Failure> {
    let session = context.session.as_ref();
    let Some(session) = session.filter(|_| context.revision.has_server_requests()) else {
        return Ok(base);
    };
    let (server, session_key) = (base.name(), session_key(&context.caller, Some(session)));
    if let Some(upstream) = upstreams.of_session(server, &session_key) {
        return Ok(upstream);
    }
    let roots = roots_of(context, session).await;
    if roots.is_empty() {
        return Ok(base);
    }
    bind(Some(session), server).await?;
    let (scope, ended) = (InstanceScope::Workspace(roots), session.ended().clone());
    upstreams
        .enter(server, session_key, Some(ended), scope)
        .await
}

/// A session that has an instance to itself lives and ends with this daemon.
async fn bind(session: Option<&ClientSession>, server: &ServerName) -> Result<(), Failure> {
    match session {
        Some(session) if !session.bind().await => {
            let error = format!(
                "the session was opened at another daemon, which may have an instance of the server {server:?} for it"
            );
            let hint =
                "The session has ended: open a new one. The request did not reach the server.";
            let failure = Failure::new(ErrorCode::ConnectionLost, error, hint);
            Err(failure.of_server(server))
        }
        _ => Ok(()),
    }
}

/// The instance that a client uses already, if it uses one.
pub(super) fn in_use(
    upstreams: &Upstreams,
    caller: &Caller,
    session: Option<&ClientSession>,
    server: &ServerName,
) -> Option<Upstream> {
    let base = upstreams.get(server.as_str())?;
    let own = || upstreams.of_session(server, &session_key(caller, session));
    match base.sharing() {
        Sharing::All => Some(base),
        Sharing::Unable => own().or_else(|| upstreams.of_unable(server)),
        Sharing::Nobody => own(),
        Sharing::Workspace => own().or(Some(base)),
    }
}

/// The instances that a client has to itself.
pub(super) fn own_of(
    upstreams: &Upstreams,
    caller: &Caller,
    session: &ClientSession,
) -> Vec<Upstream> {
    let mut all = upstreams.all_of_session(&session_key(caller, Some(session)));
    all.retain(Upstream::asks_its_client);
    all
}

/// The client has other roots: where its workspace decides, its instance is chosen anew.
pub(super) async fn roots_changed(upstreams: &Upstreams, caller: &Caller, session: &ClientSession) {
    session.forget_roots();
    upstreams.moved(session_key(caller, Some(session))).await;
}

fn session_key(caller: &Caller, session: Option<&ClientSession>) -> SessionKey {
    match session {
        Some(session) => SessionKey::Session(session.key().clone()),
        None => SessionKey::Subject(caller.subject().into()),
    }
}

/// The roots that a client names, which it is asked for once. One that cannot be asked now is asked again the next time.
async fn roots_of(context: &CallContext, session: &ClientSession) -> Arc<[Root]> {
    if !context.client.can_answer(method::ROOTS_LIST, None) {
        return Arc::default();
    }
    let asked = async {
        let asking = session.ask(&context.to_client, method::ROOTS_LIST, None);
        let named = match tokio::time::timeout(ROOTS, asking).await {
            Ok(Ok(Outcome::Result(result))) => result.get("roots").map(|roots| roots.detached()),
            Ok(Ok(Outcome::Error(_))) | Err(_) => None,
            Ok(Err(why)) => return Err(why),
        };
        Ok(named.unwrap_or_else(|| Raw::array(&[])))
    };
    match session.roots(asked).await {
        Ok(named) => read(&named).collect(),
        Err(why) => {
            tracing::debug!(%why, "the roots of a client are unknown");
            Arc::default()
        }
    }
}

fn read(named: &Raw) -> impl Iterator<Item = Root> {
    let text = |root: &Raw, key: &str| root.get(key).and_then(|value| value.string());
    let roots = named.elements().take(MAX_ROOTS);
    roots.filter_map(move |root| {
        Some(Root {
            uri: text(&root, "uri")?,
            name: text(&root, "name"),
        })
    })
}

/// The way to tell a client what its own instance of a server says outside of its calls.
fn telling(session: &ClientSession) -> TellClient {
    let session = session.clone();
    Arc::new(move |notice| {
        session.tell(notification_frame(&notice.method, notice.params.as_ref()));
    })
}

/// The way to ask a client what its own instance of a server wants to know outside of its calls.
fn asking(
    session: &ClientSession,
    client: &Arc<ClientIdentity>,
    server: &ServerName,
    endpoint: EndpointKind,
) -> Ask {
    let (session, client, server) = (session.clone(), client.clone(), server.clone());
    Arc::new(move |question, stream| {
        let (session, client, server) = (session.clone(), client.clone(), server.clone());
        let asking = async move {
            let (method, params) = (&*question.method, question.params.as_ref());
            if !client.can_answer(method, params) {
                return Outcome::Error(
                    bridge::refused_question(method, &Unasked::Unable.to_string()).to_raw(),
                );
            }
            let params = label::question(endpoint, &server, method, params);
            let asked = session.ask(&stream, method, params.as_ref());
            answer_or_refusal(&server, method, asked).await
        };
        asking.boxed()
    })
}
