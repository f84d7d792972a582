//! `mcpproxy upstream remove|enable|disable|restart`: one server, one verb.

use clap::Args;
use http::Method;

use super::super::{connection, failure::CommandFailure, location::Location, output};
use crate::{
    daemon_client::{self, AnswerDeadline, DaemonClient, DaemonError},
    management::{Enabled, Management, OverFiles, ServerChange},
};

/// The server that is meant.
#[derive(Debug, Args)]
pub(in crate::cli) struct NamedServer {
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

impl NamedServer {
    pub(super) async fn run(self, verb: Verb, location: &Location) -> Result<(), CommandFailure> {
        let files = location.files()?;
        match connection::open(files.data_dir()).await {
            Ok(daemon) => self.through(daemon, verb).await,
            Err(DaemonError::NotRunning(_)) if !matches!(verb, Verb::Restart) => {
                self.in_file(&files, verb).await
            }
            Err(error) => Err(error.into()),
        }
    }

    async fn through(self, mut daemon: DaemonClient, verb: Verb) -> Result<(), CommandFailure> {
        let server = format!("/api/v1/servers/{}", daemon_client::encoded(&self.name));
        let (method, path, patience) = match verb {
            Verb::Remove => (Method::DELETE, server, AnswerDeadline::Daemon),
            Verb::Enable => (
                Method::POST,
                format!("{server}/enable"),
                AnswerDeadline::Daemon,
            ),
            Verb::Disable => (
                Method::POST,
                format!("{server}/disable"),
                AnswerDeadline::Daemon,
            ),
            // The answer comes when the server is up, and a first start may download.
            Verb::Restart => (
                Method::POST,
                format!("{server}/restart"),
                AnswerDeadline::Upstream,
            ),
        };
        let request = format!("{method} {path}");
        let answer = daemon.send(method, &path, "", patience).await?;
        let ServerChange { server, .. } = daemon_client::read(&request, &answer)?;
        let state = match verb {
            Verb::Remove => String::new(),
            _ => format!("; it is now {}", server.state.as_str()),
        };
        output::note(&format!("{} {:?}{state}", past(verb), self.name));
        if let (Verb::Restart, Some(error)) = (verb, server.last_error) {
            let failure = CommandFailure::failed(format!("server {:?}: {error}", self.name));
            return Err(CommandFailure {
                next_step: server.next_step,
                ..failure
            });
        }
        Ok(())
    }

    async fn in_file(
        self,
        files: &Management<OverFiles>,
        verb: Verb,
    ) -> Result<(), CommandFailure> {
        match verb {
            Verb::Remove => files.remove_server(&self.name).await?,
            Verb::Enable => files.set_enabled(&self.name, Enabled::On).await?,
            Verb::Disable => files.set_enabled(&self.name, Enabled::Off).await?,
            Verb::Restart => return Ok(()),
        };
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
