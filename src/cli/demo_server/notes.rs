//! The notes that the demo server's tools write, list and delete. They live in memory and end with the process.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// A demo server's memory is bounded too.
const MOST_NOTES: usize = 500;

/// Notes by title.
#[derive(Default)]
pub(super) struct Notes(Mutex<BTreeMap<String, String>>);

impl Notes {
    /// Stores a note, replacing one of the same title; says what it did.
    pub(super) fn write(&self, title: &str, text: &str) -> Result<String, String> {
        let mut notes = self.lock();
        if notes.len() >= MOST_NOTES && !notes.contains_key(title) {
            return Err(format!(
                "there are already {MOST_NOTES} notes; delete one first"
            ));
        }
        Ok(match notes.insert(title.to_owned(), text.to_owned()) {
            None => format!("Wrote the note {title:?}."),
            Some(_) => format!("Replaced the note {title:?}."),
        })
    }

    /// Every note, or those with `containing` in title or text, as text for a reader.
    pub(super) fn list(&self, containing: &str) -> String {
        let notes = self.lock();
        let found: Vec<String> = notes
            .iter()
            .filter(|(title, text)| title.contains(containing) || text.contains(containing))
            .map(|(title, text)| format!("{title}: {text}"))
            .collect();
        if found.is_empty() {
            "No notes match.".to_owned()
        } else {
            found.join("\n")
        }
    }

    /// Deletes a note.
    pub(super) fn delete(&self, title: &str) -> Result<String, String> {
        match self.lock().remove(title) {
            Some(_) => Ok(format!("Deleted the note {title:?}.")),
            None => Err(format!(
                "there is no note {title:?}; notes_list shows the titles"
            )),
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
