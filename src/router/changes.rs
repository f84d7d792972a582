//! Changes of the lists that clients see, whether a server listed something else or the settings changed.

use std::sync::Arc;

use tokio::sync::{
    broadcast::{self, error::RecvError},
    watch,
};

use super::{Router, View, lists::Lists};
use crate::{
    access::Caller,
    catalog::{Difference, OwnDifference},
    config::{RoutingMode, Settings},
};

/// Follows the lists.
pub struct Changes {
    router: Router,
    settings: watch::Receiver<Arc<Settings>>,
    catalog: broadcast::Receiver<Difference>,
    own: broadcast::Receiver<OwnDifference>,
}

/// The lists that a listening client knows.
#[derive(Clone)]
pub struct Known(Arc<Lists>);

/// Something changed: announces to each listening client what it does not know yet.
pub struct Announcement<'a> {
    router: &'a Router,
    /// The changes for the clients before. Most clients have the same.
    changes: Vec<Change>,
    /// The change of a list that only one client sees, if it is that.
    own: Option<OwnDifference>,
}

/// How many different changes one announcement remembers. Further ones are compared anew for each client.
const CHANGES: usize = 64;

/// The change from the lists that a client knows to those of now.
struct Change {
    before: Arc<Lists>,
    now: Arc<Lists>,
    /// The lists that changed in the mode `direct`.
    direct: Difference,
    /// Whether the tools of the mode `retrieve_tools` changed.
    built_in: bool,
}

impl Router {
    /// Hears of every change from now on.
    pub fn changes(&self) -> Changes {
        Changes {
            settings: self.0.settings.clone(),
            catalog: self.0.catalog.differences(),
            own: self.0.catalog.own_differences(),
            router: self.clone(),
        }
    }

    /// Whether this endpoint announces changes of its tools, prompts and resources, in this order.
    pub fn announces(&self, view: &View) -> [bool; 3] {
        let View::Server(server) = view else {
            return [true; 3];
        };
        let snapshot = self.0.catalog.glance();
        let known = snapshot.servers.get(server);
        ["tools", "prompts", "resources"].map(|list| {
            let capability = format!("{list}.listChanged");
            known.is_some_and(|known| known.has_capability(&capability))
        })
    }

    /// What a new listener knows: it gets no announcement of earlier changes, even if they are announced later.
    pub fn known_now(&self, caller: &Caller) -> Known {
        Known(self.prepared(caller))
    }
}

impl Changes {
    /// The next change; `None` while shutting down. Cancel-safe.
    pub async fn next(&mut self) -> Option<Announcement<'_>> {
        let mut own = None;
        tokio::select! {
            changed = self.settings.changed() => changed.ok()?,
            changed = self.own.recv() => match changed {
                Ok(changed) => own = Some(changed),
                Err(RecvError::Lagged(_)) => (),
                Err(RecvError::Closed) => return None,
            },
            changed = self.catalog.recv() => match changed {
                // Missed differences are no loss: the lists of now are compared.
                Ok(_) | Err(RecvError::Lagged(_)) => (),
                Err(RecvError::Closed) => return None,
            },
        }
        // Here, so that no listener renews them under a lock.
        self.router.prepare_all();
        Some(Announcement {
            router: &self.router,
            changes: Vec::new(),
            own,
        })
    }
}

impl Announcement<'_> {
    /// The lists of this endpoint that differ from those that the client knows, which are replaced by those of now.
    pub fn news(&mut self, known: &mut Known, caller: &Caller, view: &View) -> Difference {
        let of_kin = self.news_of_kin(&known.0, caller, view);
        of_kin | self.news_of_lists(known, caller, view)
    }

    /// The change of a list that only one client sees, if that client is of the same caller. Without a session, nobody can tell which of the
    /// caller's connections listens for which client.
    fn news_of_kin(&self, lists: &Lists, caller: &Caller, view: &View) -> Difference {
        let (Some(own), Some(seat)) = (&self.own, caller.seat()) else {
            return Difference::default();
        };
        let server = own.server.as_str();
        let is_shown = match view {
            View::Server(shown) => *shown == own.server,
            _ => lists.mode(view) == RoutingMode::Direct,
        };
        if own.client.is_kin_of(&seat.client)
            && is_shown
            && self.router.0.gate.offers(caller, server)
        {
            own.difference
        } else {
            Difference::default()
        }
    }

    fn news_of_lists(&mut self, known: &mut Known, caller: &Caller, view: &View) -> Difference {
        let now = self.router.prepared(caller);
        let before = std::mem::replace(&mut known.0, now.clone());
        if Arc::ptr_eq(&before, &now) {
            return Difference::default();
        }
        let is_same = |change: &Change| {
            Arc::ptr_eq(&change.before, &before) && Arc::ptr_eq(&change.now, &now)
        };
        if let Some(change) = self.changes.iter().find(|change| is_same(change)) {
            return change.seen_on(view);
        }
        let change = Change::between(before, now);
        let seen = change.seen_on(view);
        if self.changes.len() < CHANGES {
            self.changes.push(change);
        }
        seen
    }
}

