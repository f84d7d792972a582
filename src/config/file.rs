//! The configuration file on disk: its text, and where it really is.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use crate::storage;

/// A configuration is text that people write.
pub(super) const LARGEST_FILE: u64 = 16 * 1024 * 1024;

/// As many as Linux follows.
const MOST_LINKS: usize = 40;

/// The text of a configuration file. One that is no regular file, or larger than 16 MiB, is refused.
pub fn read_text(file: &Path) -> io::Result<String> {
    storage::read_text(file, LARGEST_FILE)
}

/// The path, and every path its symbolic links lead to; the last one is no link, or does not exist.
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

/// The folder a file is in.
pub(super) fn folder_of(file: &Path) -> &Path {
    match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}
