//! The copies that were set aside beside a client's file when our entry in it changed: what the file said since our first change. Each
//! change is made in the oldest of them from which the file differs by our entry alone, so that the same step leads back.

use std::{fs, path::PathBuf};

use serde_json::Value;

use super::{
    Client, ClientFile, ClientPlaces, edit,
    replace::{self, CopyKind},
};

/// What a file said since our first change, the newest first. The last one is the file before that; without a path, there was none.
pub(super) struct Copies<'a> {
    client: Client,
    file: &'a ClientFile,
    /// The name of our entry.
    name: &'a str,
    states: Vec<(Option<PathBuf>, String)>,
}

impl<'a> Copies<'a> {
    /// Those that can be read. Blocks.
    pub(super) fn of(
        places: &ClientPlaces,
        client: Client,
        file: &'a ClientFile,
        name: &'a str,
    ) -> Self {
        let paths = replace::backups(&file.path, CopyKind::Connect).into_iter();
        let read = paths.filter_map(|path| {
            fs::read_to_string(&path)
                .ok()
                .map(|text| (Some(path), text))
        });
        let mut states: Vec<(Option<PathBuf>, String)> = read.collect();
        let is_without = |text: &str| edit::present(client, file.format, text, name) == Ok(None);
        // Without our entry it was not yet changed, or no more.
        if let Some(first) = states.iter().position(|(_, text)| is_without(text)) {
            states.truncate(first + 1);
        } else if places.is_made(&file.path) {
            states.push((None, String::new()));
        }
        Self {
            client,
            file,
            name,
            states,
        }
    }

    /// What the file said before our first change: nothing where somebody else wrote the entry, and we did not change it.
    pub(super) fn first(&self) -> Option<&str> {
        self.states.last().map(|(_, text)| &**text)
    }

    /// Whether this is the file before our first change.
    pub(super) fn is_first(&self, at: usize) -> bool {
        at + 1 == self.states.len()
    }

    /// Whether a text comes of another one by our entry alone.
    fn is_made_of(&self, text: &str, before: &str) -> bool {
        let format = self.file.format;
        let entry = edit::present(self.client, format, text, self.name);
        let Ok(Some(Value::Object(entry))) = entry else {
            return false;
        };
        let made = edit::put(self.client, format, before, self.name, &entry);
        made.as_deref() == Ok(text)
    }

    /// Which is the oldest from which a text differs by our entry alone.
    pub(super) fn origin(&self, text: &str) -> Option<usize> {
        let mut states = self.states.iter();
        states.rposition(|(_, before)| self.is_made_of(text, before))
    }

    /// The text into which an entry is put that replaces ours in this one.
    pub(super) fn base<'b>(&'b self, text: &'b str) -> &'b str {
        let origin = self.origin(text).and_then(|at| self.states.get(at));
        origin.map_or(text, |(_, before)| before.as_str())
    }

    /// The newest of which something is found, what that is, and whether a text differs from it by our entry alone.
    pub(super) fn newest<T>(
        &self,
        text: &str,
        found: impl Fn(&str) -> Option<T>,
    ) -> Option<(usize, T, bool)> {
        let mut states = self.states.iter().enumerate();
        let (at, state, found) =
            states.find_map(|(at, (_, state))| Some((at, state, found(state)?)))?;
        let is_alike = self.is_made_of(text, state)
            || self.origin(text).is_some() && self.origin(text) == self.origin(state);
        Some((at, found, is_alike))
    }

    /// The file as it was at one of them, with the copies that are of no more use once it is that again.
    pub(super) fn restored(&self, at: usize) -> (Option<String>, CopiesAfter) {
        let paths = self.states.iter().take(at + 1);
        let spent = paths.filter_map(|(path, _)| path.clone()).collect();
        let state = self.states.get(at).filter(|(path, _)| path.is_some());
        let text = state.map(|(_, text)| text.clone());
        (text, CopiesAfter::WithoutRestored(spent))
    }
}

/// What becomes of the copies beside a file when it was written.
#[derive(Clone, PartialEq)]
pub(super) enum CopiesAfter {
    /// They stay, and one of what was there comes.
    OneMore,
    /// The file is what one of them was: that one and those after it are of no more use, and none comes.
    WithoutRestored(Vec<PathBuf>),
    /// The file is without us: the one of what was there just now stays, and the oldest.
    Retired,
}
