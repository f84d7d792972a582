//! What the verbs work over: the parts of a daemon, or files.

use std::{path::Path, sync::Arc, time::Duration};

use crate::{
    activity::{ActivityReader, OperatorChange, UnreadableActivity},
    authorization::{LoginError, LoginTrouble},
    catalog::{ApprovalRequest, ApprovalWithdrawal, ServerCatalog, Snapshot},
    config::{ChangeOf, History, OurAddress, Settings, TextChange, WriteError},
    failure::{Failure, Result},
    text::names::ServerName,
    trust::approvals::ApprovalStep,
    upstream::Status,
};

/// The facts for the verbs, and the ways to change them.
pub trait Backing: Send + Sync {
    /// Whether servers run. With a daemon, a server that has not been listed has no tools; over files, it is unknown whether it has some.
    const RUNS: bool;

    /// The settings: those in force, or those in the file.
    fn settings(&self) -> Result<Arc<Settings>>;

    /// The configuration file.
    fn config_file(&self) -> &Path;

    /// The keys of the file that options of the daemon's command line override, each with the restart after which its value counts.
    fn hidden_keys(&self) -> &[(&'static str, &'static str)];

    /// The address of mcpproxy, so that no server may lead there.
    fn our_address(&self) -> OurAddress;

    /// Why the configuration file cannot be used, or is not in force.
    fn config_error(&self) -> Option<Failure>;

    /// The last lists of these servers.
    fn lists(&self, settings: &Settings) -> Arc<Snapshot>;

    /// The data folder.
    fn data_dir(&self) -> &Path;

    /// The last lines of a server's stderr that are still in memory, at most `n`.
    fn recent_log(&self, server: &str, n: usize) -> Vec<String>;

    /// Deletes what is kept of a removed server, except its approvals: undoing the removal brings back what was held.
    fn forget(&self, server: &str) -> impl Future<Output = ()> + Send;

    /// Deletes the approvals of a former server whose name a person gives to a new one.
    fn begin_anew(&self, server: &ServerName) -> impl Future<Output = ()> + Send;

    /// Approves what a person reviewed. Gives what that changed. `listed` has the known lists of the server.
    fn approve(
        &self,
        request: ApprovalRequest,
        listed: Option<&ServerCatalog>,
    ) -> impl Future<Output = Result<ApprovalStep>> + Send;

    /// Takes approvals back.
    fn withdraw(&self, withdrawal: ApprovalWithdrawal) -> impl Future<Output = Result> + Send;

    /// The connections of a server.
    fn connections(&self, server: &str) -> Connections;

    /// The activity log.
    fn activity(&self) -> impl Future<Output = Result<ActivityReader, UnreadableActivity>> + Send;

    /// Writes a change to the file, and puts it in force if a daemon runs. The change is made of the text that it replaces, and made again
    /// if that has changed meanwhile. Nothing is recorded.
    fn rewrite(
        &self,
        by: ChangeOf,
        change: impl TextChange + Send + 'static,
    ) -> impl Future<Output = Result<(), WriteError>> + Send;

    /// The history of the file.
    fn history(&self) -> &History;

    /// Waits, but not for long, until the daemon has put the settings of a server into effect.
    fn follows(&self, server: &str) -> impl Future<Output = ()> + Send;

    /// Waits until the first attempt to connect a server has ended, if one is under way or about to begin.
    fn settles(&self, server: &str, patience: Duration) -> impl Future<Output = ()> + Send;

    /// Stops the demo server of this name, if a request started one. Says whether that removed the server, because no file has it.
    fn stop_demo(&self, server: &str) -> impl Future<Output = bool> + Send;

    /// Reads the configuration again, for changes outside of the file.
    fn reread(&self) -> impl Future<Output = ()> + Send;

    /// Records a change, where records are kept.
    fn note(&self, change: OperatorChange);
}

/// The connections of one server.
#[derive(Debug, Default)]
pub struct Connections {
    /// The connection that reads its lists, and serves all clients if they share one.
    pub base: Option<Status>,
    /// The connections of clients or workspaces that have one of their own.
    pub instances: Vec<Status>,
    /// The number of running calls on all of them.
    pub in_flight: usize,
    /// The scopes that the login lacks, by refusals of calls.
    pub missing_scopes: Vec<String>,
    /// Why the server refuses requests although its login has not ended.
    pub login_trouble: Option<LoginTrouble>,
    /// Why no login can work as things are, where one has failed and one is needed.
    pub login_obstacle: Option<LoginError>,
    /// Whether somebody has logged in to the server.
    pub is_logged_in: bool,
}

impl Connections {
    /// All of them.
    pub fn all(&self) -> impl Iterator<Item = &Status> {
        self.base.iter().chain(&self.instances)
    }
}
