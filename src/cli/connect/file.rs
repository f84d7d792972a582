//! One client: what is written to its file, and what is said of it.

use serde::Serialize;

use super::{
    super::{
        failure::CommandFailure,
        output::{self, Output},
    },
    diff,
    target::Reaching,
};
use crate::client_files::{
    Client, ClientFile, ClientFileError, ClientPlaces, FileChange, ReplaceError, Wanted, connected,
    disconnected,
};

/// What is asked for.
pub(in crate::cli) struct ConnectRequest<'a> {
    pub(in crate::cli) client: Client,
    pub(in crate::cli) is_for_project: bool,
    pub(in crate::cli) name: Option<&'a str>,
    pub(in crate::cli) endpoint: Option<&'a str>,
    pub(in crate::cli) by_process: bool,
}

impl ConnectRequest<'_> {
    /// The usual: the person's file, our address.
    pub(in crate::cli) fn usual(client: Client) -> Self {
        Self {
            client,
            is_for_project: false,
            name: None,
            endpoint: None,
            by_process: false,
        }
    }
}

/// What came of one.
#[derive(Serialize)]
pub(in crate::cli) struct Done {
    client: Client,
    file: String,
    /// The name of our entry.
    name: String,
    outcome: Outcome,
    /// Where what was there before is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    backup: Option<String>,
    /// What changes, where nothing was changed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    diff: Vec<String>,
    /// Whether there was any sign of the client.
    is_found: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Outcome {
    Connected,
    AlreadyConnected,
    Disconnected,
    WouldConnect,
    WouldDisconnect,
}

impl Done {
    pub(in crate::cli) fn client(&self) -> Client {
        self.client
    }

