//! The copies that were set aside beside a client's file when our entry in it changed, and which of them is the file before that change:
//! the one that becomes what the file says when our entry is put into it.

use std::{fs, path::PathBuf};

use super::{
    Client, ClientFile, ClientServer, edit,
    replace::{self, CopyKind},
};

/// Where the copies are, and what they say; the newest first.
pub(super) struct Copies(Vec<(PathBuf, String)>);

impl Copies {
    /// Those that can be read. Blocks.
    pub(super) fn of(file: &ClientFile) -> Self {
        let paths = replace::backups(&file.path, CopyKind::Connect).into_iter();
        let read = paths.filter_map(|path| Some((path.clone(), fs::read_to_string(path).ok()?)));
        Self(read.collect())
    }

    /// What they say.
    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(_, text)| &**text)
    }

    /// Where they are.
    pub(super) fn paths(&self) -> Vec<PathBuf> {
        self.0.iter().map(|(path, _)| path.clone()).collect()
    }

    /// What the newest one says that is meant, with the copies that are of no more use once it is put back.
    pub(super) fn restored(
        &self,
        is_meant: impl Fn(&str) -> bool,
    ) -> Option<(String, CopiesAfter)> {
        let at = self.texts().position(is_meant)?;
        let mut spent = self.paths();
        spent.truncate(at + 1);
        let (_, text) = self.0.get(at)?;
        Some((text.clone(), CopiesAfter::WithoutRestored(spent)))
    }
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

/// Our entry in what a client's file says now.
pub(super) struct PresentEntry<'a> {
    pub(super) client: Client,
    pub(super) file: &'a ClientFile,
    pub(super) text: &'a str,
    pub(super) server: &'a ClientServer,
}

impl PresentEntry<'_> {
    /// Whether a text is what the file was before this entry, if nothing else was changed since.
    pub(super) fn comes_into(&self, before: &str) -> bool {
        let entry = self.server.entry.as_object().cloned().unwrap_or_default();
        let format = self.file.format;
        let after = edit::put(self.client, format, before, &self.server.name, &entry);
        after.as_deref() == Ok(self.text)
    }

    /// Whether a text has nothing under the name of the entry.
    pub(super) fn is_not_in(&self, text: &str) -> bool {
        let present = edit::present(self.client, self.file.format, text, &self.server.name);
        present == Ok(None)
    }
}
