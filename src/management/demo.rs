//! The bundled demo server, started while the daemon runs. Nothing is downloaded or written; it ends with the daemon, or when it is
//! removed.

use std::io;

use serde_json::json;

use super::{Backing, Management, ServerChange};
use crate::{
    activity::OperatorChange,
    config::{Author, DEMO, DemoOrigin, DemoProgram, DemoRefused},
    failure::{ErrorCode, Failure, NextStep, Result},
    process::own_program,
    storage::in_words,
};

impl Management {
    /// Starts the demo server beside the servers of the file.
    pub async fn start_demo(&self) -> Result<ServerChange> {
        let failed = |reason: io::Error, hint: &str| {
            let error = format!("the demo server was not started: {}", in_words(&reason));
            Failure::new(ErrorCode::Internal, error, hint)
        };
        let program = own_program().map_err(|reason| failed(reason, "Restart the daemon."))?;
        let program = DemoProgram::at(program);
        let program = program.map_err(|reason| failed(reason, DemoProgram::MOVE))?;
        self.0.keeper.start_demo(program).await?;
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
}

impl From<DemoRefused> for Failure {
    fn from(refused: DemoRefused) -> Self {
        let error = refused.to_string();
        match refused {
            DemoRefused::Running => Failure::new(ErrorCode::ServerExists, error, "Use it.")
                .with_step(NextStep::ShowServer)
                .of_server(DEMO),
            DemoRefused::NameTaken(name) => {
                Failure::new(ErrorCode::ServerExists, error, "Remove that server first.")
                    .with_step(NextStep::Remove)
                    .of_server(name)
            }
            DemoRefused::FileUnusable(_) => Failure::of_config(error).of_server(DEMO),
            DemoRefused::Busy => {
                Failure::new(ErrorCode::Overloaded, error, "Try again in a moment.")
            }
        }
    }
}

impl<B: Backing> Management<B> {
    /// Refuses the name of the demo server while that runs: clients would have another server of this name from one call to the next.
    pub(super) async fn check_name(&self, name: &str) -> Result {
        if !name.eq_ignore_ascii_case(DEMO) {
            return Ok(());
        }
        // The demo server ends if the file has an entry of its name by now.
        self.0.reread().await;
        let error = "no other server can have the name demo while the demo server runs";
        let refuse = |hint| Failure::new(ErrorCode::ServerExists, error, hint).of_server(name);
        match self.demo_origin() {
            None => Ok(()),
            Some(DemoOrigin::CommandLine) => Err(refuse(
                "Choose another name, or start the daemon without --demo.",
            )),
            Some(DemoOrigin::Request) => {
                Err(refuse("Choose another name, or remove the demo server.")
                    .at_terminal("choose another name, or run `mcpproxy upstream remove demo`"))
            }
        }
    }

    /// Replaces the failure of this change of the demo server, which no file has, by how it gets an entry, or how it can be stopped. An
    /// agent can do neither.
    pub(super) fn not_in_file(
        &self,
        action: &str,
        name: &str,
        failure: Failure,
        by: Author,
    ) -> Failure {
        let is_missing = name == DEMO && failure.code == ErrorCode::UnknownServer;
        let Some(origin) = self.demo_origin().filter(|_| is_missing) else {
            return failure;
        };
        let refuse = |error, hint| Failure::new(ErrorCode::NotInFile, error, hint).of_server(name);
        let file = self.config_file().display();
        let error =
            format!("{name} was not changed: the bundled demo server has no entry in {file}");
        match (origin, by) {
            (_, Author::Agent) => {
                let error = format!("{name} is the bundled demo server, which cannot be changed");
                let hint = "Nothing was changed. Only the user can stop it.";
                Failure::agents_only(ErrorCode::NotInFile, error, hint).of_server(name)
            }
            (DemoOrigin::CommandLine, Author::Person) if action == "remove" => {
                refuse(error, "To stop it, start the daemon without --demo.")
            }
            (_, Author::Person) => {
                let program = own_program().unwrap_or_else(|_| "mcpproxy".into());
                let entry =
                    json!({ "command": program.to_string_lossy(), "args": ["demo-server"] });
                let entry = entry.to_string().replace('\'', r"'\''");
                let step = NextStep::act(format!(
                    "give it an entry, then try again: `mcpproxy config set mcpServers.demo '{entry}'`"
                ));
                let hint = "Give it an entry first: PATCH /api/v1/config sets `mcpServers.demo`.";
                refuse(error, hint).with_step(step.or_request(hint))
            }
        }
    }

    /// How the demo server was started, if it runs.
    fn demo_origin(&self) -> Option<DemoOrigin> {
        self.settings().ok()?.demo
    }
}
