//! Whether others can read or change what is ours: the configuration, and what is in the data folder.

use std::{
    fs::{self, Metadata},
    path::{Path, PathBuf},
};

use super::DoctorFinding;
use crate::{config::IssuedTokens, management::StatusReport, storage, text::some_of};

const FILES: &str = "files";

/// Others may write.
const WRITABLE: u32 = 0o022;

/// Others may read, write or enter.
const OPEN: u32 = 0o077;

/// How many bytes it has: a full disk has room for fewer.
const PAGE: usize = 4096;

/// How many files are looked at.
const MOST: usize = 10_000;

/// The configuration file. `has_secrets` says whether reading it gives anything away.
pub(super) fn configuration(file: &Path, has_secrets: bool) -> Option<DoctorFinding> {
    let found = fs::metadata(file).ok()?;
    let access = access_of(&found)?;
    // One that cannot be read is a finding of the configuration already.
    if !access.is_ours && storage::open_to_read(file).is_err() {
        return None;
    }
    let place = file.display();
    let fix = format!("`chmod 600 {place}`");
    let finding = if access.mode & WRITABLE != 0 {
        let what =
            "the mode of the configuration lets other users change it, and so run commands as you";
        DoctorFinding::fail(FILES, what, fix)
    } else if access.mode & OPEN != 0 && has_secrets {
        let what = "the configuration holds secrets, and its mode lets other users read it";
        DoctorFinding::warn(FILES, what, fix)
    } else {
        let who = if access.is_ours {
            "you"
        } else {
            "another user"
        };
        DoctorFinding::ok(FILES, format!("only {who} can change the configuration"))
    };
    Some(finding.at(place))
}

/// The activity log, where the daemon cannot write it.
pub(super) fn activity_log(status: &StatusReport) -> Option<DoctorFinding> {
    let log = status.activity.as_ref()?;
    let what = format!("calls are not recorded: {}", log.problem.as_ref()?);
    let fix = log.next_step.as_deref().unwrap_or("`mcpproxy restart`");
    Some(DoctorFinding::fail(FILES, what, fix))
}

/// The data folder and what is in it.
pub(super) fn data_folder(folder: &Path) -> Option<DoctorFinding> {
    let Ok(found) = fs::metadata(folder) else {
        return uncreatable(folder);
    };
    let access = access_of(&found)?;
    let place = folder.display();
    if !access.is_ours {
        let fix =
            "run mcpproxy as that user, or name a folder of your own with `data_dir` or --data-dir";
        let what = "the data folder belongs to another user, so your daemon cannot use it";
        return Some(DoctorFinding::fail(FILES, what, fix).at(place));
    }
    let probe = storage::DataFile::DoctorProbe.within(folder);
    let written = storage::write_atomically(&probe, &[0; PAGE]);
    if let Err(error) = written.and_then(|()| storage::remove(&probe)) {
        let why = storage::in_words(&error);
        let what = format!("the data folder cannot be written to: {why}");
        let fix = storage::disk_step(&probe, &error);
        return Some(DoctorFinding::fail(FILES, what, fix).at(place));
    }
    if access.mode & OPEN != 0 {
        let mode = access.mode;
        let what = format!("other users can open the data folder (mode {mode:o})");
        return Some(DoctorFinding::warn(FILES, what, format!("`chmod 700 {place}`")).at(place));
    }
    if let Err(error) = IssuedTokens::read(folder) {
        let why = storage::in_words(&error);
        let what = format!("clients with issued tokens are refused: {why}");
        let file = IssuedTokens::file_in(folder);
        let fix = IssuedTokens::step(folder, &error);
        return Some(DoctorFinding::fail(FILES, what, fix).at(file.display()));
    }
    let open = open_files(folder);
    Some(match &open[..] {
        [] => DoctorFinding::ok(FILES, "only you can open the data folder").at(place),
        open => {
            let names: Vec<_> = open.iter().map(|file| file.display().to_string()).collect();
            let first = some_of(&names, 1);
            let what = format!("only the mode of the data folder keeps other users from {first}");
            DoctorFinding::warn(FILES, what, format!("`chmod -R go= {place}`")).at(place)
        }
    })
}

