//! A change of the configuration file: how it makes a new text, and how it decides whether that is written.

use super::{
    ChangedValue, Document, EditError, Surroundings,
    resolve::{file_fault, parse_document},
};

/// A change of the configuration file.
pub trait TextChange {
    /// The new text. Called again if another program saves the file meanwhile.
    fn edited(
        &self,
        before: &Document<'_>,
        surroundings: &Surroundings<'_>,
    ) -> Result<String, EditError>;

    /// Whether the new text is written. One that no daemon could use is an error.
    fn is_written(&self, outcome: &EditedFile<'_>) -> Result<bool, EditError> {
        outcome.check().map(|()| true)
    }
}

impl<F: Fn(&str) -> Result<String, EditError>> TextChange for F {
    fn edited(&self, before: &Document<'_>, _: &Surroundings<'_>) -> Result<String, EditError> {
        self(before.written)
    }
}

/// The file before and after a change.
#[derive(Clone, Copy)]
pub struct EditedFile<'a> {
    /// The file before it.
    pub before: &'a Document<'a>,
    /// The file after it.
    pub after: &'a Document<'a>,
    /// The values that differ.
    pub changes: &'a [ChangedValue],
    /// The variables and the folder that the texts refer to.
    pub surroundings: &'a Surroundings<'a>,
}

impl EditedFile<'_> {
    /// Checks that a daemon could use the file after the change.
    pub fn check(&self) -> Result<(), EditError> {
        let read = parse_document(self.after, self.surroundings);
        match read.err().and_then(file_fault) {
            Some(fault) => Err(fault.into()),
            None => Ok(()),
        }
    }
}
