//! What the verbs stand on.

use std::{path::Path, sync::Arc, time::Duration};

use crate::{
    activity::{ActivityReader, OperatorChange, UnreadableActivity},
    authorization::LoginTrouble,
    catalog::{ApprovalRequest, ApprovalWithdrawal, ServerCatalog, Snapshot},
    config::{ChangeOf, History, OurAddress, Settings, TextChange, WriteError},
    failure::Result,
    text::names::ServerName,
    trust::approvals::ApprovalStep,
    upstream::Status,
};

/// The facts behind the verbs, and the one way to change them.
pub trait Backing: Send + Sync {
    /// Whether servers run. One that a daemon has not listed yet has no tools for anybody; of files alone, the list may have been deleted, or
    /// be one of another configuration.
    const RUNS: bool;

    /// The settings that count.
    fn settings(&self) -> Result<Arc<Settings>>;

    /// The configuration file.
    fn config_file(&self) -> &Path;

    /// The keys of the file that count for nothing, each with the options of the daemon's command line that count instead.
    fn hidden_keys(&self) -> &[(&'static str, &'static str)];

    /// Where we are, so that no server may lead there.
    fn our_address(&self) -> OurAddress;

    /// Why the file as it stands cannot be used, or is not in force.
    fn config_error(&self) -> Option<String>;

    /// The last lists of these servers.
    fn lists(&self, settings: &Settings) -> Arc<Snapshot>;

    /// The data folder.
    fn data_dir(&self) -> &Path;

    /// What a server wrote to its stderr of late and is still in memory, at most `n` lines.
    fn recent_log(&self, server: &str, n: usize) -> Vec<String>;

    /// Lets go what is kept of a server that was taken out of the configuration, but for what was approved of it: whoever undoes the
    /// removal gets back what was held.
    fn forget(&self, server: &str) -> impl Future<Output = ()> + Send;

    /// Lets go what was approved of a server that was there once, because a person adds one of its name.
    fn begin_anew(&self, server: &ServerName) -> impl Future<Output = ()> + Send;

    /// Takes what a person saw for approved; what that changed. `listed` is what is known of the server.
    fn approve(
        &self,
        request: ApprovalRequest,
        listed: Option<&ServerCatalog>,
    ) -> impl Future<Output = Result<ApprovalStep>> + Send;

    /// Takes approvals back.
    fn withdraw(&self, withdrawal: ApprovalWithdrawal) -> impl Future<Output = Result> + Send;

    /// How the connections of a server are.
    fn connections(&self, server: &str) -> Connections;

    /// The activity log.
    fn activity(&self) -> impl Future<Output = Result<ActivityReader, UnreadableActivity>> + Send;

    /// Writes a change to the file that is decided over the text that it replaces, and again over a later one, and puts it in force where
    /// anything is. Nothing is recorded.
    fn rewrite(
        &self,
        by: ChangeOf,
        change: impl TextChange + Send + 'static,
    ) -> impl Future<Output = Result<(), WriteError>> + Send;

    /// The history of the file.
    fn history(&self) -> &History;

    /// Waits until what runs follows what the settings say of a server, where anything runs, but not for long.
    fn follows(&self, server: &str) -> impl Future<Output = ()> + Send;

    /// Waits until the first attempt to connect a server has come to an end, where one is under way or about to be.
    fn settles(&self, server: &str, patience: Duration) -> impl Future<Output = ()> + Send;

    /// Ends the demo server of this name, if somebody started one while the daemon runs; whether it stood in no file either.
    fn stop_demo(&self, server: &str) -> impl Future<Output = bool> + Send;

    /// Puts in force what changed outside of the file.
    fn reread(&self) -> impl Future<Output = ()> + Send;

    /// Records a change, where records are kept.
    fn note(&self, change: OperatorChange);
}

/// The connections of one server.
#[derive(Debug, Default)]
pub struct Connections {
    /// The one that lists it, and serves everybody where it is shared.
    pub base: Option<Status>,
    /// One for each client or workspace that has its own.
    pub instances: Vec<Status>,
    /// How many calls are in flight on them.
    pub in_flight: usize,
    /// Permissions that calls were refused for want of.
    pub missing_scopes: Vec<String>,
    /// Why the server takes no request although nobody has ended its login.
    pub login_trouble: Option<LoginTrouble>,
    /// Whether somebody has logged in to the server.
    pub is_logged_in: bool,
}

impl Connections {
    /// All of them.
    pub fn all(&self) -> impl Iterator<Item = &Status> {
        self.base.iter().chain(&self.instances)
    }
}