/// A data folder that is not there and cannot be created. The first folder of its path that is missing is created, and removed again.
fn uncreatable(folder: &Path) -> Option<DoctorFinding> {
    let there = storage::nearest(folder);
    let missing = folder.ancestors().take_while(|part| *part != there);
    let first = missing.last().unwrap_or(folder);
    let created = storage::create_private_dir(first).and_then(|()| fs::remove_dir(first));
    let error = created.err()?;
    let why = storage::in_words(&error);
    let what = format!("the data folder cannot be created: {why}");
    let fix = storage::disk_step(first, &error);
    Some(DoctorFinding::fail(FILES, what, fix).at(folder.display()))
}

/// The files in it, and in its folders, that others could open.
fn open_files(folder: &Path) -> Vec<PathBuf> {
    let entries = |folder: &Path| {
        fs::read_dir(folder)
            .into_iter()
            .flatten()
            .filter_map(Result::ok)
    };
    let outer: Vec<_> = entries(folder).take(MOST).collect();
    // Links are not followed: what is behind them is elsewhere.
    let is_folder = |entry: &&fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
    let folders = outer.iter().filter(is_folder);
    let inner = folders.flat_map(|entry| entries(&entry.path()));
    let inner: Vec<_> = inner.take(MOST).collect();
    let is_open = |file: &fs::DirEntry| {
        // The target of a link has a mode of its own, and is not ours to judge.
        let found = file.metadata().ok().filter(|found| !found.is_symlink())?;
        Some(access_of(&found)?.mode & OPEN != 0)
    };
    let all = outer.iter().chain(&inner);
    let open = all.filter(|file| is_open(file).unwrap_or(false));
    open.map(fs::DirEntry::path).collect()
}

/// Who may do what with a file: its mode, where files have modes, and whether it is ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileAccess {
    mode: u32,
    is_ours: bool,
}

#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "elsewhere files have no modes")]
fn access_of(file: &Metadata) -> Option<FileAccess> {
    use std::os::unix::fs::MetadataExt;

    Some(FileAccess {
        mode: file.mode() & 0o7777,
        is_ours: file.uid() == rustix::process::geteuid().as_raw(),
    })
}

#[cfg(not(unix))]
fn access_of(_: &Metadata) -> Option<FileAccess> {
    None
}

#[cfg(all(test, unix))]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt, path::Path};

    use super::{configuration, data_folder};
    use crate::doctor::DoctorSeverity;

    fn set(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("ours");
    }

    #[test]
    fn a_configuration_that_others_can_change_fails() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = folder.path().join("mcp_config.json");
        assert_eq!(configuration(&file, true), None);
        fs::write(&file, "{}").expect("ours");
        for (mode, has_secrets, severity) in [
            (0o600, true, DoctorSeverity::Ok),
            (0o644, false, DoctorSeverity::Ok),
            (0o644, true, DoctorSeverity::Warn),
            (0o664, false, DoctorSeverity::Fail),
            (0o606, false, DoctorSeverity::Fail),
        ] {
            set(&file, mode);
            let found = configuration(&file, has_secrets).expect("it is there");
            assert_eq!(found.severity, severity, "{mode:o} {found:?}");
        }
    }

    #[test]
    fn a_data_folder_and_the_files_in_it_are_private() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let data = folder.path().join("data");
        assert_eq!(data_folder(&data.join("inner")), None);
        assert!(!data.exists(), "nothing is left");
        fs::write(&data, "x").expect("ours");
        let refused = data_folder(&data.join("inner")).expect("a finding");
        assert_eq!(refused.severity, DoctorSeverity::Fail, "{refused:?}");
        fs::remove_file(&data).expect("ours");
        fs::create_dir_all(data.join("logs")).expect("ours");
        let log = data.join("logs").join("a.log");
        fs::write(&log, "x").expect("ours");
        let check = |severity, says: &str| {
            let found = data_folder(&data).expect("it is there");
            assert_eq!(found.severity, severity, "{found:?}");
            assert!(found.what.contains(says), "{found:?}");
        };
        set(&data, 0o755);
        check(DoctorSeverity::Warn, "mode 755");
        set(&data, 0o700);
        set(&data.join("logs"), 0o700);
        set(&log, 0o644);
        check(
            DoctorSeverity::Warn,
            "only the mode of the data folder keeps",
        );
        set(&log, 0o600);
        std::os::unix::fs::symlink("/usr", data.join("children")).expect("ours");
        check(DoctorSeverity::Ok, "only you");
        fs::create_dir(super::storage::DataFile::DoctorProbe.within(&data)).expect("ours");
        check(DoctorSeverity::Fail, "cannot be written");
    }
}
