//! Putting us into a client's file and taking us out: what would change, and the change itself.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::{
    client::Client,
    edit,
    fault::FileFault,
    file::{ClientFile, FoundFile},
    our_entry::{self, ConnectTarget},
    replace::{self, CopyKind, ReplaceError},
    servers::ClientServer,
};
use crate::config::OurAddress;

/// Limit: copies of a file beside the one before us.
const MOST_COPIES: usize = 4;

/// What is to be written to a file of a client. Both texts may hold secrets of others.
#[derive(Clone, PartialEq)]
pub(super) struct FileChange {
    /// The path of the file.
    pub path: PathBuf,
    /// The name of our entry.
    pub name: String,
    /// What is there; nothing where there is no file.
    pub before: Option<String>,
    /// What shall be there; nothing where the file is to go.
    pub after: Option<String>,
    /// Whether the entry may be of somebody else: no copy of the file is without it.
    pub is_found: bool,
    /// Whether the entry that comes back was written by somebody else.
    pub puts_back_another: bool,
    /// What becomes of copies.
    pub copies: CopiesAfter,
}

/// What becomes of the copies beside a file when it was written.
#[derive(Clone, PartialEq)]
pub(super) enum CopiesAfter {
    /// They stay, and one of what was there comes.
    OneMore,
    /// The file is what one of them was: that one and those after it are of no more use, and none comes.
    WithoutRestored(Vec<PathBuf>),
    /// Of what was there comes one that has all that these had, but for what was changed by others since.
    InPlaceOf(Vec<PathBuf>),
}

/// Why a client's file is left as it is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum ClientFileError {
    /// It cannot be read, or not be changed safely.
    #[error("{0}")]
    Fault(FileFault),
    /// The name is taken by something else.
    #[error("another server is named {0:?} in")]
    NameTaken(String),
    /// There is nothing of ours to take out.
    #[error("mcpproxy is not in")]
    NotThere,
    /// The client starts a process that leads to us.
    #[error("it starts mcpproxy as a process, which needs no token, in")]
    ByProcess,
}

impl From<FileFault> for ClientFileError {
    fn from(fault: FileFault) -> Self {
        Self::Fault(fault)
    }
}

/// How we are to stand in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wanted {
    /// How the client reaches us.
    pub target: ConnectTarget,
    /// The name of the entry.
    pub name: String,
    /// Whether an entry that leads to us is brought into this form, or left as somebody wrote it.
    pub is_exact: bool,
}

impl FileChange {
    /// Whether there is anything to write.
    pub(super) fn is_needed(&self) -> bool {
        self.before != self.after
    }

    /// Writes it. Gives the copy of what was there, unless that was put back. Blocks.
    pub(super) fn write(&self) -> Result<Option<PathBuf>, ReplaceError> {
        let before = self.before.as_deref();
        let Some(after) = self.after.as_deref() else {
            return replace::remove(&self.path, before.unwrap_or_default()).map(|()| None);
        };
        let copy = replace::replace(&self.path, before, after, CopyKind::Connect)?;
        match &self.copies {
            CopiesAfter::OneMore => {
                let copies = replace::backups(&self.path, CopyKind::Connect);
                // The oldest is the file before us.
                let later = copies.split_last().map_or(&[][..], |(_, later)| later);
                for spent in later.iter().skip(MOST_COPIES) {
                    let _ = std::fs::remove_file(spent);
                }
            }
            CopiesAfter::WithoutRestored(spent) => {
                for spent in copy.iter().chain(spent) {
                    let _ = std::fs::remove_file(spent);
                }
                return Ok(None);
            }
            CopiesAfter::InPlaceOf(spent) => replace::clear(&self.path, spent),
        }
        Ok(copy)
    }

    /// Whether what is put back has an entry that leads to us, or means us, as somebody wrote it before us.
    pub(super) fn puts_back_another(&self) -> bool {
        self.puts_back_another
    }
}

/// The entry of the person's or the project's own list that leads to us, or means us.
pub(super) fn our_entry_in<'a>(
    found: &'a FoundFile,
    file: &ClientFile,
    us: &OurAddress,
) -> Option<&'a ClientServer> {
    let in_list = |server: &&ClientServer| server.project.as_deref() == file.project();
    let mut servers = found.servers.iter().filter(in_list);
    let mut others = servers.clone();
    servers
        .find(|server| us.is_us(server) && !leads_nowhere(server))
        .or_else(|| others.find(|server| us.is_us(server) || us.is_us_elsewhere(server)))
}

/// Whether it starts a program that is not there.
fn leads_nowhere(server: &ClientServer) -> bool {
    let command = server.command().map(Path::new);
    command.is_some_and(|command| command.is_absolute() && !command.exists())
}