    /// Whether the client is connected now.
    pub(in crate::cli) fn is_connected(&self) -> bool {
        matches!(self.outcome, Outcome::Connected | Outcome::AlreadyConnected)
    }
}

/// Puts us into the file of a client.
pub(in crate::cli) fn connect(
    places: &ClientPlaces,
    reaching: &Reaching,
    asked: &ConnectRequest<'_>,
    is_dry: bool,
) -> Result<Done, CommandFailure> {
    let file = file_of(places, asked)?;
    let wanted = Wanted {
        target: reaching.target(asked.client, asked.endpoint, asked.by_process)?,
        name: asked.name.unwrap_or("mcpproxy").to_owned(),
        is_exact: asked.endpoint.is_some() || asked.by_process,
    };
    let change = connected(asked.client, &file, &wanted, &reaching.us)
        .map_err(|error| refused(asked.client, &file, &error))?;
    if !change.is_needed() {
        return Ok(done(places, asked, change, Outcome::AlreadyConnected));
    }
    carry_out(
        places,
        asked,
        change,
        is_dry,
        [Outcome::WouldConnect, Outcome::Connected],
    )
}

/// Takes us out of the file of a client.
pub(super) fn disconnect(
    places: &ClientPlaces,
    reaching: &Reaching,
    asked: &ConnectRequest<'_>,
    is_dry: bool,
) -> Result<Done, CommandFailure> {
    let file = file_of(places, asked)?;
    let change = disconnected(asked.client, &file, &reaching.us)
        .map_err(|error| refused(asked.client, &file, &error))?;
    let outcomes = [Outcome::WouldDisconnect, Outcome::Disconnected];
    carry_out(places, asked, change, is_dry, outcomes)
}

fn carry_out(
    places: &ClientPlaces,
    asked: &ConnectRequest<'_>,
    change: FileChange,
    is_dry: bool,
    [would, did]: [Outcome; 2],
) -> Result<Done, CommandFailure> {
    if is_dry {
        let before = change.before.as_deref().unwrap_or_default();
        let diff = diff::lines(before, change.after.as_deref().unwrap_or_default());
        return Ok(Done {
            diff,
            ..done(places, asked, change, would)
        });
    }
    let backup = change.write().map_err(|error| not_written(&error))?;
    Ok(Done {
        backup: backup.map(|copy| copy.display().to_string()),
        ..done(places, asked, change, did)
    })
}

fn done(
    places: &ClientPlaces,
    asked: &ConnectRequest<'_>,
    change: FileChange,
    outcome: Outcome,
) -> Done {
    Done {
        client: asked.client,
        file: change.path.display().to_string(),
        name: change.name,
        outcome,
        backup: None,
        diff: Vec::new(),
        is_found: asked.is_for_project || places.is_present(asked.client),
    }
}

fn file_of(
    places: &ClientPlaces,
    asked: &ConnectRequest<'_>,
) -> Result<ClientFile, CommandFailure> {
    let file = places.file_to_connect(asked.client, asked.is_for_project);
    file.ok_or_else(|| {
        let what = format!("{} has no file for a project", asked.client.name());
        CommandFailure::failed(what).next("leave out --project")
    })
}

fn refused(client: Client, file: &ClientFile, error: &ClientFileError) -> CommandFailure {
    let path = file.path.display();
    let what = format!(
        "the file of {} was left as it is: {path}: {error}",
        client.name()
    );
    let step = match error {
        ClientFileError::Fault(fault) => match fault.line {
            Some(line) => format!("correct line {line} of {path}, and try again"),
            None => "write the entry by hand: docs/clients.md shows it".to_owned(),
        },
        ClientFileError::NameTaken(_) => "choose another name with --name".to_owned(),
        ClientFileError::NotThere => "`mcpproxy connect` lists where it is".to_owned(),
    };
    CommandFailure::failed(what).next(step)
}

fn not_written(error: &ReplaceError) -> CommandFailure {
    let step = match error {
        ReplaceError::ChangedMeanwhile(_) => {
            "try again; end the client first if it writes its file often"
        }
        ReplaceError::ReadOnly(_) => "make it writable, or change the file that it is made from",
        ReplaceError::Io { .. } => {
            "check that the file and its folder may be written, then try again"
        }
    };
    CommandFailure::failed(error.to_string()).next(step)
}

/// Says what was done with one client.
pub(in crate::cli) fn say_done(
    done: &Done,
    places: &ClientPlaces,
    out: Output,
) -> Result<(), CommandFailure> {
    let client = done.client.name();
    let home = places.home().display().to_string();
    let short = |path: &str| match path.strip_prefix(&home) {
        Some(inside) if inside.starts_with('/') => format!("~{inside}"),
        _ => path.to_owned(),
    };
    let (file, name) = (short(&done.file), &done.name);
    match done.outcome {
        Outcome::Connected => {
            let copy = done.backup.as_deref().map(|copy| {
                format!("; what was there before is {}, and `mcpproxy connect {} --undo` takes it out again", short(copy), done.client.id())
            });
            out.note(&format!(
                "{client} is connected as {name:?} in {file}{}",
                copy.unwrap_or_default()
            ));
        }
        Outcome::AlreadyConnected => {
            out.note(&format!(
                "{client} is connected already, as {name:?} in {file}"
            ));
        }
        Outcome::Disconnected => out.note(&format!("{name:?} was taken out of {file}")),
        Outcome::WouldConnect | Outcome::WouldDisconnect => {
            out.note(&format!("this would change in {file}; nothing was written"));
            output::foreign_text(&done.diff.join("\n"))?;
        }
    }
    if !done.is_found && done.outcome == Outcome::Connected {
        out.note(&format!(
            "there was no sign of {client} on this machine; it finds the entry when it is there"
        ));
    }
    Ok(())
}

/// The whole for programs.
#[derive(Serialize)]
pub(super) struct ConnectReport<'a> {
    clients: Vec<Row<'a>>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Row<'a> {
    Done(&'a Done),
    Failed {
        client: Client,
        outcome: &'static str,
        error: &'a str,
        next_step: Option<&'a str>,
    },
}

pub(super) fn report(done: &[(Client, Result<Done, CommandFailure>)]) -> ConnectReport<'_> {
    let rows = done.iter().map(|(client, outcome)| match outcome {
        Ok(done) => Row::Done(done),
        Err(failure) => Row::Failed {
            client: *client,
            outcome: "failed",
            error: &failure.what,
            next_step: failure.next_step.as_deref(),
        },
    });
    ConnectReport {
        clients: rows.collect(),
    }
}
