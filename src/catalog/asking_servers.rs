//! The servers that have asked clients something, on disk beside their lists, so that the next start knows it from the first
//! call on. Deleting these files is safe.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::saved_listings;
use crate::{storage, text::names::ServerName};

/// Notes that a server asks. `entry` is the fingerprint of its configuration: under another one it may be another program.
pub(super) fn save(data_dir: &Path, server: &ServerName, entry: &str) -> io::Result<()> {
    storage::create_private_subfolder(&saved_listings::folder(data_dir))?;
    storage::write_atomically(&file(data_dir, server), entry.as_bytes())
}

/// Whether a server under this configuration has been seen to ask.
pub(super) fn load(data_dir: &Path, server: &ServerName, entry: &str) -> bool {
    fs::read(file(data_dir, server)).is_ok_and(|noted| noted == entry.as_bytes())
}

fn file(data_dir: &Path, server: &ServerName) -> PathBuf {
    let name = format!("{server}.{}", saved_listings::ASKING);
    saved_listings::folder(data_dir).join(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_noted_holds_for_its_configuration_and_is_pruned_with_the_lists() {
        let folder = tempfile::tempdir().expect("a folder");
        let [a, b] = ["a", "b.c"].map(|name| ServerName::parse(name).expect("a name"));
        assert!(!load(folder.path(), &a, "e1"), "never noted");
        for server in [&a, &b] {
            save(folder.path(), server, "e1").expect("saved");
            assert!(load(folder.path(), server, "e1"));
        }
        assert!(!load(folder.path(), &a, "e2"), "of another configuration");
        saved_listings::prune(folder.path(), |name| name == "b.c");
        assert!(!load(folder.path(), &a, "e1"), "of a server that is gone");
        assert!(load(folder.path(), &b, "e1"));
    }
}
