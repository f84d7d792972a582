//! One client: what is written to its file. Only files that are known as a client's are written, each with a copy of what was there.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Client, ClientFile, ClientPlaces, Reaching,
    endpoint::{BRIDGE_STEP, traits_of, why_refused},
    file_change::{
        ClientFileError, FileChange, Wanted, connected, disconnected, may_have_us, present_entry,
    },
    line_diff,
    our_entry::EntryTraits,
    replace::ReplaceError,
    sent_token::SentToken,
};
use crate::failure::{ErrorCode, Failure, Result};

/// A request to connect a client, or to disconnect it.
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
#[derive(Default)]
pub struct ConnectRequest<'a> {
    /// Which client.
    pub client: Client,
    /// Whether the project's file is meant, and not the person's.
    pub is_for_project: bool,
    /// The file that is meant, where it is neither.
    pub file: Option<&'a ClientFile>,
    /// The name of a new entry of ours.
    pub name: Option<&'a str>,
    /// The endpoint for the entry.
    pub endpoint: Option<&'a str>,
    /// Whether the client is to start a process, also where it could connect to the address or its entry has one.
    pub by_process: bool,
    /// Whether only what would change is wanted.
    pub is_dry: bool,
    /// Whether an entry that leads to us stays if somebody else may have written it, and we did not change it.
    pub spares_found: bool,
}

impl ConnectRequest<'_> {
    /// The usual: the person's file, our address.
    pub fn usual(client: Client) -> Self {
        Self {
            client,
            ..Self::default()
        }
    }
}

/// The result for a client.
#[derive(Serialize, JsonSchema)]
pub struct Connected {
    /// The client.
    pub client: Client,
    /// The path of its file.
    pub file: String,
    /// The name of mcpproxy's entry.
    pub name: String,
    /// What was done, or would be.
    pub outcome: ConnectOutcome,
    /// The backup of the old file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backup: Option<String>,
    /// The changed lines, `-` old and `+` new, with secrets masked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub diff: Vec<String>,
    /// The names of the client's tokens from `--token` that were revoked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub revoked_tokens: Vec<String>,
    /// Whether the client was found on this machine.
    pub is_found: bool,
    /// The command that disconnects it, and where.
    #[serde(skip)]
    pub undo: String,
    /// Whether a token is required, and its entry has none of its own.
    #[serde(skip)]
    pub lacks_token: bool,
}

/// What was done with a client's file, or would be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ConnectOutcome {
    /// Connected.
    Connected,
    /// Already connected.
    AlreadyConnected,
    /// Disconnected.
    Disconnected,
    /// Unchanged, because the entry is older than the connection.
    LeftAsFound,
    /// Unchanged, because nothing in the file can be undone; the client only had a token.
    NotInFile,
    /// The former entry of that name is restored.
    PutBack,
    /// Would be connected.
    WouldConnect,
    /// Would be disconnected.
    WouldDisconnect,
}

impl Connected {
    /// Whether the client is connected now.
    pub fn is_connected(&self) -> bool {
        matches!(
            self.outcome,
            ConnectOutcome::Connected | ConnectOutcome::AlreadyConnected
        )
    }
}

/// A word that no client has which can be connected.
#[derive(Debug, thiserror::Error)]
#[error("no client {word:?} is known{meant}")]
pub struct UnknownClient {
    word: String,
    /// `; did you mean X?`, or nothing.
    meant: String,
}

/// The client of a word.
pub fn client_of_word(word: &str) -> Result<Client, UnknownClient> {
    let found = Client::from_word(word).filter(|client| client.can_connect());
    found.ok_or_else(|| {
        let known = Client::all().filter(|client| client.can_connect());
        let known: Vec<&str> = known.map(Client::id).collect();
        let meant = Client::meant_by(word, &known);
        UnknownClient {
            word: word.to_owned(),
            meant: meant.map_or_else(String::new, |meant| format!("; {meant}")),
        }
    })
}

/// A name that our entry can have in every client's file.
pub fn entry_name(text: &str) -> Result<String, String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if text.is_empty() || text.len() > 64 || !text.chars().all(is_plain) {
        return Err("use 1 to 64 letters, digits, `-` and `_`".to_owned());
    }
    Ok(text.to_owned())
}

/// Whether the file of a client has our entry, or cannot be read, so that it may have it, or a token is left of it. Blocks.
pub fn may_be_connected(
    places: &ClientPlaces,
    reaching: &Reaching,
    client: Client,
    is_for_project: bool,
) -> bool {
    let file = places.file_to_connect(client, is_for_project);
    file.is_some_and(|file| may_have_us(&file, &reaching.us))
        || !is_for_project && reaching.has_issued_to(client)
}

