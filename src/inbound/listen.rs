//! `subscriptions/listen` (revision 2026-07-28, basic/patterns/subscriptions): a request whose answer is a stream of news. First on
//! it comes what of the client's filter is met, then whatever changes, and its result when we end.

use std::{
    borrow::Cow,
    collections::{BTreeSet, HashMap},
    fmt,
    sync::Arc,
    time::Duration,
};

use bytes::Bytes;
use futures_util::future::join_all;
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{SeqAccess, Visitor},
};

use super::{
    Inbound,
    bounds::{self, MAX_URI},
};
use crate::{
    access::Caller,
    call_context::{CallContext, ClientSender},
    router::{Announcement, Known, Notifier, Router, Subscription, View, declares_tasks},
    runtime::{memory_budget::MemoryShare, sync::Guarded},
    wire::{
        Edit, Id, Outcome, Raw, Request, RpcError, bridge, meta, method, notification_frame, splice,
    },
};

/// Limit: streams of all clients together.
const MAX_STREAMS: usize = 4096;

/// Limit: resources that one stream follows, and tasks. Those beyond are left out of what is met, and not even kept.
const MAX_FOLLOWED: usize = 1_000;

/// A server that has not agreed to one of these by then is left out of the acknowledgement: the rest of the stream cannot wait for it.
const AGREEMENT: Duration = Duration::from_secs(20);

/// Limit: news that wait for the acknowledgement. Later ones are left out; the client has not begun to rely on them.
const MAX_EARLY: usize = 256;

/// The streams that are open. Cheap to clone.
#[derive(Clone, Default)]
pub(super) struct Listeners(Arc<Guarded<Table>>);

#[derive(Default)]
struct Table {
    streams: HashMap<u64, Arc<Stream>>,
    /// The number of the stream that was opened last.
    last: u64,
}

/// What a client wants to hear of, or what of it it will.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default)]
struct Filter {
    #[serde(rename = "toolsListChanged", skip_serializing_if = "Option::is_none")]
    tools: Option<bool>,
    #[serde(rename = "promptsListChanged", skip_serializing_if = "Option::is_none")]
    prompts: Option<bool>,
    #[serde(
        rename = "resourcesListChanged",
        skip_serializing_if = "Option::is_none"
    )]
    resources: Option<bool>,
    /// By URI.
    #[serde(
        rename = "resourceSubscriptions",
        deserialize_with = "names_to_follow",
        skip_serializing_if = "Option::is_none"
    )]
    updates: Option<BTreeSet<String>>,
    /// By id (tasks extension, "Task Status Notifications").
    #[serde(
        rename = "taskIds",
        deserialize_with = "names_to_follow",
        skip_serializing_if = "Option::is_none"
    )]
    tasks: Option<BTreeSet<String>>,
}

/// The resources or tasks of a filter, as far as a stream can follow them.
fn names_to_follow<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<BTreeSet<String>>, D::Error> {
    struct Names;

    impl<'de> Visitor<'de> for Names {
        type Value = Option<BTreeSet<String>>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a list of strings")
        }

        fn visit_unit<E>(self) -> Result<Self::Value, E> {
            Ok(None)
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut names: A) -> Result<Self::Value, A::Error> {
            let mut kept = BTreeSet::new();
            while let Some(name) = names.next_element::<Cow<'_, str>>()? {
                if kept.len() < MAX_FOLLOWED && name.len() <= MAX_URI {
                    kept.insert(name.into_owned());
                }
            }
            Ok(Some(kept))
        }
    }

    deserializer.deserialize_any(Names)
}

impl Filter {
    /// What of it needs a place in the budget.
    fn cost(&self) -> usize {
        let (updates, tasks) = (self.updates.iter(), self.tasks.iter());
        let names = updates.chain(tasks).flatten();
        names.map(|name| bounds::cost_of_subscription(name)).sum()
    }

    fn read(params: Option<&Raw>) -> Result<Self, RpcError> {
        let wrong = |must: &str| {
            let why = format!("subscriptions/listen did not run: \"notifications\" must be {must}");
            RpcError::invalid_params(why)
        };
        let filter = params.and_then(|params| params.get("notifications"));
        let filter = filter.filter(Raw::is_object);
        let filter =
            filter.ok_or_else(|| wrong("an object, such as {\"toolsListChanged\": true}"))?;
        let fits = "an object with lists of strings in \"resourceSubscriptions\" and \"taskIds\", and true or false elsewhere";
        filter.read().map_err(|_| wrong(fits))
    }

    /// What can be had on an endpoint with these capabilities. Of resources and tasks each server decides itself.
    fn met_by(self, capabilities: &Raw) -> Self {
        let has = |capability| capabilities.get(capability).is_some();
        let met = |wanted: Option<bool>, capability| {
            (wanted == Some(true) && has(capability)).then_some(true)
        };
        Self {
            tools: met(self.tools, "tools"),
            prompts: met(self.prompts, "prompts"),
            resources: met(self.resources, "resources"),
            updates: self.updates.filter(|_| has("resources")),
            tasks: self.tasks.filter(|_| declares_tasks(capabilities)),
        }
    }
}

