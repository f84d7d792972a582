//! Noticing that the configuration file may have changed. It watches the folders in which the file and the targets of its
//! symbolic links stand, because editors replace files; whether anything really changed is the reader's business.

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

/// A watch on the folders of one file. Dropping it ends it.
pub(super) struct Watching {
    /// Held for what its drop does. Nothing where the system gives none; then asking again is no use.
    watcher: Option<RecommendedWatcher>,
    scene: Scene,
    complete: bool,
}

/// The folders to watch, each with what tells it from another of the same path.
type Scene = Vec<(PathBuf, Option<u64>)>;

impl Watching {
    /// Starts watching. Changes are sent to `noticed`; where that is full, one is pending anyway.
    pub(super) fn start(file: &Path, noticed: mpsc::Sender<()>) -> Self {
        let chain = link_chain(file);
        let names: HashSet<OsString> = chain.iter().flat_map(|path| names_of(path)).collect();
        let scene = scene(&chain);
        let on_event = move |event: notify::Result<Event>| {
            if event.as_ref().map_or(true, |event| concerns(event, &names)) {
                // Full: a look is pending already. Closed: nobody looks any more.
                let _ = noticed.try_send(());
            }
        };
        let mut watcher = match notify::recommended_watcher(on_event) {
            Ok(watcher) => watcher,
            Err(error) => {
                tracing::warn!(%error, "configuration file not watched, polled instead");
                return Self {
                    watcher: None,
                    scene,
                    complete: false,
                };
            }
        };
        let mut complete = true;
        for (folder, _) in &scene {
            complete &= watcher.watch(folder, RecursiveMode::NonRecursive).is_ok();
        }
        Self {
            watcher: Some(watcher),
            scene,
            complete,
        }
    }

    /// Whether every change is noticed. It is not where a folder is missing or the system has no watches left.
    pub(super) fn is_complete(&self) -> bool {
        self.complete
    }

    /// Whether the folders are still the ones that are watched.
    pub(super) fn is_current(&self, file: &Path) -> bool {
        (self.complete || self.watcher.is_none()) && self.scene == scene(&link_chain(file))
    }
}

fn scene(chain: &[PathBuf]) -> Scene {
    let mut scene = Scene::new();
    for path in chain {
        let folder = folder_of(path).to_owned();
        if !scene.iter().any(|(known, _)| *known == folder) {
            let identity = identity(&folder);
            scene.push((folder, identity));
        }
    }
    scene
}

/// Tells a folder from another one that took its place.
#[cfg(unix)]
fn identity(folder: &Path) -> Option<u64> {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata(folder)
        .ok()
        .map(|metadata| metadata.ino())
}

#[cfg(not(unix))]
fn identity(folder: &Path) -> Option<u64> {
    folder.exists().then_some(0)
}

fn names_of(path: &Path) -> impl Iterator<Item = OsString> {
    path.components().filter_map(|component| match component {
        Component::Normal(name) => Some(name.to_owned()),
        _ => None,
    })
}

/// Whether an event may mean another text: our own reading does not, nor does a neighbour such as a log file.
fn concerns(event: &Event, names: &HashSet<OsString>) -> bool {
    let is_reading = match event.kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => false,
        EventKind::Access(_) => true,
        _ => false,
    };
    let touches_us = event.need_rescan()
        || event.paths.is_empty()
        || event
            .paths
            .iter()
            .filter_map(|path| path.file_name())
            .any(|name| names.contains(name));
    !is_reading && touches_us
}
