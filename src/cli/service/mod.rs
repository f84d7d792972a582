//! `mcpproxy service`: the daemon as a service of the person who is logged in, under systemd or launchd.
//!
//! Writes one file and registers it with the service manager. What runs is `mcpproxy serve`, as by hand.

mod definition;
mod install;
mod launchd;
mod places;
mod state;
mod status;
mod steps;
mod systemd;
mod uninstall;

use std::path::PathBuf;

use clap::{Args, Subcommand};

use self::{
    definition::{CommandLine, ServiceDefinition},
    places::ServiceKind,
    state::ServiceState,
    steps::Step,
};
pub(super) use self::{
    install::install,
    uninstall::{installed, uninstall},
};
use super::{CommandFailure, Done, Location, Output};

use crate::storage::DiskFault;

/// Run the daemon at every login
#[derive(Debug, Subcommand)]
pub(super) enum ServiceCommand {
    Install(install::InstallService),
    Uninstall(uninstall::UninstallService),
    Status(status::ServiceStatus),
}

impl ServiceCommand {
    pub(super) async fn run(self, location: &Location, out: Output) -> Done {
        match self {
            Self::Install(install) => install.run(location, out).await,
            Self::Uninstall(uninstall) => uninstall.run(location, out).await,
            Self::Status(status) => status.run(location, out).await,
        }
    }
}

/// Restarts the daemon of this process as a service, if it is one. Whether it is.
pub(super) async fn restart(pid: u32) -> Done<bool> {
    let Some(kind) = places::present() else {
        return Ok(false);
    };
    if ServiceState::ask(kind).await.pid != Some(pid) {
        return Ok(false);
    }
    let again = Step::again(kind);
    let outcome = again.run().await;
    if outcome.is_done {
        return Ok(true);
    }
    let what = format!("the service was not restarted: {}", outcome.reason);
    Err(CommandFailure::failed(what).next(format!("`{again}`")))
}

/// Which service manager is meant.
#[derive(Debug, Args)]
struct ServiceChoice {
    /// The service manager, if not this machine's own
    #[arg(
        long,
        value_name = "systemd|launchd",
        value_enum,
        hide_possible_values = true
    )]
    manager: Option<ServiceKind>,
}

/// Where a service is, or would be.
struct ServiceFile {
    kind: ServiceKind,
    path: PathBuf,
}

/// What stands in the file of a service.
enum Found {
    Nothing,
    /// It bears our mark.
    Ours {
        text: String,
        /// What it starts, where that can still be read.
        installed: Option<CommandLine>,
    },
    /// Somebody else wrote it.
    Foreign,
}

impl ServiceFile {
    fn of(choice: &ServiceChoice) -> Done<Self> {
        let kind = choice.manager.or_else(places::present).ok_or_else(|| {
            CommandFailure::failed("neither systemd nor launchd is on this machine")
                .next("have its service manager run `mcpproxy serve`")
        })?;
        let path = places::file(kind).map_err(CommandFailure::failed)?;
        Ok(Self { kind, path })
    }

    fn read(&self) -> Done<Found> {
        match std::fs::read_to_string(&self.path) {
            Ok(text) if text.contains(definition::MARK) => {
                let installed = CommandLine::recorded_in(&text);
                Ok(Found::Ours { text, installed })
            }
            Ok(_) => Ok(Found::Foreign),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Found::Nothing),
            Err(error) => Err(DiskFault::of("read", &self.path)(error).into()),
        }
    }

    /// What the file says for this definition.
    fn text(&self, definition: &ServiceDefinition) -> String {
        match self.kind {
            ServiceKind::Systemd => systemd::unit(definition),
            ServiceKind::Launchd => launchd::agent(definition),
        }
    }

    fn foreign(&self) -> CommandFailure {
        let file = self.path.display();
        CommandFailure::failed(format!(
            "{file} was not written by `mcpproxy service install`"
        ))
        .undone("nothing was changed")
        .next("move it away if you do not need it")
    }
}
