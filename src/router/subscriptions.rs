//! Subscriptions of clients: to updates of resources, under the URIs that the client knows, and to log lines.

use std::sync::Arc;

use super::{
    LogSubscription, Notifier, RequestError, Router, Subscription, View, recording, refusal,
};
use crate::{
    access::Caller,
    activity::OpenCall,
    call_context::{CallContext, ClientSession},
    catalog::{Owner, ServerCatalog},
    gate::Admitted,
    upstream::{LogTerm, NotSubscribed},
    wire::{Edit, LogLevel, Notification, Raw, Revision, Target, bridge, method, splice},
};

impl Router {
    /// Calls `tell` with each update of a resource, as this client must see it, until the subscription is dropped. Fails with
    /// the error object for the client: the server's own where the server refused. `tell` must not wait.
    pub async fn subscribe(
        &self,
        context: &CallContext,
        view: &View,
        uri: &str,
        tell: Notifier,
    ) -> Result<Subscription, Raw> {
        let mut record = self.record_following(context, view, &Target::subscription(uri));
        let owner = match view.server() {
            Some(server) => Ok(Owner {
                server: server.clone(),
                uri: uri.into(),
            }),
            None => self.owner_of(context, uri),
        };
        let (admitted, tell) = match owner {
            Err(failure) => (Err(failure.into()), tell),
            Ok(owner) => {
                let target = Target::subscription(&owner.uri);
                record.is_of(Some(owner.server.as_str()), target.thing());
                let tell = match view.server() {
                    Some(_) => tell,
                    None => self.with_offered_uri(uri, &owner, tell),
                };
                let tell = self.while_allowed(&context.caller, &owner, tell);
                let (gate, server) = (&self.0.gate, owner.server.as_str());
                let admitted = gate.admit(&context.caller, server, target);
                (admitted.map_err(RequestError::from), tell)
            }
        };
        let followed = self.follow(context, view, admitted, tell, record);
        followed.await
    }

    /// Subscribes to what was admitted, and ends the record.
    pub(super) async fn follow(
        &self,
        context: &CallContext,
        view: &View,
        admitted: Result<Admitted, RequestError>,
        tell: Notifier,
        record: OpenCall,
    ) -> Result<Subscription, Raw> {
        let fail = |record: OpenCall, error: RequestError| {
            recording::end_refused(record, &error);
            Err(refusal(context, error).to_raw())
        };
        let reaching = async {
            let (admitted, forwarder) = (admitted?, &self.0.forwarder);
            let upstream = forwarder.upstream(context, &admitted, view.kind()).await?;
            Ok((upstream, admitted))
        };
        let (upstream, admitted) = match reaching.await {
            Ok(reached) => reached,
            Err(error) => return fail(record, error),
        };
        match upstream.subscribe(&admitted, tell).await {
            Ok(subscription) => {
                record.answered(&Raw::empty_object());
                Ok(subscription)
            }
            // Only a legacy server gets one subscription at a time, and can refuse it in its own words.
            Err(NotSubscribed::Refused(error)) => {
                record.refused_by_server(&error);
                Err(bridge::error_for(
                    context.revision,
                    Revision::NEWEST_LEGACY,
                    method::RESOURCES_SUBSCRIBE,
                    error,
                ))
            }
            Err(NotSubscribed::Failed(failure)) => fail(record, failure.into()),
        }
    }

    /// Subscribes a client to log lines of this level and above, until the subscription is dropped. `None` where the endpoint's server
    /// sends none.
    pub fn subscribe_to_log(
        &self,
        view: &View,
        session: Option<&ClientSession>,
        level: LogLevel,
    ) -> Option<LogSubscription> {
        if let Some(server) = view.server() {
            let snapshot = self.0.catalog.glance();
            // A server without a handshake need not declare log lines: each request names the level.
            let has_none = |known: &Arc<ServerCatalog>| {
                known.listing.revision.has_set_level() && !known.takes_log_level()
            };
            if snapshot.servers.get(server).is_some_and(has_none) {
                return None;
            }
        }
        let term = match session {
            Some(session) => LogTerm::Session(session.key().clone()),
            None => LogTerm::Request,
        };
        let subscriptions = self.0.upstreams.log_subscriptions();
        Some(subscriptions.subscribe(view.server().cloned(), level, term))
    }

    /// A notifier that drops updates of a resource that the caller may no longer have.
    fn while_allowed(&self, caller: &Caller, owner: &Owner, tell: Notifier) -> Notifier {
        let (gate, caller, owner) = (self.0.gate.clone(), caller.clone(), owner.clone());
        Arc::new(move |notice| {
            let target = Target::subscription(&owner.uri);
            if gate.decide(&caller, owner.server.as_str(), &target).is_ok() {
                tell(notice);
            }
        })
    }

    /// A notifier that gives the resource the URI to which the client subscribed, and a part of it the URI under which that is offered.
    fn with_offered_uri(&self, offered: &str, owner: &Owner, tell: Notifier) -> Notifier {
        let (router, owner, offered) = (self.clone(), owner.clone(), offered.to_owned());
        Arc::new(move |notice| {
            let updated = notice.params.as_ref().and_then(|params| params.get("uri"));
            let updated = updated.and_then(|uri| uri.string()).unwrap_or_default();
            let known = if *updated == *owner.uri {
                offered.clone()
            } else {
                let snapshot = router.0.catalog.glance();
                snapshot.offered_uri(&owner.server, &updated).into_owned()
            };
            if known == updated {
                tell(notice);
            } else {
                tell(&renamed(notice, &known));
            }
        })
    }
}

/// The same notification of another URI.
fn renamed(notice: &Notification, uri: &str) -> Notification {
    let edits = [("uri", Edit::Set(Raw::author(&uri)))];
    let params = notice.params.as_ref();
    Notification {
        method: notice.method.clone(),
        params: params.and_then(|params| splice(params, &edits).ok()),
    }
}
