//! Putting us into a client's file and taking us out: what would change, and the change itself.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::{
    change,
    clients::Client,
    entries::ClientServer,
    fault::FileFault,
    found::{ClientFile, FoundFile},
    our_entry::{self, ConnectTarget},
    replace::{self, ReplaceError},
};
use crate::config::OurAddress;

/// What is to be written to a file of a client. Both texts may hold secrets of others.
#[derive(Clone, PartialEq)]
pub struct FileChange {
    /// Which file.
    pub path: PathBuf,
    /// The name of our entry.
    pub name: String,
    /// What is there; nothing where there is no file.
    pub before: Option<String>,
    /// What shall be there; nothing where the file is to go.
    pub after: Option<String>,
    /// Whether the entry may be of somebody else: no copy of the file is without it.
    pub is_found: bool,
    /// The copy that is put back, and is then of no more use.
    restored: Option<PathBuf>,
}

/// Why a client's file is left as it is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClientFileError {
    /// It cannot be read, or not be changed safely.
    #[error("{0}")]
    Fault(FileFault),
    /// The name is taken by something else.
    #[error("it has a server named {0:?} already, which is not mcpproxy")]
    NameTaken(String),
    /// There is nothing of ours to take out.
    #[error("mcpproxy is not in it")]
    NotThere,
}

impl From<FileFault> for ClientFileError {
    fn from(fault: FileFault) -> Self {
        Self::Fault(fault)
    }
}

/// How we are to stand in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// How the client reaches us.
    pub target: ConnectTarget,
    /// The name of the entry.
    pub name: String,
    /// Whether an entry that leads to us is brought into this form, or left as somebody wrote it.
    pub is_exact: bool,
}

impl FileChange {
    /// Whether there is anything to write.
    pub fn is_needed(&self) -> bool {
        self.before != self.after
    }

    /// Writes it. Gives the copy of what was there, unless that was put back. Blocks.
    pub fn write(&self) -> Result<Option<PathBuf>, ReplaceError> {
        let before = self.before.as_deref();
        let Some(after) = self.after.as_deref() else {
            return replace::remove(&self.path, before.unwrap_or_default()).map(|()| None);
        };
        let copy = replace::replace(&self.path, before, after)?;
        let Some(restored) = &self.restored else {
            return Ok(copy);
        };
        // The file is what this copy was, so neither is needed.
        for spent in [copy.as_ref(), Some(restored)].into_iter().flatten() {
            let _ = std::fs::remove_file(spent);
        }
        Ok(None)
    }
}

/// The entry of the person's or the project's own list that leads to us, or means us.
pub fn our_entry_in<'a>(
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
pub fn connected(
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
        restored: None,
    };
    let is_good = |server: &ClientServer| {
        us.is_us(server) && !leads_nowhere(server) && has_token(server, &wanted.target)
    };
    if ours.is_some_and(is_good) && !wanted.is_exact {
        return Ok(unchanged);
    }
    let present = change::present(client, file.format, text, name)?;
    if ours.is_none() && present.is_some() {
        return Err(ClientFileError::NameTaken(name.clone()));
    }
    let present = present.as_ref().and_then(Value::as_object);
    let entry = our_entry::entry(client, &wanted.target, name, present);
    let after = change::put(client, file.format, text, name, &entry)?;
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
pub fn disconnected(
    client: Client,
    file: &ClientFile,
    us: &OurAddress,
) -> Result<FileChange, ClientFileError> {
    let text = file.text()?.ok_or(ClientFileError::NotThere)?;
    let found = file.servers_in(&text)?;
    let ours = our_entry_in(&found, file, us).ok_or(ClientFileError::NotThere)?;
    let name = ours.name.clone();
    let entry = ours.entry.as_object().cloned().unwrap_or_default();
    let with_us = |before: &str| change::put(client, file.format, before, &name, &entry);
    let is_what_was = |before: &str| {
        let had_us = change::present(client, file.format, before, &name);
        had_us == Ok(None) && with_us(before).as_deref() == Ok(&text)
    };
    let copies = replace::backups(&file.path);
    let is_ours_alone = copies.is_empty() && is_what_was("");
    let is_without_us = |copy: &PathBuf| {
        let before = std::fs::read_to_string(copy).unwrap_or_default();
        change::present(client, file.format, &before, &name) == Ok(None)
    };
    let is_found = !is_ours_alone && !copies.iter().any(is_without_us);
    let mut copies = copies.into_iter().filter_map(|copy| {
        let before = std::fs::read_to_string(&copy).ok()?;
        is_what_was(&before).then_some((copy, before))
    });
    let (restored, after) = match copies.next() {
        Some((copy, before)) => (Some(copy), Some(before)),
        None if is_ours_alone => (None, None),
        None => (
            None,
            Some(change::take_out(client, file.format, &text, &name)?),
        ),
    };
    Ok(FileChange {
        path: file.path.clone(),
        name,
        before: Some(text),
        after,
        is_found,
        restored,
    })
}