/// All files that have our entry or may have it: the person's, and the others that we wrote to. Blocks.
pub fn all_connected(places: &ClientPlaces, reaching: &Reaching) -> Vec<(Client, ClientFile)> {
    let of_person = Client::all().filter_map(|client| places.file_to_connect(client, false));
    let all = places.with_noted(of_person.collect()).into_iter();
    let all = all.filter(|file| may_have_us(file, &reaching.us));
    let of_client = |file: ClientFile| Some((file.client.filter(|one| one.can_connect())?, file));
    all.filter_map(of_client).collect()
}

/// Puts us into the file of a client. Blocks.
pub fn connect(
    places: &ClientPlaces,
    reaching: &Reaching,
    asked: &ConnectRequest<'_>,
) -> Result<Connected> {
    let file = file_of(places, asked)?;
    let ours = present_entry(&file, &reaching.us);
    let kept = ours.as_ref().map(traits_of).unwrap_or_default();
    let traits = EntryTraits {
        endpoint: asked.endpoint.map(str::to_owned).or(kept.endpoint),
        is_process: asked.by_process || kept.is_process,
        ..kept
    };
    let is_process = traits.is_process || !asked.client.speaks_http();
    let is_stored = matches!(traits.token, SentToken::Written(_));
    let lacks_token = reaching.settings.requires_credentials() && !is_process && !is_stored;
    let loses_token = is_process && traits.token == SentToken::Bound;
    let wanted = Wanted {
        target: reaching.target(asked.client, traits)?,
        name: asked.name.unwrap_or("mcpproxy").to_owned(),
        is_exact: asked.endpoint.is_some() || asked.by_process,
    };
    let change = connected(asked.client, places, &file, &wanted, &reaching.us)
        .map_err(|error| refused(asked.client, &file, &error))?;
    if !change.is_needed() {
        let Reaching { us, settings, .. } = reaching;
        // That it lacks a token is a step for later, as after the first time.
        let ours = ours.filter(|ours| !lacks_token || ours.sends_token() != Some(false));
        let refused = ours.and_then(|ours| why_refused(asked.client, &ours, us, settings));
        if let Some(refused) = refused {
            let outcome = format!("{} was not changed", asked.client.name());
            return Err(refused.with_outcome(&outcome));
        }
        return Ok(Connected {
            lacks_token,
            ..done(places, asked, change, ConnectOutcome::AlreadyConnected)
        });
    }
    if loses_token {
        let (name, id) = (asked.client.name(), asked.client.id());
        let what =
            format!("{name} was not changed: the new entry would lack the token of the old one");
        let step = format!("`mcpproxy connect {id} --undo`, then `mcpproxy connect {id} --token`");
        return Err(left_alone(what, "Disconnect it first.").at_terminal(step));
    }
    let outcomes = [ConnectOutcome::WouldConnect, ConnectOutcome::Connected];
    Ok(Connected {
        lacks_token,
        ..carry_out(places, asked, change, outcomes)?
    })
}

/// Undoes what we changed in the file of a client, step by step where servers were moved out of it meanwhile. An entry that was there
/// before us comes back. `between` is called between two steps. Blocks.
pub fn disconnect(
    places: &ClientPlaces,
    reaching: &Reaching,
    asked: &ConnectRequest<'_>,
    mut between: impl FnMut(),
) -> Result<Connected> {
    let mut done = disconnect_once(places, reaching, asked, asked.spares_found)?;
    while done.outcome == ConnectOutcome::PutBack {
        between();
        match disconnect_once(places, reaching, asked, true) {
            Ok(next) if next.outcome != ConnectOutcome::LeftAsFound => done = next,
            _ => break,
        }
    }
    Ok(done)
}

fn disconnect_once(
    places: &ClientPlaces,
    reaching: &Reaching,
    asked: &ConnectRequest<'_>,
    spares_found: bool,
) -> Result<Connected> {
    let file = file_of(places, asked)?;
    let change = match disconnected(asked.client, places, &file, &reaching.us) {
        Ok(change) => change,
        Err(error) => return not_undone(places, reaching, asked, &file, &error),
    };
    if spares_found && change.is_found {
        return Ok(done(places, asked, change, ConnectOutcome::LeftAsFound));
    }
    let outcomes = [
        ConnectOutcome::WouldDisconnect,
        ConnectOutcome::Disconnected,
    ];
    let done = carry_out(places, asked, change, outcomes)?;
    if !asked.is_dry {
        places.forget_undone(&file, &reaching.us);
    }
    Ok(done)
}

/// The outcome where nothing in a file can be undone: that fails, unless there is a token of the client that can be revoked.
pub(super) fn not_undone(
    places: &ClientPlaces,
    reaching: &Reaching,
    asked: &ConnectRequest<'_>,
    file: &ClientFile,
    error: &ClientFileError,
) -> Result<Connected> {
    let is_of_person = asked.file.is_none() && !asked.is_for_project;
    let is_read = !matches!(error, ClientFileError::Fault(_));
    if !is_of_person || !is_read || !reaching.has_issued_to(asked.client) {
        return Err(refused(asked.client, file, error));
    }
    let change = FileChange::none(file, "mcpproxy", None);
    Ok(done(places, asked, change, ConnectOutcome::NotInFile))
}

