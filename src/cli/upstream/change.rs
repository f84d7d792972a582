//! `mcpproxy upstream remove|enable|disable|restart`: one server, one verb.

use clap::Args;
use http::Method;

use super::{
    super::{
        Location,
        daemon_client::{self, Daemon, DaemonError, Patience},
        failure::Failure,
        offline::Files,
        output,
    },
    Changed,
};

/// The server that is meant.
#[derive(Debug, Args)]
pub(in crate::cli) struct Named {
    /// The server's name, as `upstream list` shows it
    name: String,
}

/// What to do with it.
#[derive(Debug, Clone, Copy)]
pub(super) enum Verb {
    Remove,
    Enable,
    Disable,
    Restart,
}

impl Named {
    pub(super) async fn run(self, verb: Verb, location: &Location) -> Result<(), Failure> {
        let files = Files::find(location)?;
        match Daemon::connect(files.data_dir()).await {
            Ok(daemon) => self.through(daemon, verb).await,
            Err(DaemonError::NotRunning(_)) if !matches!(verb, Verb::Restart) => {
                self.in_file(&files, verb)
            }
            Err(error) => Err(error.into()),
        }
    }

    async fn through(self, mut daemon: Daemon, verb: Verb) -> Result<(), Failure> {
        let server = format!("/api/v1/servers/{}", daemon_client::encoded(&self.name));
        let (method, path, patience) = match verb {
            Verb::Remove => (Method::DELETE, server, Patience::Short),
            Verb::Enable => (Method::POST, format!("{server}/enable"), Patience::Short),
            Verb::Disable => (Method::POST, format!("{server}/disable"), Patience::Short),
            // The answer comes when the server is up, and a first start may download.
            Verb::Restart => (Method::POST, format!("{server}/restart"), Patience::Long),
        };
        let request = format!("{method} {path}");
        let answer = daemon.send(method, &path, "", patience).await?;
        if matches!(verb, Verb::Remove) {
            output::note(&format!("removed {:?}", self.name));
            return Ok(());
        }
        let changed: Changed = daemon_client::read(&request, &answer)?;
        let Some(row) = changed.server else {
            output::note(&format!("{} {:?}", past(verb), self.name));
            return Ok(());
        };
        output::note(&format!(
            "{} {:?}; it is now {}",
            past(verb),
            self.name,
            row.state
        ));
        if let (Verb::Restart, Some(error)) = (verb, row.last_error) {
            let failure = Failure::failed(format!("server {:?}: {error}", self.name));
            return Err(Failure {
                next_step: row.next_step,
                ..failure
            });
        }
        Ok(())
    }

    fn in_file(self, files: &Files, verb: Verb) -> Result<(), Failure> {
        match verb {
            Verb::Remove => files.remove(&self.name)?,
            Verb::Enable => files.enable(&self.name)?,
            Verb::Disable => files.disable(&self.name)?,
            Verb::Restart => return Ok(()),
        }
        output::note(&format!(
            "{} {:?} in {}",
            past(verb),
            self.name,
            files.config_file().display()
        ));
        Ok(())
    }
}

fn past(verb: Verb) -> &'static str {
    match verb {
        Verb::Remove => "removed",
        Verb::Enable => "enabled",
        Verb::Disable => "disabled",
        Verb::Restart => "restarted",
    }
}