/// What it takes to have us in this file of a client.
pub(super) fn connected(
    client: Client,
    file: &ClientFile,
    wanted: &Wanted,
    us: &OurAddress,
) -> Result<FileChange, ClientFileError> {
    let before = file.text()?;
    let text = before.as_deref().unwrap_or_default();
    let found = file.servers_in(text)?;
    let ours = our_entry_in(&found, file, us);
    let name = ours.map_or(&wanted.name, |server| &server.name);
    let unchanged = FileChange {
        path: file.path.clone(),
        name: name.clone(),
        before: before.clone(),
        after: before.clone(),
        is_found: ours.is_some(),
        puts_back_another: false,
        copies: CopiesAfter::OneMore,
    };
    let is_good = |server: &ClientServer| {
        us.is_us(server) && !leads_nowhere(server) && has_token(server, &wanted.target)
    };
    if ours.is_some_and(is_good) && !wanted.is_exact {
        return Ok(unchanged);
    }
    let present = edit::present(client, file.format, text, name)?;
    if ours.is_none() && present.is_some() {
        return Err(ClientFileError::NameTaken(name.clone()));
    }
    let present = present.as_ref().and_then(Value::as_object);
    let entry = our_entry::entry(client, &wanted.target, name, present);
    let after = edit::put(client, file.format, text, name, &entry)?;
    Ok(FileChange {
        after: Some(after),
        ..unchanged
    })
}

/// Whether it shows a token, where one is wanted.
fn has_token(server: &ClientServer, target: &ConnectTarget) -> bool {
    let ConnectTarget::Http { token: Some(_), .. } = target else {
        return true;
    };
    let headers = server.entry.get("headers").and_then(Value::as_object);
    let mut headers = headers.into_iter().flat_map(Map::keys);
    server.command().is_some()
        || server.entry.get("bearer_token_env_var").is_some()
        || headers.any(|header| header.eq_ignore_ascii_case("authorization"))
}

/// What it takes to have us out of this file of a client: what was there before us, if nothing else was changed since, else the file
/// without our entry.
pub(super) fn disconnected(
    client: Client,
    file: &ClientFile,
    us: &OurAddress,
) -> Result<FileChange, ClientFileError> {
    let text = file.text()?.ok_or(ClientFileError::NotThere)?;
    let found = file.servers_in(&text)?;
    let ours = our_entry_in(&found, file, us).ok_or(ClientFileError::NotThere)?;
    let name = ours.name.clone();
    let entry = ours.entry.as_object().cloned().unwrap_or_default();
    let with_us = |before: &str| edit::put(client, file.format, before, &name, &entry);
    let is_without = |before: &str| edit::present(client, file.format, before, &name) == Ok(None);
    // Also what led elsewhere, or to a program that is gone, was there before us.
    let is_before_us = |before: &str| match file.servers_in(before) {
        Ok(found) => match our_entry_in(&found, file, us) {
            Some(other) => other.name == name && (!us.is_us(other) || leads_nowhere(other)),
            None => is_without(before),
        },
        Err(_) => false,
    };
    let is_what_was =
        |before: &str| is_before_us(before) && with_us(before).as_deref() == Ok(&text);
    let copies: Vec<(PathBuf, String)> = replace::backups(&file.path, CopyKind::Connect)
        .into_iter()
        .filter_map(|copy| Some((copy.clone(), std::fs::read_to_string(copy).ok()?)))
        .collect();
    let is_ours_alone = copies.is_empty() && is_what_was("");
    let unchanged = FileChange {
        path: file.path.clone(),
        name: name.clone(),
        before: Some(text.clone()),
        after: None,
        is_found: !is_ours_alone && !copies.iter().any(|(_, before)| is_before_us(before)),
        puts_back_another: false,
        copies: CopiesAfter::OneMore,
    };
    let paths =
        |copies: &[(PathBuf, String)]| copies.iter().map(|(copy, _)| copy.clone()).collect();
    // One that names us at an earlier address may be what `connect` wrote then.
    let restored = copies
        .iter()
        .position(|(_, before)| is_without(before) && is_what_was(before))
        .or_else(|| copies.iter().position(|(_, before)| is_what_was(before)));
    if let Some(at) = restored
        && let (spent, Some((_, before))) = (copies.get(..=at).unwrap_or_default(), copies.get(at))
    {
        return Ok(FileChange {
            after: Some(before.clone()),
            puts_back_another: !is_without(before),
            copies: CopiesAfter::WithoutRestored(paths(spent)),
            ..unchanged
        });
    }
    if is_ours_alone {
        return Ok(unchanged);
    }
    let mut after = edit::take_out(client, file.format, &text, &name)?;
    let mut before_us = copies.iter().filter(|(_, before)| is_before_us(before));
    // A list that was made for us goes with us.
    if before_us.any(|(_, before)| !edit::has_list(client, file.format, before)) {
        after = edit::without_empty_list(client, file.format, after);
    }
    Ok(FileChange {
        after: Some(after),
        copies: CopiesAfter::InPlaceOf(paths(&copies)),
        ..unchanged
    })
}
