//! A change of the configuration file as it is decided: over the text that it replaces, and once more over what it comes to.

use super::{
    ChangedValue, Document, EditError, Surroundings,
    resolve::{file_fault, parse_document},
};

/// A change of the configuration file.
pub trait TextChange {
    /// The text that it comes to.
    fn edited(
        &self,
        before: &Document<'_>,
        surroundings: &Surroundings<'_>,
    ) -> Result<String, EditError>;

    /// Whether that is written. A text that no daemon would take is an error.
    fn is_written(&self, outcome: &EditedFile<'_>) -> Result<bool, EditError> {
        outcome.check().map(|()| true)
    }
}

impl<F: Fn(&str) -> Result<String, EditError>> TextChange for F {
    fn edited(&self, before: &Document<'_>, _: &Surroundings<'_>) -> Result<String, EditError> {
        self(before.written)
    }
}

/// What a change comes to, read once for all that look at it.
#[derive(Clone, Copy)]
pub struct EditedFile<'a> {
    /// The file before it.
    pub before: &'a Document<'a>,
    /// The file after it.
    pub after: &'a Document<'a>,
    /// The values that differ.
    pub changes: &'a [ChangedValue],
    /// What the texts refer to.
    pub surroundings: &'a Surroundings<'a>,
}

impl EditedFile<'_> {
    /// Finds out whether a daemon would take it.
    pub fn check(&self) -> Result<(), EditError> {
        let read = parse_document(self.after, self.surroundings);
        match read.err().and_then(file_fault) {
            Some(fault) => Err(fault.into()),
            None => Ok(()),
        }
    }
}
