//! The files of clients that we wrote to, and which of them and of their folders we made. Each is noted in the data folder before it is
//! written, so that every way back finds it, wherever one stands. Blocks.

use std::{
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
};

use super::{
    Client, ClientFile, ClientPlaces,
    file_change::may_have_us,
    replace::{self, CopyKind, ReplaceError, failed},
};
use crate::{
    config::OurAddress,
    failure::{ErrorCode, Failure},
    storage,
};

/// Stands before the path of a file or folder in which nothing is left to undo, in place of a client.
const UNDONE: &str = "-";

/// Stands before the path of a folder that was made for a file, in place of a client, and before the client of a file that was made.
const MADE: &str = "+";

/// Limit: far more than the files of all projects of a person.
const LARGEST: u64 = 4 << 20;

impl ClientPlaces {
    /// Every path of the record, with the last word before it.
    fn lines(&self) -> Vec<(String, PathBuf)> {
        let record = self.record.as_deref();
        let text = record.and_then(|record| storage::read_text(record, LARGEST).ok());
        let text = text.unwrap_or_default();
        let mut lines: Vec<(String, PathBuf)> = Vec::new();
        for (word, path) in text.lines().filter_map(|line| line.split_once(' ')) {
            lines.retain(|(_, known)| known != Path::new(path));
            lines.push((word.to_owned(), path.into()));
        }
        lines
    }

    /// The files that were noted.
    pub(super) fn noted(&self) -> Vec<ClientFile> {
        let mut lines = self.lines();
        lines.retain(|(word, _)| word != UNDONE && !word.trim_start_matches(MADE).is_empty());
        let file = |(client, path): (String, PathBuf)| ClientFile {
            client: Client::from_word(client.trim_start_matches(MADE)),
            ..self.named(&path)
        };
        lines.into_iter().map(file).collect()
    }

    /// Whether a file or folder was made by us.
    pub(super) fn is_made(&self, path: &Path) -> bool {
        let mut lines = self.lines().into_iter();
        lines.any(|(word, known)| known == path && word.starts_with(MADE))
    }

    /// Removes the folders that were made for a file that is gone, as far as they are empty.
    pub(super) fn clear_folders(&self, file: &Path) {
        let folders = file.ancestors().skip(1);
        for folder in folders.take_while(|folder| self.is_made(folder)) {
            // One that is not empty ends it.
            let (Ok(()), Some(record)) = (fs::remove_dir(folder), &self.record) else {
                break;
            };
            // One that stays in the record would be removed if it is made again and left empty.
            let _ = append(record, UNDONE, folder);
        }
    }

    /// Why nothing can be undone in those that were noted and whose folder is not there: a project that was renamed, or is not mounted.
    pub fn out_of_reach(&self, is_meant: impl Fn(Client) -> bool) -> Vec<Failure> {
        let Some(record) = &self.record else {
            return Vec::new();
        };
        let why = |file: ClientFile| {
            let folder = file.project().or(file.path.parent())?;
            if folder.is_dir() || !file.client.is_none_or(&is_meant) {
                return None;
            }
            let (path, folder) = (file.path.display(), folder.display());
            let error = format!("{path} is out of reach: there is no folder {folder}");
            let hint = format!(
                "bring that folder back, then try again; if it is gone for good, remove the file's line from {}",
                record.display()
            );
            Some(Failure::new(ErrorCode::ClientUnchanged, error, hint))
        };
        self.noted().into_iter().filter_map(why).collect()
    }

    /// Strikes a file from the record if nothing is left to undo in it, and its copies are found without.
    pub(super) fn forget_undone(&self, file: &ClientFile, us: &OurAddress) {
        let kinds = [CopyKind::Move, CopyKind::Kept, CopyKind::Connect];
        let has_copy = |kind| !replace::backups(&file.path, kind).is_empty();
        let of_use = if self.is_usual(&file.path) { 1 } else { 3 };
        let is_kept = kinds.into_iter().take(of_use).any(has_copy);
        let mut noted = self.noted().into_iter();
        let noted = noted.find(|known| known.path == file.path);
        if let (Some(record), Some(client)) = (&self.record, noted.and_then(|noted| noted.client))
            && !may_have_us(file, us)
        {
            let word = if is_kept { client.id() } else { UNDONE };
            // A file that stays in the record is only read once more.
            let _ = append(record, word, &file.path);
        }
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

    /// Notes a file that is about to be written, and if it is about to be made, that and its folders which are.
    pub(super) fn note(&self, client: Client, file: &Path) -> Result<(), ReplaceError> {
        let Some(record) = &self.record else {
            return Ok(());
        };
        let is_new = !file.exists();
        let mut noted = self.noted().into_iter();
        let is_noted = noted.any(|known| known.path == file && (!is_new || self.is_made(file)));
        let word = format!("{}{}", if is_new { MADE } else { "" }, client.id());
        let line = (!is_noted).then_some((&*word, file));
        let folders = file.ancestors().skip(1);
        let absent = folders.take_while(|folder| !folder.exists());
        let mut lines = line.into_iter().chain(absent.map(|folder| (MADE, folder)));
        let noted = lines.try_for_each(|(word, path)| append(record, word, path));
        noted.map_err(failed("write", record))
    }
}

fn append(record: &Path, word: &str, file: &Path) -> io::Result<()> {
    storage::create_private_dir(record.parent().unwrap_or(Path::new("/")))?;
    let mut record = storage::append_to_private_file(record)?;
    // A line that a full disk cut off must not spoil this one.
    let line = format!("\n{word} {}\n", file.display());
    record.write_all(line.as_bytes())?;
    record.sync_all()
}
