//! The files of clients outside their usual places that we wrote to, such as those of projects. Each is noted in the data folder before it
//! is written, so that every way back finds it, wherever one stands. Blocks.

use std::{
    io::{self, Write},
    path::Path,
};

use super::{
    Client, ClientFile, ClientPlaces,
    replace::{ReplaceError, failed},
};
use crate::storage;

/// The name of the record in the data folder: a line for each file, its client before its path.
pub const WRITTEN_FILES: &str = "client-files";

/// Limit: far more than the files of all projects of a person.
const LARGEST: u64 = 4 << 20;

impl ClientPlaces {
    /// Those that were noted.
    pub(super) fn noted(&self) -> Vec<ClientFile> {
        let record = self.record.as_deref();
        let text = record.and_then(|record| storage::read_text(record, LARGEST).ok());
        let text = text.unwrap_or_default();
        let noted = text.lines().filter_map(|line| line.split_once(' '));
        let file = |(client, path): (&str, &str)| ClientFile {
            client: Client::from_word(client),
            ..self.named(Path::new(path))
        };
        noted.map(file).collect()
    }

    /// These files and those that were noted.
    pub(super) fn with_noted(&self, mut files: Vec<ClientFile>) -> Vec<ClientFile> {
        for noted in self.noted() {
            if files.iter().all(|known| known.path != noted.path) {
                files.push(noted);
            }
        }
        files
    }

    /// Notes a file that is about to be written, unless it is found without.
    pub(super) fn note(&self, client: Client, file: &Path) -> Result<(), ReplaceError> {
        let is_noted = || self.noted().iter().any(|known| known.path == file);
        match &self.record {
            Some(record) if !self.is_usual(file) && !is_noted() => {
                append(record, client, file).map_err(failed("write", record))
            }
            _ => Ok(()),
        }
    }
}

fn append(record: &Path, client: Client, file: &Path) -> io::Result<()> {
    storage::create_private_dir(record.parent().unwrap_or(Path::new("/")))?;
    let mut record = storage::append_to_private_file(record)?;
    // A line that a full disk cut off must not spoil this one.
    let line = format!("\n{} {}\n", client.id(), file.display());
    record.write_all(line.as_bytes())?;
    record.sync_all()
}