/// One client's stream.
struct Stream {
    caller: Caller,
    view: View,
    /// What can be met of what the client wants.
    wanted: Filter,
    /// The id of the request that opened it, by which clients distinguish their streams.
    id: Raw,
    to_client: ClientSender,
    state: Guarded<StreamState>,
    /// Holds what is kept of the filter.
    _memory: MemoryShare,
}

struct StreamState {
    /// The lists as the client has seen them.
    seen: Known,
    /// What waits for the acknowledgement, until that has gone out.
    early: Option<Vec<Bytes>>,
}

impl Stream {
    fn tell(&self, name: &str, params: Option<&Raw>) {
        let frame = notification_frame(name, Some(&tagged(&self.id, params)));
        match &mut self.state.lock().early {
            None => self.to_client.send(frame),
            Some(early) if early.len() < MAX_EARLY => early.push(frame),
            Some(_) => (),
        }
    }

    fn telling(self: &Arc<Self>) -> Notifier {
        let stream = self.clone();
        Arc::new(move |notice| stream.tell(&notice.method, notice.params.as_ref()))
    }

    /// Says what is met, and then what came meanwhile.
    fn acknowledge(&self, met: &Filter) {
        let params = Raw::author(&serde_json::json!({ "notifications": met }));
        let params = tagged(&self.id, Some(&params));
        let mut state = self.state.lock();
        self.to_client.send(notification_frame(
            method::LISTEN_ACKNOWLEDGED,
            Some(&params),
        ));
        for frame in state.early.take().into_iter().flatten() {
            self.to_client.send(frame);
        }
    }
}

impl Listeners {
    /// Tells every stream of the lists that changed, as far as its client wants to know and sees them.
    pub(super) fn announce(&self, announcement: &mut Announcement<'_>) {
        for stream in self.0.lock().streams.values() {
            let (caller, view) = (&stream.caller, &stream.view);
            let seen = announcement.news(&mut stream.state.lock().seen, caller, view);
            let wanted = &stream.wanted;
            let news = [
                (method::TOOLS_CHANGED, seen.tools, wanted.tools),
                (method::PROMPTS_CHANGED, seen.prompts, wanted.prompts),
                (method::RESOURCES_CHANGED, seen.resources, wanted.resources),
            ];
            for (name, has_changed, wanted) in news {
                if has_changed && wanted == Some(true) {
                    stream.tell(name, None);
                }
            }
        }
    }

    /// `open` is given the lists of the moment from which on the stream announces changes.
    fn enter(
        &self,
        router: &Router,
        caller: &Caller,
        open: impl FnOnce(Known) -> Stream,
    ) -> Result<Slot, RpcError> {
        let mut table = self.0.lock();
        if table.streams.len() >= MAX_STREAMS {
            let text = format!("{MAX_STREAMS} notification streams are already open");
            return Err(bounds::overloaded(
                text,
                "Close one before opening another.",
            ));
        }
        let stream = Arc::new(open(router.known_now(caller)));
        table.last += 1;
        let number = table.last;
        table.streams.insert(number, stream.clone());
        drop(table);
        Ok(Slot {
            listeners: self.clone(),
            number,
            stream,
        })
    }
}

/// A stream while it is open.
struct Slot {
    listeners: Listeners,
    number: u64,
    stream: Arc<Stream>,
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.listeners.0.lock().streams.remove(&self.number);
    }
}

impl Inbound {
    /// Keeps a client's stream until the daemon ends; the client ends it by withdrawing the request.
    pub(super) async fn listen(
        &self,
        context: &CallContext,
        view: &View,
        request: &Request,
    ) -> Outcome {
        match self.keep_stream(context, view, request).await {
            Ok(result) => Outcome::Result(result),
            Err(error) => Outcome::Error(error.to_raw()),
        }
    }

    async fn keep_stream(
        &self,
        context: &CallContext,
        view: &View,
        request: &Request,
    ) -> Result<Raw, RpcError> {
        let filter = Filter::read(request.params.as_ref())?;
        let mut memory = self.memory().share();
        if !memory.try_grow(filter.cost()) {
            return Err(bounds::no_memory());
        }
        let discovered = self.0.router.discover(&context.caller, view).await;
        let discovered = discovered.map_err(|failure| failure.as_rpc_error())?;
        let capabilities = discovered.get("capabilities");
        let wanted = filter.met_by(&capabilities.unwrap_or_else(Raw::empty_object));
        if wanted.tasks.as_ref().is_some_and(|ids| !ids.is_empty()) {
            Router::check_knows_tasks(context)?;
        }
        let id = request.id.detached();
        let listeners = &self.0.listeners;
        let slot = listeners.enter(&self.0.router, &context.caller, |seen| Stream {
            caller: context.caller.clone(),
            view: view.clone(),
            wanted,
            id: id.to_raw(),
            to_client: context.to_client.clone(),
            state: Guarded::new(StreamState {
                seen,
                early: Some(Vec::new()),
            }),
            _memory: memory,
        })?;
        let (met, subscriptions) = self.follow(context, &slot.stream).await;
        slot.stream.acknowledge(&met);
        self.0.closing.cancelled().await;
        drop(subscriptions);
        if context.session.is_some() {
            context.to_client.send(ended(&id));
        }
        let result = tagged(&id.to_raw(), None);
        Ok(bridge::own_result_for(
            context.revision,
            &request.method,
            result,
        ))
    }