pub(super) fn carry_out(
    places: &ClientPlaces,
    asked: &ConnectRequest<'_>,
    change: FileChange,
    [would, did]: [ConnectOutcome; 2],
) -> Result<Connected> {
    if asked.is_dry {
        let before = change.before.as_deref().unwrap_or_default();
        let diff = line_diff::lines(before, change.after.as_deref().unwrap_or_default());
        return Ok(Connected {
            diff,
            ..done(places, asked, change, would)
        });
    }
    let backup = places
        .note(asked.client, &change.path)
        .and_then(|()| change.write());
    let backup = backup.map_err(|error| not_written(&error))?;
    if change.after.is_none() {
        places.clear_folders(&change.path);
    }
    let did = if change.puts_back_another {
        ConnectOutcome::PutBack
    } else {
        did
    };
    Ok(Connected {
        backup: backup.map(|copy| copy.display().to_string()),
        ..done(places, asked, change, did)
    })
}

fn done(
    places: &ClientPlaces,
    asked: &ConnectRequest<'_>,
    change: FileChange,
    outcome: ConnectOutcome,
) -> Connected {
    let in_project = places.named(&change.path);
    let in_project = in_project.project().map(|folder| folder.display());
    let ConnectRequest {
        client,
        is_for_project,
        ..
    } = *asked;
    Connected {
        client,
        undo: match (client.id(), in_project) {
            (id, None) => format!("`mcpproxy connect {id} --undo`"),
            (id, Some(folder)) => format!("`mcpproxy connect {id} --project --undo` in {folder}"),
        },
        file: change.path.display().to_string(),
        name: change.name,
        outcome,
        backup: None,
        diff: Vec::new(),
        revoked_tokens: Vec::new(),
        is_found: is_for_project || places.is_present(client),
        lacks_token: false,
    }
}

pub(super) fn file_of(places: &ClientPlaces, asked: &ConnectRequest<'_>) -> Result<ClientFile> {
    let usual = || places.file_to_connect(asked.client, asked.is_for_project);
    asked.file.cloned().or_else(usual).ok_or_else(|| {
        let name = asked.client.name();
        let what = format!("nothing was changed: {name} has no project file");
        left_alone(what, "leave out --project")
    })
}

fn left_alone(what: impl Into<String>, hint: impl Into<String>) -> Failure {
    Failure::new(ErrorCode::ClientUnchanged, what, hint)
}

pub(super) fn refused(client: Client, file: &ClientFile, error: &ClientFileError) -> Failure {
    let (path, name, id) = (file.path.display(), client.name(), client.id());
    let what = match error {
        ClientFileError::Fault(_) => format!("{name} was not changed: {path}: {error}"),
        _ => format!("{name} was not changed: {error} {path}"),
    };
    let step = match error {
        ClientFileError::Fault(fault) => fault.step(&file.path),
        ClientFileError::NameTaken(..) => {
            let hint = "Choose another name: send `name` as mcpproxy-daemon.";
            return left_alone(what, hint).at_terminal(format!(
                "choose another name: `mcpproxy connect {id} --name mcpproxy-daemon`"
            ));
        }
        ClientFileError::ByProcess => {
            "to limit it, set the variable MCPPROXY_TOKEN to a token in that entry".to_owned()
        }
        ClientFileError::ByBridge => BRIDGE_STEP.to_owned(),
        ClientFileError::NotThere => {
            let hint = "GET /api/v1/clients shows which clients are connected.";
            let step = "`mcpproxy connect` shows which clients are connected";
            return left_alone(what, hint).at_terminal(step);
        }
        ClientFileError::NoToken => {
            let hint = format!("POST /api/v1/clients/{id}/disconnect disconnects it.");
            let step = format!("`mcpproxy connect {id} --undo` disconnects it");
            return left_alone(what, hint).at_terminal(step);
        }
    };
    left_alone(what, step)
}

pub(super) fn not_written(error: &ReplaceError) -> Failure {
    left_alone(format!("nothing was changed: {error}"), step_after(error))
}

/// What to do where a file was not written.
pub(super) fn step_after(error: &ReplaceError) -> String {
    match error {
        ReplaceError::ChangedMeanwhile(_) => {
            "try again; if the client writes its file often, close it first".to_owned()
        }
        ReplaceError::ReadOnly(file) => {
            let file = file.display();
            format!("`chmod u+w {file}`, or change it where it is generated")
        }
        ReplaceError::Disk(fault) => fault.step(),
    }
}
