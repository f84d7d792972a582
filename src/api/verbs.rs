//! The parts that routes need which also work without a daemon: those of a running daemon, or the files alone.

use std::collections::BTreeMap;

use super::{Answer, Api, config, sessions};
use crate::{
    access::Caller,
    call_context::OpenSession,
    failure::{ErrorCode, Failure, Result},
    management::{Backing, DaemonLocation, Files, Management, OverDaemon, OverFiles, ServerChange},
    router::search::{Detail, Search, search_lists},
    wire::Raw,
};

/// What such a route needs. It is the state of its handler.
pub(super) trait Verbs: Clone + Send + Sync + 'static {
    type Backing: Backing + 'static;

    fn management(&self) -> &Management<Self::Backing>;

    /// The verbs over the files alone.
    fn files(&self) -> Files;

    /// Where the daemon is, if one runs.
    fn location(&self) -> Option<&DaemonLocation>;

    /// Last uses of tokens, by their hashes, that may not be in the data folder yet.
    fn token_uses(&self) -> BTreeMap<String, u64>;

    /// The open sessions of clients; none without a daemon.
    fn open_sessions(&self) -> Vec<OpenSession>;

    /// Makes an answer off the workers of the runtime, because a server may list many thousands of definitions.
    fn in_turn(
        &self,
        work: impl FnOnce(&Management<Self::Backing>) -> Answer + Send + 'static,
    ) -> impl Future<Output = Answer> + Send;

    /// Restarts a server, which only a daemon can.
    fn restart(&self, name: &str) -> impl Future<Output = Result<ServerChange>> + Send;

    /// Searches the tools that this caller may find.
    fn search(
        &self,
        caller: &Caller,
        search: &Search,
        detail: Detail,
    ) -> impl Future<Output = Result<Raw>> + Send;
}

impl Verbs for Api {
    type Backing = OverDaemon;

    fn management(&self) -> &Management {
        &self.0.management
    }

    fn files(&self) -> Files {
        config::files(self)
    }

    fn location(&self) -> Option<&DaemonLocation> {
        Some(&self.0.location)
    }

    fn token_uses(&self) -> BTreeMap<String, u64> {
        self.0.access.token_uses()
    }

    fn open_sessions(&self) -> Vec<OpenSession> {
        (self.0.list_sessions)(sessions::MOST)
    }

    async fn in_turn(&self, work: impl FnOnce(&Management) -> Answer + Send + 'static) -> Answer {
        let management = self.0.management.clone();
        let working = self.0.router.long_work().run(move |_| work(&management));
        working.await.map_err(Failure::from)?
    }

    async fn restart(&self, name: &str) -> Result<ServerChange> {
        let restarted = self.0.management.restart_server(name).await;
        restarted.map_err(|failure| self.0.management.for_operator(failure))
    }

    async fn search(&self, caller: &Caller, search: &Search, detail: Detail) -> Result<Raw> {
        let found = self.0.router.search().answer(caller, search, detail).await;
        found.map_err(|failure| self.0.management.for_operator(failure))
    }
}

impl Verbs for Files {
    type Backing = OverFiles;

    fn management(&self) -> &Self {
        self
    }

    fn files(&self) -> Self {
        self.clone()
    }

    fn location(&self) -> Option<&DaemonLocation> {
        None
    }

    fn token_uses(&self) -> BTreeMap<String, u64> {
        BTreeMap::new()
    }

    fn open_sessions(&self) -> Vec<OpenSession> {
        Vec::new()
    }

    async fn in_turn(&self, work: impl FnOnce(&Self) -> Answer + Send + 'static) -> Answer {
        work(self)
    }

    async fn restart(&self, name: &str) -> Result<ServerChange> {
        let error = "the daemon is not running";
        let failure = Failure::new(ErrorCode::DaemonUnreachable, error, "Start the daemon.");
        Err(failure.of_server(name).at_terminal("`mcpproxy start`"))
    }

    async fn search(&self, caller: &Caller, search: &Search, detail: Detail) -> Result<Raw> {
        let settings = self.settings()?;
        let lists = self.lists(&settings);
        search_lists(caller, &settings, &lists, search, detail)
    }
}
