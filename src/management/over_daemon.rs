//! The verbs over the parts of a running daemon, and those that only a daemon has.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use super::{
    Backing, Connections, Management, OperatorView, ServerChange, agent_changes::AgentChanges,
    entry_review, writing::error_of,
};
use crate::{
    activity::{
        Activity, ActivityReader, CallFigures, FigurePeriod, OperatorChange, TouchedThing,
        UnreadableActivity, WantedFigures,
    },
    authorization::Logins,
    catalog::{ApprovalRequest, ApprovalWithdrawal, Catalog, ServerCatalog, Snapshot},
    config::{
        ChangeOf, DEMO, History, Keeper, OPERATOR, OurAddress, ServerEntry, Settings, Start,
        TextChange, WriteError,
    },
    failure::{ErrorCode, Failure, Result},
    gate,
    text::names::ServerName,
    trust::approvals::{ApprovalStep, ThingKind, Which},
    upstream::{State, Status, Upstream, Upstreams},
};

/// How often a wait checks its condition.
const SETTLING: Duration = Duration::from_millis(50);

/// How long an answer waits until a change has taken effect on its server.
const FOLLOWING: Duration = Duration::from_secs(2);

/// The parts of a running daemon.
pub struct OverDaemon {
    pub(super) keeper: Keeper,
    pub(super) catalog: Catalog,
    pub(super) upstreams: Upstreams,
    data_dir: PathBuf,
    pub(super) activity: Activity,
    pub(super) logins: Logins,
    started: Instant,
    pub(super) agent_changes: AgentChanges,
}

impl Management {
    /// Verbs over these parts.
    pub fn new(
        keeper: Keeper,
        catalog: Catalog,
        upstreams: Upstreams,
        data_dir: PathBuf,
        activity: Activity,
        logins: Logins,
    ) -> Self {
        Self(Arc::new(OverDaemon {
            logins,
            keeper,
            catalog,
            upstreams,
            data_dir,
            activity,
            started: Instant::now(),
            agent_changes: AgentChanges::default(),
        }))
    }

    /// Verbs over no servers and a file that does not exist, for tests of other rooms.
    #[cfg(test)]
    pub(crate) fn of_no_servers(catalog: Catalog, folder: &Path) -> Self {
        let file = folder.join("none.json");
        let opened = Keeper::open(
            &file,
            crate::config::Overrides::default(),
            Arc::new(|_| None),
            Arc::new(|_, _| std::collections::BTreeMap::new()),
        );
        let (keeper, _) = opened.expect("no file is no fault");
        let (upstreams, data_dir) = (Upstreams::default(), folder.to_owned());
        let logins = Logins::new(folder);
        Self::new(
            keeper,
            catalog,
            upstreams,
            data_dir,
            Activity::none(),
            logins,
        )
    }

    /// How long the daemon runs.
    pub fn uptime(&self) -> Duration {
        self.0.started.elapsed()
    }

    /// The settings in force. A daemon always has some.
    pub fn settings_in_force(&self) -> Arc<Settings> {
        self.0.keeper.settings()
    }

    /// The settings in force, and what is known of their servers.
    pub(super) fn view_in_force(&self) -> OperatorView {
        OperatorView {
            settings: self.settings_in_force(),
            lists: self.0.catalog.snapshot(),
        }
    }

    /// What the calls of an hour or a day add up to.
    pub async fn call_figures(&self, period: FigurePeriod, wanted: WantedFigures) -> CallFigures {
        self.0.activity.figures(period, wanted).await
    }

    /// How many events the activity log has taken since the daemon began.
    pub fn records_noted(&self) -> u64 {
        self.0.activity.noted()
    }

    /// The changed keys of the file that take effect after a restart.
    pub(super) fn needs_restart(&self) -> Vec<String> {
        let keys = self.0.keeper.needs_restart();
        keys.into_iter().map(str::to_owned).collect()
    }

    /// Connects a server anew, even one that sleeps, and reads its lists. If that fails, its row has the error.
    pub async fn restart_server(&self, name: &str) -> Result<ServerChange> {
        self.restart_for(OPERATOR.into(), name).await
    }

    /// The same for this caller. The record of it says whether the server has started.
    pub(super) async fn restart_for(&self, caller: Arc<str>, name: &str) -> Result<ServerChange> {
        let restarted = self.restart_unrecorded(name).await;
        let error = match &restarted {
            Ok(change) if change.server.is_failing() => change.server.reason.clone(),
            Ok(_) => None,
            Err(failure) => Some(failure.error.clone()),
        };
        self.0.activity.note_operator(OperatorChange {
            caller,
            error,
            ..OperatorChange::by_operator("restart", name)
        });
        restarted
    }

