//! Blank configuration files: missing, empty, or with comments only. A file that had values before and is blank now is taken for an
//! accident, such as an interrupted save: the last settings stay in force, and no change is written to it.

use std::{io, path::Path};

use super::{
    Places, Settings,
    document::{split_mark, tree},
};
use crate::storage::{self, DataFile};

/// Exists if the last daemon with this data folder had `serverAuth`.
const NOTE: DataFile = DataFile::HadServerAuth;

/// What a blank file means.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Blank {
    /// A configuration without values.
    #[default]
    Beginning,
    /// The loss of the values that were there before.
    Accident,
}

impl Blank {
    /// What it means after this text; nothing is the text of a file that does not exist.
    pub(super) fn after(text: Option<&str>) -> Self {
        if is_blank(text) {
            Self::Beginning
        } else {
            Self::Accident
        }
    }

    /// What it means at a start: an accident if the last daemon with one of the possible data folders had `serverAuth`.
    pub fn after_last_daemon(places: &Places) -> Self {
        let mut folders = places.other_data_folders();
        folders.push(places.data_dir.clone());
        if folders.iter().any(|folder| NOTE.within(folder).exists()) {
            Self::Accident
        } else {
            Self::Beginning
        }
    }

    /// Whether this text is blank by accident.
    pub(super) fn is_accident(self, text: Option<&str>) -> bool {
        self == Self::Accident && is_blank(text)
    }
}

/// Notes for the next daemon with this data folder whether these settings have `serverAuth`.
pub(super) fn note_server_auth(data_dir: &Path, settings: &Settings) -> io::Result<()> {
    let note = NOTE.within(data_dir);
    let (is_noted, has_auth) = (note.exists(), settings.server_auth.is_some());
    match (is_noted, has_auth) {
        (false, true) => storage::write_atomically(&note, b""),
        (true, false) => storage::remove(&note),
        _ => Ok(()),
    }
}

/// Whether a text is blank. One that cannot be read is not.
pub fn is_blank(text: Option<&str>) -> bool {
    let (_, json) = split_mark(text.unwrap_or_default());
    matches!(tree(json), Ok(None))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_said_something_does_not_end_on_purpose() {
        let nothing = [
            None,
            Some(""),
            Some(" \n\t"),
            Some("\u{feff}"),
            Some("// a\n/* b */"),
        ];
        let something = ["{}", "{ // a", "{\"top_k\": 1}", "\0", "[]"];
        for text in nothing {
            assert_eq!(Blank::after(text), Blank::Beginning, "{text:?}");
            assert!(Blank::Accident.is_accident(text), "{text:?}");
            assert!(!Blank::Beginning.is_accident(text), "{text:?}");
        }
        for text in something.map(Some) {
            assert_eq!(Blank::after(text), Blank::Accident, "{text:?}");
            assert!(!Blank::Accident.is_accident(text), "{text:?}");
        }
    }
}
