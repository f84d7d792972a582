//! What a daemon that did not end in order left behind: its socket, its lock, processes of its servers.

use std::{
    fs::{self, File, TryLockError},
    path::Path,
};

use super::DoctorFinding;
use crate::{config::SOCKET, process::ChildLedger};

const LEFTOVERS: &str = "leftovers";

/// Looks into the data folder. `has_daemon` is whether a daemon answers there.
pub(super) fn check(data_dir: &Path, has_daemon: bool) -> Vec<DoctorFinding> {
    let mut findings = Vec::new();
    if !has_daemon {
        match holder(&data_dir.join("lock")) {
            Some(holder) => findings.push(hanging(data_dir, &holder)),
            None => findings.extend(socket(&data_dir.join(SOCKET))),
        }
    }
    findings.extend(children(data_dir));
    if findings.is_empty() {
        findings.push(DoctorFinding::ok(
            LEFTOVERS,
            "nothing of an earlier daemon is left",
        ));
    }
    findings
}

/// Who has the lock, if it is taken. A daemon that ends empties the file, so that this is asked of others only.
fn holder(lock: &Path) -> Option<String> {
    let text = fs::read_to_string(lock)
        .ok()
        .filter(|text| !text.trim().is_empty())?;
    let file = File::open(lock).ok()?;
    let taken = matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock));
    taken.then(|| text.trim().to_owned())
}

fn hanging(data_dir: &Path, holder: &str) -> DoctorFinding {
    let pid = holder.strip_prefix("pid ").unwrap_or(holder);
    let pid: String = pid.chars().take_while(char::is_ascii_digit).collect();
    DoctorFinding::fail(
        LEFTOVERS,
        format!("a daemon has the data folder and does not answer ({holder})"),
        format!("end it: kill {pid}; if that does not help: kill -9 {pid}"),
    )
    .at(data_dir.display())
}

fn socket(socket: &Path) -> Option<DoctorFinding> {
    let found = fs::symlink_metadata(socket).ok()?;
    let finding = if is_socket(&found) {
        DoctorFinding::warn(
            LEFTOVERS,
            "a daemon that was killed left its socket",
            "nothing has to be done: the next daemon replaces it",
        )
    } else {
        DoctorFinding::fail(
            LEFTOVERS,
            "something else stands where the daemon opens its socket",
            format!("move it away: {}", socket.display()),
        )
    };
    Some(finding.at(socket.display()))
}

#[cfg(unix)]
fn is_socket(found: &fs::Metadata) -> bool {
    std::os::unix::fs::FileTypeExt::is_socket(&found.file_type())
}

#[cfg(not(unix))]
fn is_socket(_: &fs::Metadata) -> bool {
    true
}

/// Processes of servers whose daemon is dead.
fn children(data_dir: &Path) -> Vec<DoctorFinding> {
    // Opening a ledger makes its folder.
    if !data_dir.join("children").is_dir() {
        return Vec::new();
    }
    let Ok(ledger) = ChildLedger::open(data_dir) else {
        return Vec::new();
    };
    let left = ledger.left_running().into_iter();
    left.map(|(server, pids)| {
        let pids: Vec<String> = pids.iter().map(u32::to_string).collect();
        let pids = pids.join(" ");
        DoctorFinding::warn(
            LEFTOVERS,
            format!("processes of the server are left of a daemon that was killed: {pids}"),
            format!("start the daemon, which ends them, or: kill {pids}"),
        )
        .at(server)
    })
    .collect()
}

#[cfg(all(test, unix))]
mod tests {
    use std::{fs, os::unix::net::UnixListener};

    use super::{SOCKET, check};
    use crate::doctor::DoctorSeverity;

    #[test]
    fn sockets_and_locks_of_daemons_that_are_gone_are_told_from_those_in_use() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let data = folder.path();
        let found = |has_daemon| {
            let mut findings = check(data, has_daemon);
            assert_eq!(findings.len(), 1, "{findings:?}");
            findings.remove(0)
        };
        assert_eq!(found(false).severity, DoctorSeverity::Ok);

        drop(UnixListener::bind(data.join(SOCKET)));
        let left = found(false);
        assert_eq!(left.severity, DoctorSeverity::Warn);
        assert!(left.what.contains("left its socket"), "{left:?}");
        assert_eq!(found(true).severity, DoctorSeverity::Ok);

        fs::remove_file(data.join(SOCKET)).expect("ours");
        fs::write(data.join(SOCKET), "").expect("ours");
        assert_eq!(found(false).severity, DoctorSeverity::Fail);
        fs::remove_file(data.join(SOCKET)).expect("ours");

        // A lock that nobody holds is no daemon, whatever is written there.
        fs::write(data.join("lock"), "pid 4711, http://127.0.0.1:8080/mcp").expect("ours");
        assert_eq!(found(false).severity, DoctorSeverity::Ok);
        let held = fs::File::options().write(true).open(data.join("lock"));
        let held = held.expect("ours");
        held.try_lock().expect("it is free");
        let hanging = found(false);
        assert_eq!(hanging.severity, DoctorSeverity::Fail);
        assert!(hanging.fix.expect("a fix").contains("kill 4711;"));
    }
}
