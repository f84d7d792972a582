//! Files that say nothing: empty, blank, comments alone, or not there. After one that said something that is an accident, such as a save
//! that is cut in half, and neither settings nor changes begin with it.

use std::{io, path::Path};

use super::{
    Places, Settings,
    document::{split_mark, tree},
};
use crate::storage;

/// The note in the data folder that its last daemon had `serverAuth`.
const NOTE: &str = "had-server-auth";

/// What a file is that says nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Blank {
    /// As good as any other.
    #[default]
    Beginning,
    /// What it said is missing.
    Accident,
}

impl Blank {
    /// After a file with this text; nothing is the text of one that is not there.
    pub(super) fn after(text: Option<&str>) -> Self {
        if says_nothing(text) {
            Self::Beginning
        } else {
            Self::Accident
        }
    }

    /// After the last daemon that had its data in one of the folders where it may be.
    pub fn after_last_daemon(places: &Places) -> Self {
        let mut folders = places.other_data_folders();
        folders.push(places.data_dir.clone());
        if folders.iter().any(|folder| folder.join(NOTE).exists()) {
            Self::Accident
        } else {
            Self::Beginning
        }
    }

    /// Whether a file with this text is an accident.
    pub(super) fn is_accident(self, text: Option<&str>) -> bool {
        self == Self::Accident && says_nothing(text)
    }
}

/// Notes for the next daemon of the folder whether these settings have `serverAuth`.
pub(super) fn note_server_auth(data_dir: &Path, settings: &Settings) -> io::Result<()> {
    let note = data_dir.join(NOTE);
    let (is_noted, has_auth) = (note.exists(), settings.server_auth.is_some());
    match (is_noted, has_auth) {
        (false, true) => storage::write_atomically(&note, b""),
        (true, false) => storage::remove(&note),
        _ => Ok(()),
    }
}

/// What cannot be read was meant to say something.
pub(super) fn says_nothing(text: Option<&str>) -> bool {
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
