//! Which instance of a server a request goes to: the one that all share, the client's own, or that of its workspace. The one place that
//! decides this, whatever a client wants of the server.

use std::{sync::Arc, time::Duration};

use futures_util::future::{BoxFuture, FutureExt};

use super::{
    Forwarder, label,
    questions::{answer_or_refusal, incapable},
    request::EndpointKind,
};
use crate::{
    call_context::{CallContext, ClientIdentity, ClientSender, ClientSession},
    config::Root,
    failure::{ErrorCode, Failure, Result},
    gate::Admitted,
    text::names::ServerName,
    upstream::{
        ClientKey, ClientReach, InstanceScope, InstanceUser, OtherEra, ReachableClient, Sharing,
        SoleClient, Upstream, Upstreams,
    },
    wire::{Notification, Outcome, Raw, Request, method, notification_frame},
};

/// How long a client may take to name its roots. A call waits for it.
const ROOTS: Duration = Duration::from_secs(10);

/// How long a server may take to show whether it has sessions for clients that shake hands. A call waits for it, once.
const OTHER_ERA: Duration = Duration::from_secs(10);

/// Limit: roots of one client. Nobody opens more folders.
const MAX_ROOTS: usize = 256;

/// Where a client's requests to a server go.
pub(super) async fn choose(
    upstreams: &Upstreams,
    context: &CallContext,
    server: &ServerName,
    endpoint: EndpointKind,
) -> Result<Upstream> {
    let base = upstreams.named(server)?;
    // Few servers are not shared, or are opened in both eras: these futures are no part of every call's.
    let legacy = if shakes_hands(context) && base.other_era() != OtherEra::None {
        Box::pin(of_legacy_clients(upstreams, &base)).await
    } else {
        None
    };
    let sharing = match legacy {
        Some(_) => base.legacy_sharing(),
        None => base.sharing(),
    };
    match (sharing, legacy) {
        (Sharing::Unable, _) if !needs_own(context) => Box::pin(upstreams.for_unable(&base)).await,
        (Sharing::Unable | Sharing::Nobody, _) => {
            Box::pin(own(upstreams, context, base, endpoint)).await
        }
        (_, Some(legacy)) => Ok(legacy),
        (Sharing::All, None) => Ok(base),
        (Sharing::Workspace, None) => Box::pin(of_workspace(upstreams, context, base)).await,
    }
}

impl Forwarder {
    /// The instance of a server that an admitted subscription goes to. A stream without a session is another connection than the calls of
    /// its client: it needs no instance of its own where one of those has one.
    pub async fn upstream(
        &self,
        context: &CallContext,
        admitted: &Admitted,
        endpoint: EndpointKind,
    ) -> Result<Upstream> {
        let (upstreams, server) = (&self.upstreams, admitted.server());
        let kin = match upstreams.named(server)?.sharing() {
            Sharing::Unable if !needs_own(context) => None,
            Sharing::Unable | Sharing::Nobody => {
                let seat = context.seat();
                let own = upstreams.of_user(server, seat.user());
                own.or_else(|| upstreams.of_kin(server, &seat.client))
            }
            Sharing::All | Sharing::Workspace => None,
        };
        match kin {
            Some(kin) => Ok(kin),
            None => choose(upstreams, context, server, endpoint).await,
        }
    }

    /// Connects the instance that a client's requests at the endpoint of a server go to, where what that lists is not what everybody
    /// sees.
    pub async fn meet(&self, context: &CallContext, server: &ServerName) {
        let upstreams = &self.upstreams;
        let Ok(base) = upstreams.named(server) else {
            return;
        };
        let is_of_other_era = shakes_hands(context) && base.other_era() != OtherEra::None;
        let is_opening = context.session.is_none() && shakes_hands(context);
        let chosen = match (is_opening, is_of_other_era) {
            // Whose session it will be is not known yet.
            (true, true) => of_legacy_clients(upstreams, &base).await,
            (false, is_other) if is_other || base.sharing() == Sharing::Unable => {
                let endpoint = EndpointKind::OneServer;
                choose(upstreams, context, server, endpoint).await.ok()
            }
            // Others are started by their first call.
            _ => None,
        };
        // What is wrong with it the first call says, too: until then the lists for everybody are shown.
        if let Some(upstream) = &chosen
            && !upstream.status().settled
            && let Err(failure) = upstream.wake().await
        {
            tracing::debug!(%server, %failure, "the server's lists for one client are unknown");
        }
        chosen.unwrap_or(base).read_announced().await;
    }

