//! What the routes stand on that need no daemon: the parts of one that runs, or the files alone.

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

/// The state of those routes.
pub(super) trait Verbs: Clone + Send + Sync + 'static {
    type Backing: Backing + 'static;

    fn management(&self) -> &Management<Self::Backing>;

    /// The files alone.
    fn files(&self) -> Files;

    /// Where the daemon is, if one runs.
    fn location(&self) -> Option<&DaemonLocation>;

    /// When tokens were used last, by their hashes, as far as it is not in the data folder.
    fn token_uses(&self) -> BTreeMap<String, u64>;

    /// The sessions that clients have open, if a daemon runs.
    fn open_sessions(&self) -> Vec<OpenSession>;

    /// Puts an answer together off the workers of the runtime: a server may list twenty thousand things.
    fn in_turn(
        &self,
        work: impl FnOnce(&Management<Self::Backing>) -> Answer + Send + 'static,
    ) -> impl Future<Output = Answer> + Send;

    /// Restarts a server, which only a daemon can.
    fn restart(&self, name: &str) -> impl Future<Output = Result<ServerChange>> + Send;

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
