//! Changes of the lists that clients see, whatever brought them: a server that offers something else, or settings that show
//! something else.

use std::sync::Arc;

use tokio::sync::{
    broadcast::{self, error::RecvError},
    watch,
};

use super::{Router, View, lists::Lists};
use crate::{catalog::Difference, config::Settings};

/// Follows the lists.
pub struct Changes {
    router: Router,
    settings: watch::Receiver<Arc<Settings>>,
    catalog: broadcast::Receiver<Difference>,
    seen: Arc<Lists>,
}

/// From what clients saw to what they see.
pub struct Change {
    before: Arc<Lists>,
    now: Arc<Lists>,
    /// What of it clients see on endpoints that list the upstreams' tools.
    direct: Difference,
    /// Whether our own tools are others.
    built_in: bool,
}

impl Router {
    /// Hears of every change from now on.
    pub fn changes(&self) -> Changes {
        Changes {
            settings: self.0.settings.clone(),
            catalog: self.0.catalog.differences(),
            seen: self.prepared(),
            router: self.clone(),
        }
    }
}

impl Changes {
    /// The next change; `None` while shutting down. Safe to drop while it waits.
    pub async fn next(&mut self) -> Option<Change> {
        tokio::select! {
            changed = self.settings.changed() => changed.ok()?,
            changed = self.catalog.recv() => match changed {
                // Having missed some is no loss: what counts is what is known now.
                Ok(_) | Err(RecvError::Lagged(_)) => (),
                Err(RecvError::Closed) => return None,
            },
        }
        let now = self.router.prepared();
        let before = std::mem::replace(&mut self.seen, now.clone());
        Some(Change::between(before, now))
    }
}

impl Change {
    fn between(before: Arc<Lists>, now: Arc<Lists>) -> Self {
        let direct = Difference {
            tools: before.direct != now.direct,
            prompts: before.prompts != now.prompts,
            resources: before.resources != now.resources || before.templates != now.templates,
        };
        Self {
            built_in: before.built_in != now.built_in,
            direct,
            before,
            now,
        }
    }

    /// What of it a client of this endpoint sees. Lists that read the same are the same, whatever happened.
    pub fn seen_on(&self, view: &View) -> Difference {
        let (before, now) = (&self.before, &self.now);
        if let View::Server(server) = view {
            if before.is_same_for(server, now) {
                return Difference::default();
            }
            return before.of(server).difference(&now.of(server));
        }
        Difference {
            tools: match (before.shows_direct(view), now.shows_direct(view)) {
                (true, true) => self.direct.tools,
                (false, false) => self.built_in,
                _ => before.tools(view) != now.tools(view),
            },
            ..self.direct
        }
    }
}