    /// The same, without waiting, of all servers that list less to a client that cannot answer, or something else to one that shakes
    /// hands.
    pub async fn meet_soon(&self, context: &CallContext) {
        let upstreams = &self.upstreams;
        for base in upstreams.all() {
            if shakes_hands(context)
                && base.other_era() != OtherEra::None
                && let Ok(legacy) = upstreams.for_legacy(&base).await
                && !legacy.status().settled
            {
                legacy.connect_soon();
            }
            if context.caller.seat().is_some()
                && !needs_own(context)
                && base.sharing() == Sharing::Unable
                && upstreams.of_unable(base.name()).is_none()
                && let Ok(upstream) = upstreams.for_unable(&base).await
            {
                upstream.connect_soon();
            }
        }
    }

    /// The instance that a client uses already, if it uses one.
    pub fn upstream_in_use(
        &self,
        session: Option<&ClientSession>,
        server: &ServerName,
    ) -> Option<Upstream> {
        let upstreams = &self.upstreams;
        let base = upstreams.get(server.as_str())?;
        let own = || upstreams.of_user(server, &of_session(session?));
        match base.sharing() {
            Sharing::All => Some(base),
            Sharing::Unable => own().or_else(|| upstreams.of_unable(server)),
            Sharing::Nobody => own(),
            Sharing::Workspace => own().or(Some(base)),
        }
    }

    /// The instances that a client has to itself.
    pub fn own_upstreams(&self, session: &ClientSession) -> Vec<Upstream> {
        let mut all = self.upstreams.all_of_user(&of_session(session));
        all.retain(Upstream::asks_its_client);
        all
    }

    /// The client has other roots: where its workspace decides, its instance is chosen anew.
    pub async fn roots_changed(&self, session: &ClientSession) {
        session.forget_roots();
        self.upstreams.moved(of_session(session).client).await;
    }
}

/// Whether it is a client of the era with a handshake.
fn shakes_hands(context: &CallContext) -> bool {
    let seat = context.caller.seat();
    seat.is_some_and(|seat| seat.revision.has_server_requests())
}

/// The connection of all clients that shake hands, to a server that needs no handshake; none where it has no sessions for them, which is
/// tried once.
async fn of_legacy_clients(upstreams: &Upstreams, base: &Upstream) -> Option<Upstream> {
    let legacy = upstreams.for_legacy(base).await.ok()?;
    if base.other_era() == OtherEra::Untried {
        // Whatever comes of it is noted.
        let _ = tokio::time::timeout(OTHER_ERA, legacy.wake()).await;
    }
    (base.other_era() == OtherEra::Open).then_some(legacy)
}

/// Whether a client has an instance of an asking server to itself.
fn needs_own(context: &CallContext) -> bool {
    let seat = context.caller.seat();
    seat.is_some_and(|seat| seat.needs_own())
}

/// The client's own instance.
async fn own(
    upstreams: &Upstreams,
    context: &CallContext,
    base: Upstream,
    endpoint: EndpointKind,
) -> Result<Upstream> {
    let session = context.session.as_ref();
    let seat = context.seat();
    let user = seat.user().clone();
    if let Some(upstream) = upstreams.of_user(base.name(), &user) {
        return Ok(upstream);
    }
    bind(session, base.name()).await?;
    let scope = InstanceScope::Client(SoleClient {
        user: user.clone(),
        subject: context.caller.shared_subject(),
        capabilities: seat.capabilities.clone(),
        shakes_hands: shakes_hands(context) && base.other_era() == OtherEra::Open,
        reach: reach(context, base.name(), endpoint),
    });
    let ended = match (session, &context.connection) {
        (Some(session), _) => Some(session.ended().clone()),
        (None, connection) => connection.as_ref().map(|own| own.closed().clone()),
    };
    upstreams.enter(&base, Some(user), ended, scope).await
}

