//! Subscriptions to resources, under the URIs that clients know: from an offered URI to its server, and back in what the server
//! then says.

use std::sync::Arc;

use super::{Refused, Router, Subscription, Tell, View, refusal};
use crate::{
    call_context::CallContext,
    catalog::Owner,
    gate::Wanted,
    upstream::NotSubscribed,
    wire::{Edit, Notification, Raw, Revision, bridge, method, splice},
};

impl Router {
    /// Has `tell` called with each update of a resource, as this client must see it, until the subscription is dropped. Fails with
    /// the error object for the client: the server's own where the server refused. `tell` must not wait.
    pub async fn subscribe(
        &self,
        context: &CallContext,
        view: &View,
        uri: &str,
        tell: Tell,
    ) -> Result<Subscription, Raw> {
        let refused = |error: Refused| refusal(context, error).to_raw();
        let owner = match view {
            View::Server(server) => Owner {
                server: server.clone(),
                uri: uri.into(),
            },
            View::Configured | View::Mode(_) => {
                self.owner_of(uri).map_err(|error| refused(error.into()))?
            }
        };
        let tell = match view {
            View::Server(_) => tell,
            View::Configured | View::Mode(_) => self.telling_offered(uri, &owner, tell),
        };
        let subscribed = async {
            let wanted = Wanted::Resource(&owner.uri);
            let admitted = self
                .admit(context, owner.server.as_str(), wanted)
                .map_err(NotSubscribed::Failed)?;
            let upstream = self
                .upstream(admitted.server())
                .map_err(NotSubscribed::Failed)?;
            upstream.subscribe(&admitted, &owner.uri, tell).await
        };
        subscribed.await.map_err(|error| match error {
            NotSubscribed::Failed(failure) => refused(failure.into()),
            // Only a legacy server is asked for one subscription, and can refuse one in its own words.
            NotSubscribed::Refused(error) => bridge::error_for(
                context.revision,
                Revision::NEWEST_LEGACY,
                method::RESOURCES_SUBSCRIBE,
                error,
            ),
        })
    }

    /// Gives the resource the URI that the client subscribed to; a part of it, that under which the part is offered.
    fn telling_offered(&self, offered: &str, owner: &Owner, tell: Tell) -> Tell {
        let (router, owner, offered) = (self.clone(), owner.clone(), offered.to_owned());
        Arc::new(move |notice| {
            let updated = notice.params.as_ref().and_then(|params| params.get("uri"));
            let updated = updated.and_then(|uri| uri.string()).unwrap_or_default();
            let known = if *updated == *owner.uri {
                offered.clone()
            } else {
                let snapshot = router.0.catalog.glance();
                snapshot.offered_uri(&owner.server, &updated)
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
