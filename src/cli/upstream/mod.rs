//! `mcpproxy upstream`: lists, adds, changes, reviews and removes servers.

mod add;
mod approve;
mod change;
mod inspect;
mod list;
mod lock;
mod login;
mod logs;
mod patch;
mod rest_of_definition;
mod review;
mod review_step;
mod show;

use clap::Subcommand;

pub(super) use list::print_rows;

use super::{Done, Location, Output, escapes::visible};
use crate::{api::ServerVerb, text::some_of};

/// Add, edit, restart, review and remove servers
#[derive(Debug, Subcommand)]
pub(super) enum UpstreamCommand {
    #[command(visible_alias = "ls")]
    List(list::ListServers),
    Show(show::ShowServer),
    Add(add::AddServer),
    /// Remove servers, their logs and their logins
    #[command(visible_alias = "rm")]
    Remove(change::NamedServers),
    /// Enable servers
    Enable(change::NamedServers),
    /// Stop servers and hide their tools
    Disable(change::NamedServers),
    /// Restart servers and read their tools again
    Restart(change::NamedServers),
    Patch(patch::PatchServer),
    Logs(logs::ShowLogs),
    Inspect(inspect::InspectServer),
    Approve(approve::ApproveServer),
    /// Quarantine servers until you approve them
    Quarantine(change::NamedServers),
    Lock(lock::WriteLock),
    Login(login::LogIn),
    Logout(login::LogOut),
}

impl UpstreamCommand {
    pub(super) async fn run(self, location: &Location, out: Output) -> Done {
        let files = &location.files()?;
        match self {
            Self::List(list) => list.run(files, out).await,
            Self::Show(show) => show.run(files, out).await,
            Self::Add(add) => add.run(files, out).await,
            Self::Remove(named) => named.run(ServerVerb::Remove, files, out).await,
            Self::Enable(named) => named.run(ServerVerb::Enable, files, out).await,
            Self::Disable(named) => named.run(ServerVerb::Disable, files, out).await,
            Self::Restart(named) => named.run(ServerVerb::Restart, files, out).await,
            Self::Patch(patch) => patch.run(files, out).await,
            Self::Logs(logs) => logs.run(files, out).await,
            Self::Inspect(inspect) => inspect.run(files, out).await,
            Self::Approve(approve) => approve.run(files, out).await,
            Self::Quarantine(named) => named.run(ServerVerb::Quarantine, files, out).await,
            Self::Lock(lock) => lock.run(files, out).await,
            Self::Login(login) => login.run(files, out).await,
            Self::Logout(logout) => logout.run(files, out).await,
        }
    }
}

/// The first names, escaped, and how many more there are: `a, b and 3 more`.
fn name_some(names: &[String]) -> String {
    /// Names that are shown.
    const NAMED: usize = 8;

    visible(&some_of(names, NAMED))
}
