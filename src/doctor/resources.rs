//! What the machine has left for us: room on the disk, and open files.

use std::path::Path;

use super::{DoctorFinding, platform};

/// Limit: the activity log keeps 256 MB, if it may.
const LITTLE_ROOM: u64 = 512 << 20;

/// Limit: below this the next record or list may not be written.
const NO_ROOM: u64 = 32 << 20;

/// Limit: each process of a server takes three, each client one.
const FEW_FILES: u64 = 1024;

/// Room where the data folder is, or will be.
pub(super) fn disk(data_dir: &Path) -> Option<DoctorFinding> {
    let there = data_dir.ancestors().find(|folder| folder.exists())?;
    let available = platform::available_bytes(there)?;
    Some(room(available).at(there.display()))
}

fn room(available: u64) -> DoctorFinding {
    let check = "disk";
    let what = format!("{} MB are free for the data folder", available >> 20);
    let fix = "make room, or name another `data_dir` in the configuration";
    match available {
        ..NO_ROOM => DoctorFinding::fail(check, what, fix),
        NO_ROOM..LITTLE_ROOM => DoctorFinding::warn(check, what, fix),
        _ => DoctorFinding::ok(check, what),
    }
}

/// How many files may be open, once the daemon has raised the limit as far as it may.
pub(super) fn open_files() -> DoctorFinding {
    files(platform::most_open_files())
}

fn files(most: Option<u64>) -> DoctorFinding {
    let check = "open files";
    match most {
        None => DoctorFinding::ok(check, "there is no limit"),
        Some(most @ ..FEW_FILES) => DoctorFinding::warn(
            check,
            format!("only {most} may be open, which is few for many servers and clients"),
            "raise the hard limit: `ulimit -Hn`, or LimitNOFILE= of a service",
        ),
        Some(most) => DoctorFinding::ok(check, format!("up to {most}")),
    }
}

#[cfg(test)]
mod tests {
    use super::{disk, files, open_files, room};
    use crate::doctor::DoctorSeverity;

    #[test]
    fn little_is_warned_of_and_too_little_fails() {
        assert_eq!(room(1 << 40).severity, DoctorSeverity::Ok);
        assert_eq!(room(100 << 20).severity, DoctorSeverity::Warn);
        assert_eq!(room(1 << 20).severity, DoctorSeverity::Fail);
        assert_eq!(files(Some(256)).severity, DoctorSeverity::Warn);
        assert_eq!(files(Some(65_536)).severity, DoctorSeverity::Ok);
        assert_eq!(files(None).severity, DoctorSeverity::Ok);
    }

    #[cfg(unix)]
    #[test]
    fn this_machine_can_be_asked_also_where_the_folder_is_not_there_yet() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let found = disk(&folder.path().join("not/there/yet")).expect("it can be told");
        assert!(
            found
                .place
                .expect("a place")
                .contains(&*folder.path().to_string_lossy())
        );
        assert_ne!(open_files().severity, DoctorSeverity::Fail);
    }
}
