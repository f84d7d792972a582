//! Subscription requests of legacy clients: for resources, and for log lines from a level on.

use std::sync::Arc;

use super::ServedClient;
use crate::{
    call_context::CallContext,
    inbound::{
        bounds::{self, MAX_SUBSCRIPTIONS, MAX_URI},
        session::LegacySession,
    },
    router::{Notifier, Subscription},
    wire::{LogLevel, Outcome, Raw, Request, RpcError, Target, method, notification_frame},
};

/// Whether a request of this method begins or ends a subscription, or sets the log level. Modern clients do neither this way.
pub(super) fn is_subscription(name: &str) -> bool {
    matches!(
        name,
        method::RESOURCES_SUBSCRIBE | method::RESOURCES_UNSUBSCRIBE | method::SET_LEVEL
    )
}

impl ServedClient {
    /// Begins or ends a subscription, or sets the log level.
    pub(super) async fn subscribe(&self, context: &CallContext, request: &Request) -> Outcome {
        match self.subscribed(context, request).await {
            Ok(()) => Outcome::Result(Raw::empty_object()),
            Err(error) => Outcome::Error(error),
        }
    }

    async fn subscribed(&self, context: &CallContext, request: &Request) -> Result<(), Raw> {
        let params = request.params.as_ref();
        if &*request.method == method::SET_LEVEL {
            let level = params.and_then(|params| params.get("level")?.string());
            self.set_log_level(level.as_deref())?;
            if let Some(session) = &self.session {
                self.inbound.keep(session).await;
            }
            return Ok(());
        }
        let target = Target::of(&request.method, params).map_err(|why| why.to_raw())?;
        let uri = target.thing().name().unwrap_or_default();
        let Some(session) = &self.session else {
            let why = format!("{} needs a session", request.method);
            let error = RpcError::refused_request(why, "send initialize first");
            return Err(error.to_raw());
        };
        if &*request.method == method::RESOURCES_UNSUBSCRIBE {
            session.unsubscribe(uri);
            self.inbound.keep(session).await;
            return Ok(());
        }
        if uri.len() > MAX_URI {
            let why = format!(
                "{} did not run: \"uri\" is longer than 4096 bytes. Correct that and send it again.",
                request.method
            );
            return Err(RpcError::invalid_params(why).to_raw());
        }
        if !session.has_room_for_subscription(uri) {
            return Err(too_many());
        }
        let subscription = self.subscribe_to(context, session, uri).await?;
        if !session.keep_subscription(uri, subscription) {
            return Err(bounds::no_memory().to_raw());
        }
        self.inbound.keep(session).await;
        Ok(())
    }

    /// Subscribes the session to a resource, until the subscription is dropped.
    pub(in crate::inbound) async fn subscribe_to(
        &self,
        context: &CallContext,
        session: &Arc<LegacySession>,
        uri: &str,
    ) -> Result<Subscription, Raw> {
        let router = &self.inbound.0.router;
        let subscribed = router.subscribe(context, &self.view, uri, telling(session));
        subscribed.await
    }

    /// A client without a session has no further requests that this could hold for.
    fn set_log_level(&self, level: Option<&str>) -> Result<(), Raw> {
        let Some(level) = level.and_then(LogLevel::read) else {
            let error = format!(
                "{} did not run: \"level\" must be debug, info, notice, warning, error, critical, alert or emergency",
                method::SET_LEVEL
            );
            return Err(RpcError::invalid_params(error).to_raw());
        };
        let client = self.session.as_ref().map(|session| &session.client);
        let router = &self.inbound.0.router;
        match router.subscribe_to_log(&self.view, client, level) {
            None => Err(RpcError::method_not_found(method::SET_LEVEL).to_raw()),
            Some(subscription) => {
                if let Some(session) = &self.session {
                    session.keep_log_subscription(subscription);
                }
                Ok(())
            }
        }
    }
}

/// Onto the session's own stream.
fn telling(session: &Arc<LegacySession>) -> Notifier {
    // The session holds the subscription, not the other way round.
    let session = Arc::downgrade(session);
    Arc::new(move |notice| {
        if let Some(session) = session.upgrade() {
            let frame = notification_frame(&notice.method, notice.params.as_ref());
            session.to_client().send(frame);
        }
    })
}

fn too_many() -> Raw {
    let error = format!("the session is already subscribed to {MAX_SUBSCRIPTIONS} resources");
    bounds::overloaded(error, "End other subscriptions first.").to_raw()
}