    /// Reads the configuration again, and the secrets that it refers to. Says why the file is not in force, if it is not.
    pub async fn read_configuration(&self) -> Option<String> {
        let read = self.0.keeper.reload_now().await;
        read.err().map(|error| error.to_string())
    }

    async fn restart_unrecorded(&self, name: &str) -> Result<ServerChange> {
        // A mistake in the file is shown elsewhere; the last good settings are used.
        let _ = self.read_configuration().await;
        if let Some(failure) = self.view_in_force().server_refusal(name) {
            return Err(failure);
        }
        let Some(upstream) = self.0.upstreams.get(name) else {
            let error = format!("the server {name:?} is being set up");
            let failure = Failure::new(ErrorCode::ServerUnavailable, error, "Try again.");
            return Err(failure.of_server(name));
        };
        if let Err(failure) = upstream.restart().await
            && self.server(name)?.last_error.is_none()
        {
            return Err(failure);
        }
        let instances = self.0.upstreams.instances(name);
        let restarts = instances.iter().map(Upstream::restart);
        // The row has the result of each.
        let _ = futures_util::future::join_all(restarts).await;
        Ok(ServerChange::of(self.server(name)?, &[]))
    }
}

impl Backing for OverDaemon {
    const RUNS: bool = true;

    fn settings(&self) -> Result<Arc<Settings>> {
        Ok(self.keeper.settings())
    }

    fn config_file(&self) -> &Path {
        self.keeper.file()
    }

    fn hidden_keys(&self) -> &[(&'static str, &'static str)] {
        self.keeper.hidden_keys()
    }

    fn our_address(&self) -> OurAddress {
        self.keeper.our_address()
    }

    fn config_error(&self) -> Option<Failure> {
        self.keeper.last_error().map(|error| error.failure())
    }

    fn lists(&self, _: &Settings) -> Arc<Snapshot> {
        self.catalog.snapshot()
    }

    fn data_dir(&self) -> &Path {
        &self.data_dir
    }

    fn recent_log(&self, server: &str, n: usize) -> Vec<String> {
        let upstream = self.upstreams.get(server);
        upstream.map_or_else(Vec::new, |upstream| upstream.stderr().tail(n))
    }

    /// The log is left to the supervisor, which deletes it when the server has ended.
    async fn forget(&self, server: &str) {
        entry_review::forget(self.data_dir(), server);
        if let Ok(name) = ServerName::parse(server) {
            self.logins.forget(&name);
        }
    }

    async fn begin_anew(&self, server: &ServerName) {
        self.catalog.forget_approvals(server.clone()).await;
    }

    async fn approve(
        &self,
        request: ApprovalRequest,
        listed: Option<&ServerCatalog>,
    ) -> Result<ApprovalStep> {
        let approval = &request.approval;
        let change = OperatorChange {
            detail: Some(format!("by {}", approval.by)),
            things: self.approved_things(&request, listed),
            ..OperatorChange::by_operator("approve", request.server.as_str())
        };
        let approved = self.catalog.approve(request).await;
        self.activity.note_operator(OperatorChange {
            error: error_of(&approved),
            ..change
        });
        approved
    }

    async fn withdraw(&self, withdrawal: ApprovalWithdrawal) -> Result {
        self.catalog.withdraw(withdrawal).await.map(drop)
    }

    fn connections(&self, server: &str) -> Connections {
        let instances = self.upstreams.instances(server);
        let base = self.upstreams.get(server);
        Connections {
            in_flight: instances.iter().chain(&base).map(Upstream::in_flight).sum(),
            is_logged_in: base.as_ref().is_some_and(Upstream::is_logged_in),
            login_trouble: base.as_ref().and_then(Upstream::login_trouble),
            login_obstacle: base.as_ref().and_then(Upstream::login_obstacle),
            base: base.as_ref().map(Upstream::status),
            missing_scopes: base.map_or_else(Vec::new, |base| base.missing_scopes()),
            instances: instances.iter().map(Upstream::status).collect(),
        }
    }

    async fn activity(&self) -> Result<ActivityReader, UnreadableActivity> {
        self.activity.reader().await
    }

    async fn stop_demo(&self, server: &str) -> bool {
        server == DEMO
            && self.keeper.end_demo().await
            && !self.keeper.settings().servers.contains_key(server)
    }

    fn history(&self) -> &History {
        self.keeper.history()
    }