    /// Subscribes to the resources and tasks that a stream is to follow. What cannot be had is left out of what is met.
    async fn follow(
        &self,
        context: &CallContext,
        stream: &Arc<Stream>,
    ) -> (Filter, Vec<Subscription>) {
        let (router, view) = (&self.0.router, &stream.view);
        let updates = stream.wanted.updates.iter().flatten();
        let updates =
            updates.map(|uri| agreed(uri, router.subscribe(context, view, uri, stream.telling())));
        let tasks = stream.wanted.tasks.iter().flatten();
        let tasks =
            tasks.map(|id| agreed(id, router.follow_task(context, view, id, stream.telling())));
        let (updates, tasks) = tokio::join!(join_all(updates), join_all(tasks));
        let (uris, mut subscriptions) = met(updates);
        let (ids, of_tasks) = met(tasks);
        subscriptions.extend(of_tasks);
        let filter = Filter {
            updates: uris,
            tasks: ids,
            ..stream.wanted.clone()
        };
        (filter, subscriptions)
    }
}

/// A subscription by its name, once a server has agreed to it.
async fn agreed(
    name: &str,
    subscribing: impl Future<Output = Result<Subscription, Raw>>,
) -> Option<(String, Subscription)> {
    match tokio::time::timeout(AGREEMENT, subscribing).await {
        Ok(Ok(subscription)) => Some((name.to_owned(), subscription)),
        Ok(Err(error)) => {
            let error = error.as_str();
            tracing::debug!(error, "a resource or task cannot be followed");
            None
        }
        Err(_) => None,
    }
}

/// What an acknowledgement lists of them.
fn met(
    followed: Vec<Option<(String, Subscription)>>,
) -> (Option<BTreeSet<String>>, Vec<Subscription>) {
    let (names, subscriptions): (BTreeSet<_>, Vec<_>) = followed.into_iter().flatten().unzip();
    ((!names.is_empty()).then_some(names), subscriptions)
}

/// The last notice for the client of a pipe before the result that ends its stream, because there is nothing to close (cancellation,
/// "Subscriptions").
fn ended(id: &Id) -> Bytes {
    let params = Raw::author(&serde_json::json!({
        "requestId": id.to_raw(),
        "reason": "mcpproxy is stopping",
    }));
    let params = tagged(&id.to_raw(), Some(&params));
    notification_frame(method::CANCELLED, Some(&params))
}

/// Params or a result that belong to the stream of this id.
fn tagged(id: &Raw, object: Option<&Raw>) -> Raw {
    let empty = Raw::empty_object();
    let object = object.filter(|object| object.is_object()).unwrap_or(&empty);
    let inner = [(meta::SUBSCRIPTION_ID, Edit::Set(id.clone()))];
    splice(object, &[(meta::META, Edit::Within(&inner))]).expect("an object was given")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filter(resources: &str) -> Filter {
        let params = format!(r#"{{"notifications":{{"resourceSubscriptions":{resources}}}}}"#);
        let params = Raw::parse_str(&params).expect("JSON");
        Filter::read(Some(&params)).expect("a filter")
    }

    #[test]
    fn no_more_of_a_filter_is_kept_than_a_stream_follows() {
        let uris: Vec<String> = (0..MAX_FOLLOWED + 5).map(|n| format!("{n:05}")).collect();
        let kept = filter(&serde_json::json!(uris).to_string());
        let kept = kept.updates.clone().expect("resources");
        assert_eq!(kept.len(), MAX_FOLLOWED);
        assert!(kept.contains("00000") && !kept.contains("01003"));
        let (fits, too_long) = ("x".repeat(MAX_URI), "x".repeat(MAX_URI + 1));
        let kept = filter(&serde_json::json!([too_long, fits]).to_string());
        assert!(kept.cost() > 3 * MAX_URI);
        assert_eq!(kept.updates, Some(BTreeSet::from([fits])));
        assert_eq!(filter("null").updates, None);
        let odd = Raw::parse_str(r#"{"notifications":{"taskIds":"t"}}"#).expect("JSON");
        let error = Filter::read(Some(&odd)).expect_err("a fault");
        assert!(error.message.contains("lists of strings"), "{error:?}");
        assert_eq!(
            filter("[\"\\u0061\"]").updates,
            Some(BTreeSet::from(["a".to_owned()]))
        );
    }
}
