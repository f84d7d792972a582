//! A file of a client, and what is read out of it.

use std::{
    io,
    path::{Path, PathBuf},
};

use super::{
    client::Client,
    fault::FileFault,
    formats::FileFormat,
    servers::{self, ClientServer},
};
use crate::storage;

/// Claude Code keeps its history in the same file.
const LARGEST: u64 = 64 << 20;

/// A file that a client may have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientFile {
    /// Whose it is; nothing where only what stands in it can tell.
    pub client: Option<Client>,
    /// Where it is.
    pub path: PathBuf,
    /// What it is written in.
    pub format: FileFormat,
    /// The folder of the project that it is for; nothing where it is for the person.
    pub(super) project: Option<PathBuf>,
}

/// What stands in a file.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundFile {
    /// Whose it is.
    pub client: Client,
    /// The servers in it.
    pub servers: Vec<ClientServer>,
    /// The paths of keys that stand twice among them; the last one counts.
    pub repeated: Vec<String>,
    /// Why none of them can be used; nothing where they can.
    pub refused: Option<&'static str>,
}

impl ClientFile {
    /// What it is written in shows in its ending.
    pub(super) fn new(client: Option<Client>, project: Option<PathBuf>, path: PathBuf) -> Self {
        Self {
            client,
            format: FileFormat::of(&path),
            project,
            path,
        }
    }

    /// The folder of the project that it is for; nothing where it is for the person.
    pub fn project(&self) -> Option<&Path> {
        self.project.as_deref()
    }

    /// The servers in it; nothing where there is no such file.
    pub fn read(&self) -> Result<Option<FoundFile>, FileFault> {
        match self.text()? {
            Some(text) => self.servers_in(&text).map(Some),
            None => Ok(None),
        }
    }

    /// The servers in a text of this file.
    pub fn servers_in(&self, text: &str) -> Result<FoundFile, FileFault> {
        let root = self.format.read(text)?;
        let client = self.client.unwrap_or_else(|| Client::of_content(&root));
        let servers = servers::all(client, &root, self.project())?;
        let mut repeated = self.format.repeated(text)?;
        repeated.retain(|path| servers::is_of_servers(path));
        Ok(FoundFile {
            client,
            servers,
            repeated,
            refused: None,
        })
    }

    /// Its text; nothing where there is no such file.
    pub fn text(&self) -> Result<Option<String>, FileFault> {
        match storage::read_text(&self.path, LARGEST) {
            Ok(text) => Ok(Some(text)),
            Err(error) if is_absence(&error) => Ok(None),
            Err(error) => Err(FileFault::unread(&error)),
        }
    }
}

/// Whether an error says that there is nothing at a path.
fn is_absence(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}
