//! Writes of the configuration file, for every verb that changes it, and the failures of a write.

use serde_json::{Map, Value};

use super::{Backing, Management};
use crate::{
    activity::OperatorChange,
    config::{Change, ChangeOf, EditError, NotUndone, RESTORE, WriteError, edit_all},
    failure::{ErrorCode, Failure, NextStep, Result},
    process,
    text::names::{BadServerName, as_argument},
};

/// Runs work that waits for the disk, off the workers of the runtime.
pub async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(|_| {
        let error = "mcpproxy has an internal fault, which is in its log";
        let hint = "Read the log of mcpproxy, then try again.";
        Failure::new(ErrorCode::Internal, error, hint).at_terminal("`mcpproxy logs`")
    })
}

impl<B: Backing> Management<B> {
    /// Writes changes to the file, each of which is `action` on a server, and records them, whether they take effect now or not.
    pub(super) async fn write(
        &self,
        by: ChangeOf,
        action: &'static str,
        changes: Vec<Change>,
    ) -> Result<(), WriteError> {
        let servers = changes.iter().filter_map(Change::server);
        let servers: Vec<String> = servers.map(|(name, _)| name.to_owned()).collect();
        let edited = move |text: &str| edit_all(text, &changes);
        let written = self.0.rewrite(by, edited).await;
        for server in servers {
            self.0.note(OperatorChange {
                error: written.as_ref().err().map(ToString::to_string),
                ..OperatorChange::by_operator(action, &server)
            });
        }
        written
    }

    /// Records what became of an operator's change of something that is no server.
    pub(super) fn note_outcome<T>(
        &self,
        action: &'static str,
        detail: String,
        outcome: &Result<T>,
    ) {
        self.0.note(OperatorChange {
            server: None,
            detail: Some(detail),
            error: error_of(outcome),
            ..OperatorChange::by_operator(action, "")
        });
    }

    /// Refuses a change that was not written, or is written but not in force because of another mistake in the file.
    pub(super) fn check_in_force(&self, written: Result<(), WriteError>) -> Result {
        written.map_err(|error| not_written(&error))?;
        match self.config_error() {
            None => Ok(()),
            Some(why) => Err(why.with_outcome("the change is in the file, but has no effect yet")),
        }
    }
}

/// Why something failed, for its record.
pub(super) fn error_of<T>(outcome: &Result<T>) -> Option<String> {
    outcome.as_ref().err().map(|failure| failure.error.clone())
}

/// Refuses an entry whose `command` is a whole command line, as servers' instructions print it.
pub(super) fn command_line(entry: &Map<String, Value>) -> Option<Failure> {
    let command = entry.get("command")?.as_str()?;
    if !process::is_command_line(command) {
        return None;
    }
    let error = format!("nothing was added: {command:?} is a command line, not a program");
    let hint = "Write the program alone as `command`, and each other word as an item of `args`.";
    Some(Failure::new(ErrorCode::InvalidArguments, error, hint))
}

/// The failure of a name that cannot be a server's.
pub(super) fn bad_name(name: &str, error: &BadServerName) -> Failure {
    let error = format!("nothing was added: {error}");
    Failure::new(ErrorCode::InvalidArguments, error, BadServerName::STEP).of_server(name)
}

/// The failure of a change that was not written.
pub(super) fn not_written(error: &WriteError) -> Failure {
    let failure = |code, hint: &str| Failure::new(code, with_source(error), hint);
    match error {
        WriteError::Edit(EditError::Refused(failure)) => Failure::clone(failure),
        WriteError::Edit(EditError::ServerExists(name)) => {
            let step = format!(
                "choose another name, or change {name}: `mcpproxy upstream patch {name} KEY=VALUE`"
            );
            let hint = "Choose another name, or change that server.";
            let failure = failure(ErrorCode::ServerExists, hint);
            failure.at_terminal(step).of_server(name)
        }
        WriteError::Edit(EditError::UnknownServer(name)) => {
            failure(ErrorCode::UnknownServer, "Name a configured server.")
                .with_step(NextStep::ShowServers)
                .of_server(name)
        }
        WriteError::Edit(EditError::SeveralEntries { name, .. }) => failure(
            ErrorCode::InvalidArguments,
            "Remove those that you do not want from the file.",
        )
        .at_terminal("remove those that you do not want from the file: `mcpproxy config edit`")
        .of_server(name),
        WriteError::Unusable(..) | WriteError::Edit(EditError::Unreadable(_)) => {
            Failure::of_config(error.to_string())
        }
        WriteError::Edit(EditError::NotUndone(NotUndone::Empty | NotUndone::NotKept(_))) => {
            failure(ErrorCode::NotUndone, "Change the value itself.")
                .at_terminal("`mcpproxy config edit` opens the file")
        }
        WriteError::Edit(EditError::NotUndone(NotUndone::Begin(_))) => failure(
            ErrorCode::NotUndone,
            "To be without the file, delete it by hand.",
        )
        .at_terminal("to be without it, delete the file that `mcpproxy config path` prints"),
        WriteError::Edit(EditError::NotUndone(NotUndone::Unreadable { step, .. })) => {
            failure(ErrorCode::NotUndone, step).at_terminal(step)
        }
        WriteError::Edit(EditError::NotUndone(why)) => {
            let failure = failure(
                ErrorCode::NotUndone,
                "Choose another change of the history.",
            );
            failure.with_step(match why {
                NotUndone::Revoked { name, .. } => {
                    let name = as_argument(name);
                    NextStep::act(format!("`mcpproxy token add {name}` issues another"))
                }
                NotUndone::Withdrawn { server, .. } => {
                    let server = as_argument(server);
                    NextStep::act(format!("`mcpproxy upstream inspect {server}`"))
                }
                NotUndone::Secret { .. } => {
                    NextStep::act("enter the value again: `mcpproxy config edit` opens the file")
                        .or_request("Enter the value again: PATCH /api/v1/config.")
                }
                _ => NextStep::ShowChanges,
            })
        }
        WriteError::Edit(edit) => {
            let (step, hint) = match edit {
                EditError::NoKey | EditError::NotAnEntry(_) => (
                    "`mcpproxy upstream add NAME -- COMMAND` adds a server, `mcpproxy upstream patch NAME KEY=VALUE` changes one",
                    "Name one value, such as `mcpServers.NAME.command`.",
                ),
                EditError::BadName(_) => (BadServerName::STEP, BadServerName::STEP),
                _ => (
                    "`mcpproxy config edit` opens the file",
                    "Correct that, then try again.",
                ),
            };
            let error = format!("nothing was changed: {}", with_source(error));
            let failure = Failure::new(ErrorCode::InvalidArguments, error, hint);
            failure.at_terminal(step)
        }
        WriteError::Accident(_) => failure(ErrorCode::ConfigUnusable, RESTORE),
        WriteError::Contested(_) => failure(ErrorCode::Overloaded, "Try again."),
        WriteError::Disk(fault) => {
            let error = format!("nothing was changed: {error}");
            Failure::new(ErrorCode::ConfigUnusable, error, fault.step())
        }
    }
}

fn with_source(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}