impl Change {
    fn between(before: Arc<Lists>, now: Arc<Lists>) -> Self {
        let direct = Difference {
            tools: before.direct != now.direct,
            prompts: before.prompts != now.prompts,
            resources: before.resources != now.resources || before.templates != now.templates,
        };
        let built_in = RoutingMode::RetrieveTools;
        Self {
            built_in: before.tools_of(built_in) != now.tools_of(built_in),
            direct,
            before,
            now,
        }
    }

    fn seen_on(&self, view: &View) -> Difference {
        let (before, now) = (&self.before, &self.now);
        if let View::Server(server) = view {
            if before.is_same_for(server, now) {
                return Difference::default();
            }
            return before.of(server).difference(&now.of(server));
        }
        Difference {
            tools: match (before.mode(view), now.mode(view)) {
                (RoutingMode::Direct, RoutingMode::Direct) => self.direct.tools,
                (RoutingMode::RetrieveTools, RoutingMode::RetrieveTools) => self.built_in,
                _ => before.tools(view) != now.tools(view),
            },
            ..self.direct
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::{
        catalog::{Catalog, Listing},
        config::{self, Surroundings},
        gate::Gate,
        text::names::ServerName,
        upstream::Upstreams,
        wire::{Raw, Revision},
    };

    fn settings() -> Settings {
        let text = r#"{"mcpServers":{"s":{"command":"c"}}}"#;
        let surroundings = Surroundings {
            lookup: &|_| None,
            folder: Path::new("."),
        };
        config::parse(text, &surroundings).expect("a configuration")
    }

    fn listing(tools: &[&str]) -> Listing {
        let define = |name| {
            Raw::author(&serde_json::json!({"name": name, "inputSchema": {"type": "object"}}))
        };
        Listing {
            initialize: Raw::empty_object(),
            revision: Revision::NEWEST_LEGACY,
            tools: tools.iter().map(define).collect(),
            prompts: vec![],
            resources: vec![],
            templates: vec![],
        }
    }

    #[tokio::test]
    async fn who_listens_is_told_of_changes_since_then_and_once() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let server = ServerName::parse("s").expect("a name");
        let (catalog, task) = Catalog::new(folder.path(), &[(server.clone(), "e".to_owned())]);
        let shutdown = CancellationToken::new();
        tokio::spawn(task.run(shutdown.clone()));
        let (_settings, settings) = watch::channel(Arc::new(settings()));
        let router = {
            let gate = Gate::new(settings.clone(), catalog.clone());
            Router::new(
                settings,
                gate,
                catalog.clone(),
                Upstreams::default(),
                crate::activity::Activity::none(),
                crate::management::Management::of_no_servers(catalog.clone(), folder.path()),
                crate::code_execution::Scripts::run_by(None),
            )
        };
        let (caller, view) = (Caller::named("a"), View::Mode(RoutingMode::Direct));
        let only_tools = Difference {
            tools: true,
            ..Difference::default()
        };

        let other = Caller::named("b");
        let [one, same] = [&caller, &other].map(|caller| router.prepared(caller));
        assert!(
            Arc::ptr_eq(&one, &same),
            "made once for all who see the same"
        );

        let mut changes = router.changes();
        let mut early = router.known_now(&caller);
        catalog.put(&server, "e", listing(&["a"])).await;
        // It begins when the change can be seen, but has not been announced.
        let mut late = router.known_now(&caller);
        let mut announcement = changes.next().await.expect("a change");
        assert_eq!(announcement.news(&mut early, &caller, &view), only_tools);
        assert_eq!(
            announcement.news(&mut early, &caller, &view),
            Difference::default()
        );
        assert_eq!(
            announcement.news(&mut late, &caller, &view),
            Difference::default()
        );

        catalog.put(&server, "e", listing(&["a", "b"])).await;
        let mut announcement = changes.next().await.expect("a change");
        for known in [&mut early, &mut late] {
            assert_eq!(announcement.news(known, &caller, &view), only_tools);
        }
        shutdown.cancel();
    }
}
