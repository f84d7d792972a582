//! The configuration file on disk: its text, and the symbolic links that lead to it.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use crate::storage;

/// Limit: bytes of the file. People write it, so it is much smaller.
pub(super) const LARGEST_FILE: u64 = 16 * 1024 * 1024;

/// How many symbolic links are followed: as many as Linux follows.
const MOST_LINKS: usize = 40;

/// Reads the text of a configuration file. Only regular files of at most 16 MiB are accepted.
pub fn read_text(file: &Path) -> io::Result<String> {
    storage::read_text(file, LARGEST_FILE)
}

/// The path, and the targets of its symbolic links one after the other. The last one is not a link, or does not exist.
pub(super) fn link_chain(file: &Path) -> Vec<PathBuf> {
    let mut chain = vec![file.to_owned()];
    for _ in 0..MOST_LINKS {
        let Some(link) = chain.last() else { break };
        let Ok(target) = fs::read_link(link) else {
            break;
        };
        chain.push(folder_of(link).join(target));
    }
    chain
}

/// The folder of a file.
pub(super) fn folder_of(file: &Path) -> &Path {
    match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}