/// The way to a client outside of its calls, if there is one.
pub(super) fn reach(
    context: &CallContext,
    server: &ServerName,
    endpoint: EndpointKind,
) -> Option<ClientReach> {
    let session = context.session.as_ref();
    let session = session.filter(|_| context.revision.has_server_requests())?;
    Some(Arc::new(SessionClient {
        session: session.clone(),
        client: context.client.clone(),
        server: server.clone(),
        endpoint,
    }))
}

/// The instance of the workspace that the client is in; without roots the one that all such clients share.
async fn of_workspace(
    upstreams: &Upstreams,
    context: &CallContext,
    base: Upstream,
) -> Result<Upstream> {
    let session = context.session.as_ref();
    let Some(session) = session.filter(|_| context.revision.has_server_requests()) else {
        return Ok(base);
    };
    let user = of_session(session);
    if let Some(upstream) = upstreams.of_user(base.name(), &user) {
        return Ok(upstream);
    }
    let roots = roots_of(context, session).await;
    if roots.is_empty() {
        return Ok(base);
    }
    bind(Some(session), base.name()).await?;
    let (scope, ended) = (InstanceScope::Workspace(roots), session.ended().clone());
    upstreams.enter(&base, Some(user), Some(ended), scope).await
}

/// The client of a session.
fn of_session(session: &ClientSession) -> InstanceUser {
    InstanceUser {
        client: ClientKey::Session(session.key().clone()),
        capabilities: None,
    }
}

/// A session that has an instance to itself lives and ends with this daemon.
async fn bind(session: Option<&ClientSession>, server: &ServerName) -> Result {
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

/// The roots that a client names, requested once. A client without an open stream gets the request again the next time.
async fn roots_of(context: &CallContext, session: &ClientSession) -> Arc<[Root]> {
    if !context.client.can_answer(method::ROOTS_LIST, None) {
        return Arc::default();
    }
    let request = async {
        let asking = session.ask(&context.to_client, method::ROOTS_LIST, None);
        let named = match tokio::time::timeout(ROOTS, asking).await {
            Ok(Ok(Outcome::Result(result))) => result.get("roots").map(|roots| roots.detached()),
            Ok(Ok(Outcome::Error(_))) | Err(_) => None,
            Ok(Err(why)) => return Err(why),
        };
        Ok(named.unwrap_or_else(|| Raw::array(&[])))
    };
    match session.roots(request).await {
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

/// The client of a session, as a server reaches it outside of its calls.
struct SessionClient {
    session: ClientSession,
    client: Arc<ClientIdentity>,
    server: ServerName,
    endpoint: EndpointKind,
}

impl ReachableClient for SessionClient {
    fn session(&self) -> &Arc<str> {
        self.session.key()
    }

    fn is_listening(&self) -> bool {
        self.session.stream().is_heard()
    }

    fn ask(&self, question: Request, stream: ClientSender) -> BoxFuture<'static, Outcome> {
        let (session, client) = (self.session.clone(), self.client.clone());
        let (server, endpoint) = (self.server.clone(), self.endpoint);
        let answering = async move {
            let (method, params) = (&*question.method, question.params.as_ref());
            if !client.can_answer(method, params) {
                return Outcome::Error(incapable(method, client.unable).to_raw());
            }
            let params = label::question(endpoint, &server, method, params);
            let asking = session.ask(&stream, method, params.as_ref());
            answer_or_refusal(&server, method, asking).await
        };
        answering.boxed()
    }

    fn tell(&self, notice: &Notification) {
        let frame = notification_frame(&notice.method, notice.params.as_ref());
        self.session.tell(frame);
    }
}