    async fn rewrite(
        &self,
        by: ChangeOf,
        change: impl TextChange + Send + 'static,
    ) -> Result<(), WriteError> {
        self.keeper.rewrite(by, change).await.map(drop)
    }

    async fn reread(&self) {
        // A mistake in the file is shown elsewhere.
        let _ = self.keeper.reload_now().await;
    }

    async fn follows(&self, server: &str) {
        until(|| self.has_followed(server), FOLLOWING).await;
    }

    async fn settles(&self, server: &str, patience: Duration) {
        until(|| !self.is_about_to_connect(server), patience).await;
    }

    fn note(&self, change: OperatorChange) {
        self.activity.note_operator(change);
    }
}

/// Waits for a condition, but not longer than `patience`.
async fn until(is_so: impl Fn() -> bool + Send, patience: Duration) {
    let deadline = Instant::now() + patience;
    while !is_so() && Instant::now() < deadline {
        tokio::time::sleep(SETTLING).await;
    }
}

impl OverDaemon {
    /// Whether the first attempt to connect a server is under way or about to begin. A server with known lists sleeps until it is called,
    /// and one that may not be contacted is never connected.
    fn is_about_to_connect(&self, name: &str) -> bool {
        let settings = self.keeper.settings();
        let entry = settings.servers.get(name);
        let Some(entry) = entry.filter(|entry| entry.may_be_contacted()) else {
            return false;
        };
        let upstream = self.upstreams.get(name);
        // The supervisor has not seen the change yet.
        let Some(upstream) = upstream.filter(|upstream| upstream.runs_by(entry)) else {
            return true;
        };
        match upstream.status() {
            status if is_about_to_stay(entry, &status) => true,
            // Also one that was connected before, if nothing has failed since.
            status
                if entry.start == Start::Eager
                    && matches!(status.state, State::Connecting { failures: 0 }) =>
            {
                true
            }
            // The worker has not noticed yet that somebody has logged in.
            status if matches!(status.state, State::Authenticating { .. }) => {
                !upstream.is_login_needed()
            }
            status if status.is_beginning() => true,
            status if status.settled => false,
            _ => !self.catalog.snapshot().servers.contains_key(&entry.name),
        }
    }

    /// Whether the settings of a server have taken effect: it has ended if it may not be contacted, and else runs by its current entry. Its
    /// first attempt to connect may still be under way.
    fn has_followed(&self, server: &str) -> bool {
        let settings = self.keeper.settings();
        let entry = settings.servers.get(server);
        let upstream = self.upstreams.get(server);
        match entry.filter(|entry| entry.may_be_contacted()) {
            None => upstream.is_none(),
            Some(entry) => upstream.is_some_and(|upstream| {
                let status = upstream.status();
                let is_about_to = status.is_beginning() || is_about_to_stay(entry, &status);
                upstream.runs_by(entry) && !is_about_to
            }),
        }
    }

    /// The definitions of an approval, held ones first.
    fn approved_things(
        &self,
        request: &ApprovalRequest,
        listed: Option<&ServerCatalog>,
    ) -> Vec<TouchedThing> {
        let snapshot = self.catalog.snapshot();
        let pins = snapshot.pins.get(&request.server);
        let is_meant = |name: &str| match &request.approval.which {
            Which::All | Which::Unseen => true,
            Which::These(names) => names.iter().any(|named| named == name),
        };
        let held = pins.into_iter().flat_map(|pins| pins.ledger.held.iter());
        let held = held.filter(|((_, name), _)| is_meant(name));
        let held = held.map(|((kind, name), held)| TouchedThing {
            kind: kind.as_str(),
            name: name.clone(),
            fingerprint: Some(held.fingerprint),
            why: Some("was held"),
        });
        let key = |name: &str| (ThingKind::Tool, Box::<str>::from(name));
        let is_held =
            |name: &str| pins.is_some_and(|pins| pins.ledger.held.contains_key(&key(name)));
        let tools = listed.into_iter().flat_map(|listed| listed.tools.iter());
        let tools = tools.filter(|tool| is_meant(&tool.name) && !is_held(&tool.name));
        let tools = tools.map(|tool| TouchedThing {
            kind: ThingKind::Tool.as_str(),
            name: tool.name.clone(),
            fingerprint: Some(tool.fingerprint),
            why: None,
        });
        held.chain(tools).collect()
    }
}

/// Whether a server that should always be connected still sleeps.
fn is_about_to_stay(entry: &ServerEntry, status: &Status) -> bool {
    let may_stay = gate::standing(entry).is_usable();
    entry.start == Start::Eager && may_stay && matches!(status.state, State::Asleep)
}
