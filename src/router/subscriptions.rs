//! Notices for clients besides answers: updates of resources, under the URIs that they know, and log lines.

use std::sync::Arc;

use super::{LogSubscription, Notifier, RequestError, Router, Subscription, View, refusal};
use crate::{
    access::Caller,
    activity::OpenCall,
    call_context::{CallContext, ClientSession},
    catalog::{Owner, ServerCatalog},
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
        let record = self.record_subscription(context, view, uri);
        let subscribed = self.subscribe_recorded(context, view, uri, tell, record);
        subscribed.await
    }

    async fn subscribe_recorded(
        &self,
        context: &CallContext,
        view: &View,
        uri: &str,
        tell: Notifier,
        mut record: OpenCall,
    ) -> Result<Subscription, Raw> {
        let refused = |error: RequestError| refusal(context, error).to_raw();
        let owner = match view {
            View::Server(server) => Owner {
                server: server.clone(),
                uri: uri.into(),
            },
            View::Configured | View::Mode(_) | View::Profile(_) => {
                match self.owner_of(context, uri) {
                    Ok(owner) => owner,
                    Err(failure) => {
                        record.failed(&failure);
                        return Err(refused(failure.into()));
                    }
                }
            }
        };
        let target = Target::subscription(&owner.uri);
        record.is_of(Some(owner.server.as_str()), target.thing());
        let tell = match view {
            View::Server(_) => tell,
            View::Configured | View::Mode(_) | View::Profile(_) => {
                self.with_offered_uri(uri, &owner, tell)
            }
        };
        let tell = self.while_allowed(&context.caller, &owner, tell);
        let subscribed = async {
            let gate = &self.0.gate;
            let admitted = gate
                .admit(&context.caller, owner.server.as_str(), target)
                .map_err(NotSubscribed::Failed)?;
            let forwarder = &self.0.forwarder;
            let upstream = forwarder
                .upstream(context, &admitted, view.kind())
                .await
                .map_err(NotSubscribed::Failed)?;
            upstream.subscribe(&admitted, tell).await
        };
        let subscribed = subscribed.await;
        match &subscribed {
            Ok(_) => record.answered(&Raw::empty_object()),
            Err(NotSubscribed::Failed(failure)) => record.failed(failure),
            Err(NotSubscribed::Refused(error)) => record.refused_by_server(error),
        }
        subscribed.map_err(|error| match error {
            NotSubscribed::Failed(failure) => refused(failure.into()),
            // Only a legacy server gets one subscription at a time, and can refuse it in its own words.
            NotSubscribed::Refused(error) => bridge::error_for(
                context.revision,
                Revision::NEWEST_LEGACY,
                method::RESOURCES_SUBSCRIBE,
                error,
            ),
        })
    }

    /// Notes that the client of a session on this endpoint wants log lines from this level on, as long as it does. `None` where the
    /// endpoint has no log.
    pub fn subscribe_to_log(
        &self,
        view: &View,
        session: Option<&ClientSession>,
        level: LogLevel,
    ) -> Option<LogSubscription> {
        let server = match view {
            View::Configured | View::Mode(_) | View::Profile(_) => None,
            View::Server(server) => {
                let snapshot = self.0.catalog.glance();
                let known = snapshot.servers.get(server);
                // One without a handshake need not declare log lines: each request names the level.
                let has_none = |known: &ServerCatalog| {
                    known.listing.revision.has_set_level() && !known.takes_log_level()
                };
                if known.is_some_and(|known| has_none(known)) {
                    return None;
                }
                Some(server.clone())
            }
        };
        let term = match session {
            Some(session) => LogTerm::Session(session.key().clone()),
            None => LogTerm::Request,
        };
        let subscriptions = self.0.upstreams.log_subscriptions();
        Some(subscriptions.subscribe(server, level, term))
    }

    /// Says nothing of what the caller may not have any more.
    fn while_allowed(&self, caller: &Caller, owner: &Owner, tell: Notifier) -> Notifier {
        let (gate, caller, owner) = (self.0.gate.clone(), caller.clone(), owner.clone());
        Arc::new(move |notice| {
            let target = Target::subscription(&owner.uri);
            if gate.decide(&caller, owner.server.as_str(), &target).is_ok() {
                tell(notice);
            }
        })
    }

    /// Gives the resource the URI that the client subscribed to; a part of it, that under which the part is offered.
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
