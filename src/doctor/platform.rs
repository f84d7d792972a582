//! What differs from platform to platform: modes of files, room on disks, limits.

use std::{fs::Metadata, path::Path};

/// Who may do what with a file: its mode, where files have modes, and whether it is ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileAccess {
    pub(super) mode: u32,
    pub(super) is_ours: bool,
}

#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "elsewhere files have no modes")]
pub(super) fn access_of(file: &Metadata) -> Option<FileAccess> {
    use std::os::unix::fs::MetadataExt;

    Some(FileAccess {
        mode: file.mode() & 0o7777,
        is_ours: file.uid() == rustix::process::geteuid().as_raw(),
    })
}

/// What may be written to the disk of this folder by us.
#[cfg(unix)]
pub(super) fn available_bytes(folder: &Path) -> Option<u64> {
    let disk = rustix::fs::statvfs(folder).ok()?;
    Some(disk.f_bavail.saturating_mul(disk.f_frsize))
}

/// The hard limit; nothing where there is none.
#[cfg(unix)]
pub(super) fn most_open_files() -> Option<u64> {
    use rustix::process::{Resource, getrlimit};

    getrlimit(Resource::Nofile).maximum
}

#[cfg(not(unix))]
pub(super) fn access_of(_: &Metadata) -> Option<FileAccess> {
    None
}

#[cfg(not(unix))]
pub(super) fn available_bytes(_: &Path) -> Option<u64> {
    None
}

#[cfg(not(unix))]
pub(super) fn most_open_files() -> Option<u64> {
    None
}
