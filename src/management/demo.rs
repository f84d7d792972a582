//! The bundled demo server, started while the daemon runs: nothing is downloaded and nothing is written, and it goes with the daemon, or when
//! it is removed.

use super::{Backing, Management, servers::ServerChange};
use crate::{
    activity::OperatorChange,
    config::{self, DEMO, DemoOrigin},
    failure::{
        error_code::{ErrorCode, Failure},
        step::NextStep,
    },
    process::own_program,
    storage::in_words,
};

impl<B: Backing> Management<B> {
    /// That a server may have this name: that of the demo server is taken while it runs, though it stands in no file. Whoever uses it would
    /// have another one from one call to the next.
    pub(super) fn is_not_the_demo(&self, name: &str) -> Result<(), Failure> {
        let is_named = || {
            let text = config::read_text(self.config_file()).unwrap_or_default();
            let written = config::written_entries(&text).unwrap_or_default();
            written
                .iter()
                .any(|(written, _)| written.eq_ignore_ascii_case(DEMO))
        };
        let demo = Some(name).filter(|name| name.eq_ignore_ascii_case(DEMO));
        let Some(Ok(demo)) = demo.map(|_| self.server(DEMO)).filter(|_| !is_named()) else {
            return Ok(());
        };
        let error = "nothing was added: the demo server is already running".to_owned();
        let exists = |hint| Failure::new(ErrorCode::ServerExists, error, hint).of_server(name);
        Err(match demo.demo {
            Some(DemoOrigin::Request) => exists("Choose another name, or remove the demo server.")
                .at_terminal("choose another name, or `mcpproxy upstream remove demo`"),
            _ => exists("Choose another name, or start the daemon without --demo."),
        })
    }
}

impl Management {
    /// Starts the demo server beside what the file says.
    pub async fn start_demo(&self) -> Result<ServerChange, Failure> {
        let program = own_program().map_err(|reason| {
            let error = format!("the demo server was not started: {}", in_words(&reason));
            Failure::new(ErrorCode::Internal, error, "Restart the daemon.")
        })?;
        if let Err(in_place) = self.0.keeper.start_demo(program).await {
            return Err(self.not_started(in_place));
        }
        let started = self.server(DEMO);
        self.0.note(OperatorChange {
            detail: Some("the demo server, until the daemon stops; no file was changed".to_owned()),
            ..OperatorChange::by_operator("add", DEMO)
        });
        let started = started?;
        self.0.follows(DEMO).await;
        Ok(ServerChange::of(
            self.server(DEMO).unwrap_or(started),
            &["added"],
        ))
    }

    /// Why it could not be started: a server has its name, or the file cannot be used.
    fn not_started(&self, in_place: Option<String>) -> Failure {
        let Some(name) = in_place else {
            let Some(error) = self.config_error() else {
                let error = "the demo server was not started: the daemon is too busy";
                return Failure::new(ErrorCode::Overloaded, error, "Try again in a moment.");
            };
            let error = format!("the demo server was not started: {error}");
            let hint = "Correct the configuration file, then start the demo server again.";
            let failure = Failure::new(ErrorCode::ConfigUnusable, error, hint);
            return failure.with_step(NextStep::CheckConfig).of_server(DEMO);
        };
        let error = format!("the demo server was not started: there is a server {name:?} already");
        let failure = Failure::new(ErrorCode::ServerExists, error, "Remove that server first.");
        failure.with_step(NextStep::Remove).of_server(name)
    }
}

impl<B: Backing> Management<B> {
    /// The same for an agent, which cannot end it.
    pub(super) fn not_in_file_for_agent(&self, name: &str, failure: Failure) -> Failure {
        let failure = self.not_in_file(name, failure);
        if failure.code != ErrorCode::NotInFile {
            return failure;
        }
        let error = format!("{name} is the bundled demo server, which cannot be changed");
        let hint = "Nothing was changed. Only the user can stop it.";
        Failure::new(ErrorCode::NotInFile, error, hint).of_server(name)
    }

    /// Of a server that is there, but not in the file, it is said how it came, and what ends it.
    pub(super) fn not_in_file(&self, name: &str, failure: Failure) -> Failure {
        let origin = self.server(name).ok().and_then(|row| row.demo);
        let Some(origin) = origin.filter(|_| failure.code == ErrorCode::UnknownServer) else {
            return failure;
        };
        let error = format!(
            "{name} was not changed: the bundled demo server has no entry in {}",
            self.config_file().display()
        );
        let not_in_file = |hint| Failure::new(ErrorCode::NotInFile, error, hint).of_server(name);
        match origin {
            DemoOrigin::CommandLine => not_in_file("To stop it, start the daemon without --demo."),
            DemoOrigin::Request => {
                not_in_file("To stop it, remove it.").with_step(NextStep::Remove)
            }
        }
    }
}
