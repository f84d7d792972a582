//! Writing changes to the configuration, for every verb that does, and why one was not written.

use serde_json::{Map, Value};

use super::{Backing, Management};
use crate::{
    activity::OperatorChange,
    config::{Change, ChangeOf, EditError, NotUndone, WriteError, edit_all},
    failure::{ErrorCode, Failure, NextStep, Result},
    process,
    text::names::{BadServerName, as_argument},
};

/// Does it where it may wait for the disk and holds up nobody.
pub async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(|fault| {
        let error = format!("it failed: {fault}");
        Failure::new(ErrorCode::Internal, error, "Try again.")
    })
}

impl<B: Backing> Management<B> {
    /// Writes changes to the file. The number of the change in the history.
    pub(super) async fn write(&self, changes: Vec<Change>) -> Result<Option<u64>> {
        let by = ChangeOf::this_task();
        let note = by.note();
        let written = self.change(by, changes).await;
        self.in_force(written)?;
        Ok(note.id())
    }

    /// The same, whether they count now or not. They are recorded as the operator's.
    pub(super) async fn change(
        &self,
        by: ChangeOf,
        changes: Vec<Change>,
    ) -> Result<(), WriteError> {
        let steps = operator_changes(&changes);
        let edited = move |text: &str| edit_all(text, &changes);
        let written = self.backing().rewrite(by, edited).await;
        let error = written.as_ref().err().map(ToString::to_string);
        for change in steps {
            let error = error.clone();
            self.backing().note(OperatorChange { error, ..change });
        }
        written
    }

    /// Whether what was written counts now, and why not.
    pub(super) fn in_force(&self, written: Result<(), WriteError>) -> Result {
        written.map_err(|error| not_written(&error))?;
        match self.config_error() {
            None => Ok(()),
            Some(error) => {
                let hint = "The change is in the file; it takes effect when you correct the file's other mistake.";
                Err(Failure::new(ErrorCode::ConfigUnusable, error, hint))
            }
        }
    }
}

/// Why an entry is not added whose command is a whole command line, which is what instructions of servers print.
pub(super) fn command_line(entry: &Map<String, Value>) -> Option<Failure> {
    let command = entry.get("command")?.as_str()?;
    if !process::is_command_line(command) {
        return None;
    }
    let error = format!("nothing was changed: {command:?} is a command line, not a program");
    let hint = "Write the program alone as `command`, and each other word as an item of `args`.";
    Some(Failure::new(ErrorCode::InvalidArguments, error, hint))
}

/// Why a name cannot be a server's.
pub(super) fn bad_name(name: &str, error: &BadServerName) -> Failure {
    let error = format!("nothing was changed: {error}");
    Failure::new(ErrorCode::InvalidArguments, error, BadServerName::STEP).of_server(name)
}

/// Why a change of the configuration was not made.
pub(super) fn not_written(error: &WriteError) -> Failure {
    let failure = |code, hint: &str| Failure::new(code, with_source(error), hint);
    match error {
        WriteError::Edit(EditError::Refused(failure)) => Failure::clone(failure),
        WriteError::Edit(EditError::ServerExists(name)) => {
            let step = format!(
                "choose another name, or change it: `mcpproxy upstream patch {name} KEY=VALUE`"
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
            "Remove one of them from the file.",
        )
        .at_terminal("remove one of them from the file: `mcpproxy config edit`")
        .of_server(name),
        WriteError::Edit(EditError::Unreadable(_)) => {
            failure(ErrorCode::ConfigUnusable, "Correct the configuration file.")
                .with_step(NextStep::CheckConfig)
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
                _ => NextStep::ShowChanges,
            })
        }
        WriteError::Edit(edit) => {
            let (step, hint) = match edit {
                EditError::NoKey | EditError::NotAnEntry(_) => (
                    "`mcpproxy upstream add NAME -- COMMAND` adds a server, `mcpproxy upstream patch NAME KEY=VALUE` changes one",
                    "Name one value, such as `mcpServers.NAME.command`.",
                ),
                _ => (
                    "`mcpproxy config edit` opens the file",
                    "Correct that, then try again.",
                ),
            };
            let error = format!("nothing was changed: {}", with_source(error));
            let failure = Failure::new(ErrorCode::InvalidArguments, error, hint);
            failure.at_terminal(step)
        }
        WriteError::Accident(_) => failure(
            ErrorCode::ConfigUnusable,
            "Restore the file from a backup; `{}` in it would remove all servers.",
        ),
        WriteError::Contested(_) => failure(ErrorCode::Overloaded, "Try again."),
        WriteError::Locked(_) => failure(
            ErrorCode::ConfigUnusable,
            "Check that mcpproxy can write to the file and its folder, then try again.",
        ),
        WriteError::Disk(fault) => Failure::new(
            ErrorCode::ConfigUnusable,
            format!("nothing was changed: {error}"),
            fault.step(),
        ),
    }
}

fn with_source(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}

/// Changes as the log has them: what is done, to which server.
fn operator_changes(changes: &[Change]) -> Vec<OperatorChange> {
    let named = changes.iter().map(|change| {
        let (server, keys) = change.server().unwrap_or(("", &change.path));
        let key = keys.join(".");
        let (action, detail) = match (key.as_str(), &change.value) {
            _ if server.is_empty() => ("set", Some(key)),
            ("", Some(_)) => ("add", None),
            ("", None) => ("remove", None),
            ("enabled", Some(Value::Bool(true))) => ("enable", None),
            ("enabled", Some(Value::Bool(false))) => ("disable", None),
            ("quarantined", Some(Value::Bool(true))) => ("quarantine", None),
            ("quarantined", Some(Value::Bool(false))) => ("lift_quarantine", None),
            // Nothing came of the contact that a person permitted.
            ("changed_by", Some(_)) => ("forbid_contact", None),
            // A person answers for the entry from now on.
            ("changed_by", None) => ("permit_contact", None),
            _ => ("edit", Some(key)),
        };
        OperatorChange {
            detail,
            ..OperatorChange::by_operator(action, server)
        }
    });
    let mut steps: Vec<OperatorChange> = named.collect();
    // Lifting a quarantine permits contact, too.
    if steps.len() > 1 {
        steps.retain(|change| change.action != "permit_contact");
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_told_by_what_they_mean() {
        let set = |key: &str, value: bool| Change::of_key("s", key, Some(Value::Bool(value)));
        let by_a_person = || Change::of_key("s", "changed_by", None);
        let check = |changes: &[Change], expected: &[(&str, Option<&str>)]| {
            let told = operator_changes(changes);
            let told = told.iter().map(|one| (one.action, one.detail.as_deref()));
            assert_eq!(told.collect::<Vec<_>>(), expected);
        };
        check(&[set("enabled", false)], &[("disable", None)]);
        check(&[set("quarantined", true)], &[("quarantine", None)]);
        let lifted = [set("quarantined", false), by_a_person()];
        check(&lifted, &[("lift_quarantine", None)]);
        check(&[by_a_person()], &[("permit_contact", None)]);
        check(&[set("x", true)], &[("edit", Some("x"))]);
    }
}
