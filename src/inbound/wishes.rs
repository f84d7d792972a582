//! What a legacy session wishes to hear of besides its answers: resources, and log lines from a level on. Kept with the session and
//! ended with it.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::{Inbound, session::Session};
use crate::{
    call_context::CallContext,
    error_code::{ErrorCode, Failure},
    router::{LogSubscription, Subscription, Tell, View},
    wire::{LogLevel, Outcome, Raw, Request, RpcError, method, notification_frame},
};

/// Limit: resources that one session is subscribed to.
const MAX_SUBSCRIPTIONS: usize = 1_000;

/// The wishes of one session.
#[derive(Default)]
pub(super) struct Wishes(Mutex<Granted>);

#[derive(Default)]
struct Granted {
    subscriptions: HashMap<Box<str>, Subscription>,
    log: Option<LogSubscription>,
    /// The session has ended; nothing is granted any more.
    over: bool,
}

impl Wishes {
    /// Ends them all.
    pub(super) fn end(&self) {
        let mut granted = self.lock();
        granted.over = true;
        let ended = (
            std::mem::take(&mut granted.subscriptions),
            granted.log.take(),
        );
        drop(granted);
        drop(ended);
    }

    /// The log lines that the client wants to see, if it said so.
    pub(super) fn log_level(&self) -> Option<LogLevel> {
        self.lock().log.as_ref().map(LogSubscription::level)
    }

    fn keep_log(&self, wish: LogSubscription) {
        let mut granted = self.lock();
        let before = if granted.over {
            Some(wish)
        } else {
            granted.log.replace(wish)
        };
        drop(granted);
        drop(before);
    }

    fn has_room_for(&self, uri: &str) -> bool {
        let subscriptions = &self.lock().subscriptions;
        subscriptions.len() < MAX_SUBSCRIPTIONS || subscriptions.contains_key(uri)
    }

    /// A client that subscribes twice is subscribed once.
    fn keep(&self, uri: &str, subscription: Subscription) {
        let mut granted = self.lock();
        let too_late = if granted.over {
            Some(subscription)
        } else {
            granted.subscriptions.insert(uri.into(), subscription)
        };
        drop(granted);
        drop(too_late);
    }

    fn end_subscription(&self, uri: &str) {
        let ended = self.lock().subscriptions.remove(uri);
        drop(ended);
    }

    fn lock(&self) -> MutexGuard<'_, Granted> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inbound {
    /// Grants or ends what a legacy client wishes to hear.
    pub(super) async fn wish(
        &self,
        context: &CallContext,
        view: &View,
        session: Option<&Arc<Session>>,
        request: &Request,
    ) -> Outcome {
        match self.grant(context, view, session, request).await {
            Ok(()) => Outcome::Result(Raw::empty_object()),
            Err(error) => Outcome::Error(error),
        }
    }

    async fn grant(
        &self,
        context: &CallContext,
        view: &View,
        session: Option<&Arc<Session>>,
        request: &Request,
    ) -> Result<(), Raw> {
        let wrong = |why: &str| RpcError::invalid_params(format!("{}: {why}", request.method));
        let params = request.params.as_ref();
        let text = |key: &str| params.and_then(|params| params.get(key)?.string());
        if &*request.method == method::SET_LEVEL {
            return self.subscribe_to_log(view, session, text("level").as_deref());
        }
        let uri = text("uri").ok_or_else(|| wrong("`uri` is missing").to_raw())?;
        let Some(session) = session else {
            let error = RpcError::invalid_request(format!(
                "{} needs a session; send initialize first",
                request.method
            ));
            return Err(error.to_raw());
        };
        if &*request.method == method::RESOURCES_UNSUBSCRIBE {
            session.wishes.end_subscription(&uri);
            return Ok(());
        }
        if !session.wishes.has_room_for(&uri) {
            return Err(too_many());
        }
        let router = &self.0.router;
        let subscribed = router.subscribe(context, view, &uri, telling(session));
        session.wishes.keep(&uri, subscribed.await?);
        Ok(())
    }
}

impl Inbound {
    /// A client without a session has no further requests that this could hold for.
    fn subscribe_to_log(
        &self,
        view: &View,
        session: Option<&Arc<Session>>,
        level: Option<&str>,
    ) -> Result<(), Raw> {
        let Some(level) = level.and_then(LogLevel::parse) else {
            let error = format!("{}: `level` is no log level", method::SET_LEVEL);
            return Err(RpcError::invalid_params(error).to_raw());
        };
        match self.0.router.subscribe_to_log(view, level) {
            None => Err(RpcError::method_not_found(method::SET_LEVEL).to_raw()),
            Some(wish) => {
                if let Some(session) = session {
                    session.wishes.keep_log(wish);
                }
                Ok(())
            }
        }
    }
}

/// Whether a method says what a client wishes to hear. Modern clients say so otherwise.
pub(super) fn is_wish(name: &str) -> bool {
    matches!(
        name,
        method::RESOURCES_SUBSCRIBE | method::RESOURCES_UNSUBSCRIBE | method::SET_LEVEL
    )
}

/// Onto the session's own stream.
fn telling(session: &Arc<Session>) -> Tell {
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
    let error = format!("the session is subscribed to {MAX_SUBSCRIPTIONS} resources already");
    let failure = Failure::new(
        ErrorCode::Overloaded,
        error,
        "End other subscriptions first.",
    );
    RpcError::new(RpcError::INTERNAL, failure.error.clone())
        .with_data(Raw::author(&failure))
        .to_raw()
}
