//! `mcpproxy service`: runs the daemon as a service of the user, under systemd or launchd.
//!
//! It writes one file, which starts `mcpproxy serve`, and registers it with the service manager.

mod definition;
mod install;
mod launchd;
mod places;
mod state;
mod status;
mod steps;
mod systemd;
mod uninstall;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

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

use crate::{config::Variables, storage};

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

/// Whether this machine has a service manager.
pub(super) fn has_manager() -> bool {
    places::present().is_some()
}

/// The service manager of the daemon with this process id, if it runs as a service.
async fn manager_of(pid: u32) -> Option<ServiceKind> {
    let kind = places::present()?;
    (ServiceState::ask(kind).await.pid == Some(pid)).then_some(kind)
}

/// The variables in the file of the service with this process id, which only systemd reads. Nothing if it is no service.
pub(super) async fn variables(pid: u32, config_file: &Path) -> Option<Variables> {
    let is_read = manager_of(pid).await? == ServiceKind::Systemd;
    let file = config_file.with_file_name(definition::ENVIRONMENT_FILE);
    let text = storage::read_text(&file, u64::MAX).ok().filter(|_| is_read);
    Some(Arc::new(move |name: &str| {
        let lines = text.iter().flat_map(|text| text.lines());
        let mut pairs = lines.filter_map(|line| line.split_once('='));
        let (_, value) = pairs.find(|(variable, _)| variable.trim() == name)?;
        Some(value.to_owned())
    }))
}

/// Restarts the daemon with this process id if it runs as a service. Gives whether it does.
pub(super) async fn restart(pid: u32) -> Done<bool> {
    let Some(kind) = manager_of(pid).await else {
        return Ok(false);
    };
    let again = Step::again(kind);
    let restarted = again.run().await.map_err(|reason| {
        let what = format!("the service was not restarted: {reason}");
        CommandFailure::failed(what).next(format!("`{again}`"))
    });
    restarted.map(|_| true)
}

/// The option that chooses the service manager.
#[derive(Debug, Args)]
struct ServiceChoice {
    /// The service manager, if not this machine's own
    #[arg(long, value_name = "systemd|launchd", hide_possible_values = true)]
    manager: Option<ServiceKind>,
}

/// The file of the service, which may not be there.
struct ServiceFile {
    kind: ServiceKind,
    path: PathBuf,
}

/// The contents of a service file.
enum Found {
    Nothing,
    /// `mcpproxy service install` wrote it.
    Ours {
        text: String,
        /// The command that it starts, where its record can be read.
        installed: Option<CommandLine>,
    },
    /// Another program or a person wrote it.
    Foreign,
}

impl ServiceFile {
    /// The file to write, which only a service manager reads.
    fn to_write(choice: &ServiceChoice) -> Done<Self> {
        if choice.manager.or_else(places::present).is_none() {
            let what = "neither systemd nor launchd is on this machine";
            let step = "have its service manager run `mcpproxy serve`";
            return Err(CommandFailure::failed(what).next(step));
        }
        Self::of(choice)
    }

    /// The file, also where its service manager cannot be found.
    fn of(choice: &ServiceChoice) -> Done<Self> {
        let kind = choice.manager.or_else(places::present);
        let kind = kind.unwrap_or(ServiceKind::Systemd);
        let path = places::file(kind).map_err(CommandFailure::failed)?;
        Ok(Self { kind, path })
    }

    fn read(&self) -> Done<Found> {
        match storage::read_text(&self.path, u64::MAX) {
            Ok(text) if text.contains(definition::MARK) => {
                let installed = CommandLine::recorded_in(&text);
                Ok(Found::Ours { text, installed })
            }
            Ok(_) => Ok(Found::Foreign),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Found::Nothing),
            Err(error) => Err(storage::DiskFault::of("read", &self.path)(error).into()),
        }
    }

    /// The text that the file has for this definition.
    fn text(&self, definition: &ServiceDefinition) -> String {
        match self.kind {
            ServiceKind::Systemd => systemd::unit(definition),
            ServiceKind::Launchd => launchd::agent(definition),
        }
    }

    /// The failure of a command that would have to change a file of another program.
    fn foreign(&self) -> CommandFailure {
        let file = self.path.display();
        CommandFailure::failed(format!(
            "{file} was not written by `mcpproxy service install`"
        ))
        .undone("nothing was changed")
        .next("move it away if you do not need it")
    }
}
