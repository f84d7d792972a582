//! Habits of servers that show only while they are connected, saved beside their lists so that the next start knows them. Deleting these
//! files is safe.

use std::{
    io,
    path::{Path, PathBuf},
};

use super::saved_listings::{FOLDER, HABITS};
use crate::{storage, text::names::ServerName};

/// The habits of a server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ServerHabits {
    /// It asks its clients questions, or sends log lines that only one client may see.
    pub asks: bool,
    /// Whether it needs no handshake, but opens a session for clients that make one. `None` before that was tried.
    pub has_both_eras: Option<bool>,
}

impl ServerHabits {
    const ASKS: &str = "asks";
    const BOTH_ERAS: &str = "both-eras";
    const ONE_ERA: &str = "one-era";

    fn words(self) -> impl Iterator<Item = &'static str> {
        let eras = self
            .has_both_eras
            .map(|both| if both { Self::BOTH_ERAS } else { Self::ONE_ERA });
        self.asks.then_some(Self::ASKS).into_iter().chain(eras)
    }

    fn read<'a>(words: impl Iterator<Item = &'a str>) -> Self {
        words.fold(Self::default(), |known, word| match word {
            Self::ASKS => Self {
                asks: true,
                ..known
            },
            Self::BOTH_ERAS | Self::ONE_ERA => Self {
                has_both_eras: Some(word == Self::BOTH_ERAS),
                ..known
            },
            _ => known,
        })
    }
}

/// Saves habits. `entry` is the fingerprint of the server's configuration: with another one, the server may be another program.
pub(super) fn save(
    data_dir: &Path,
    server: &ServerName,
    entry: &str,
    habits: ServerHabits,
) -> io::Result<()> {
    let mut text = entry.to_owned();
    for word in habits.words() {
        text.push('\n');
        text.push_str(word);
    }
    storage::write_in_subfolder(&file(data_dir, server), text.as_bytes())
}

/// Reads the habits of a server under this configuration.
pub(super) fn load(data_dir: &Path, server: &ServerName, entry: &str) -> ServerHabits {
    let text = storage::read_text(&file(data_dir, server), u64::MAX).unwrap_or_default();
    let mut lines = text.lines();
    if lines.next() == Some(entry) {
        ServerHabits::read(lines)
    } else {
        ServerHabits::default()
    }
}

fn file(data_dir: &Path, server: &ServerName) -> PathBuf {
    FOLDER.of_server(data_dir, server, HABITS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_noted_holds_for_its_configuration_and_is_pruned_with_the_lists() {
        let folder = tempfile::tempdir().expect("a folder");
        let [a, b] = ["a", "b.c"].map(|name| ServerName::parse(name).expect("a name"));
        let nothing = ServerHabits::default();
        assert_eq!(load(folder.path(), &a, "e1"), nothing, "never noted");
        for has_both_eras in [None, Some(true), Some(false)] {
            for asks in [true, false] {
                let habits = ServerHabits {
                    asks,
                    has_both_eras,
                };
                for server in [&a, &b] {
                    save(folder.path(), server, "e1", habits).expect("saved");
                    assert_eq!(load(folder.path(), server, "e1"), habits);
                }
                assert_eq!(
                    load(folder.path(), &a, "e2"),
                    nothing,
                    "another configuration"
                );
            }
        }
        super::super::saved_listings::prune(folder.path(), |name| name == "b.c");
        assert_eq!(
            load(folder.path(), &a, "e1"),
            nothing,
            "a server that is gone"
        );
        assert_ne!(load(folder.path(), &b, "e1"), nothing);
    }
}
