//! Reports that the configuration file may have changed. It watches the folders of the file and of the targets of its symbolic links,
//! because editors replace files. Whether the text changed is for the reader to find out.

use std::{
    collections::HashSet,
    ffi::OsString,
    path::{Component, Path, PathBuf},
};

use notify::{
    Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher,
    event::{AccessKind, AccessMode},
};
use tokio::sync::mpsc;

use super::file::{folder_of, link_chain};

/// A watch on the folders of one file. Dropping it ends the watch.
pub(super) struct Watching {
    /// Held until the drop. Nothing if the system gives no watcher; it would not give one later either.
    watcher: Option<RecommendedWatcher>,
    folders: WatchedFolders,
    complete: bool,
}

/// The folders to watch, each with the number of its inode, which differs for a new folder at the same path.
type WatchedFolders = Vec<(PathBuf, Option<u64>)>;

impl Watching {
    /// Starts watching. Changes are sent to `noticed`.
    pub(super) fn start(file: &Path, noticed: mpsc::Sender<()>) -> Self {
        let chain = link_chain(file);
        let names: HashSet<OsString> = chain.iter().flat_map(|path| names_of(path)).collect();
        let folders = folders_of(&chain);
        let on_event = move |event: notify::Result<Event>| {
            if event.as_ref().map_or(true, |event| concerns(event, &names)) {
                // If it is full, a reading is pending already; if it is closed, nobody reads any more.
                let _ = noticed.try_send(());
            }
        };
        let watcher = notify::recommended_watcher(on_event).inspect_err(|error| {
            tracing::warn!(%error, "configuration file not watched, polled instead");
        });
        let mut watcher = watcher.ok();
        let mut complete = watcher.is_some();
        for (folder, _) in &folders {
            complete &= watcher
                .as_mut()
                .is_some_and(|it| it.watch(folder, RecursiveMode::NonRecursive).is_ok());
        }
        Self {
            watcher,
            folders,
            complete,
        }
    }

    /// Whether every change is reported. It is not if a folder is missing, or the system has no watches left.
    pub(super) fn is_complete(&self) -> bool {
        self.complete
    }

    /// Whether the file's folders are still the watched ones.
    pub(super) fn is_current(&self, file: &Path) -> bool {
        (self.complete || self.watcher.is_none()) && self.folders == folders_of(&link_chain(file))
    }
}

fn folders_of(chain: &[PathBuf]) -> WatchedFolders {
    let mut folders = WatchedFolders::new();
    for path in chain {
        let folder = folder_of(path).to_owned();
        if !folders.iter().any(|(known, _)| *known == folder) {
            let inode = inode(&folder);
            folders.push((folder, inode));
        }
    }
    folders
}

#[cfg(unix)]
fn inode(folder: &Path) -> Option<u64> {
    use std::os::unix::fs::MetadataExt;
    let metadata = std::fs::metadata(folder).ok()?;
    Some(metadata.ino())
}

#[cfg(not(unix))]
fn inode(folder: &Path) -> Option<u64> {
    folder.exists().then_some(0)
}

fn names_of(path: &Path) -> impl Iterator<Item = OsString> {
    path.components().filter_map(|component| match component {
        Component::Normal(name) => Some(name.to_owned()),
        _ => None,
    })
}

/// Whether an event may mean a new text. Our own reading does not, nor does a change of another file, such as a log.
fn concerns(event: &Event, names: &HashSet<OsString>) -> bool {
    let is_written = event.kind == EventKind::Access(AccessKind::Close(AccessMode::Write));
    let touches_us = event.need_rescan()
        || event.paths.is_empty()
        || event
            .paths
            .iter()
            .filter_map(|path| path.file_name())
            .any(|name| names.contains(name));
    (is_written || !event.kind.is_access()) && touches_us
}
