//! What a daemon that did not end in order left behind: its lock, and processes of its servers.

use std::{
    fs::{self, File, TryLockError},
    path::Path,
};

use super::DoctorFinding;
use crate::process::ChildLedger;

const LEFTOVERS: &str = "leftovers";

/// Looks into the data folder. `has_daemon` is whether a daemon answers there.
pub(super) fn check(data_dir: &Path, has_daemon: bool) -> Vec<DoctorFinding> {
    let mut findings = Vec::new();
    if !has_daemon {
        let holder = holder(&data_dir.join("lock"));
        findings.extend(holder.map(|holder| hanging(data_dir, &holder)));
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
    use std::fs;

    use super::check;
    use crate::doctor::DoctorSeverity;

    #[test]
    fn a_lock_in_use_is_told_from_that_of_a_daemon_that_is_gone() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let data = folder.path();
        let found = || {
            let mut findings = check(data, false);
            assert_eq!(findings.len(), 1, "{findings:?}");
            findings.remove(0)
        };
        assert_eq!(found().severity, DoctorSeverity::Ok);

        // A lock that nobody holds is no daemon, whatever is written there.
        fs::write(data.join("lock"), "pid 4711, http://127.0.0.1:8080/mcp").expect("ours");
        assert_eq!(found().severity, DoctorSeverity::Ok);
        let held = fs::File::options().write(true).open(data.join("lock"));
        let held = held.expect("ours");
        held.try_lock().expect("it is free");
        let hanging = found();
        assert_eq!(hanging.severity, DoctorSeverity::Fail);
        assert!(hanging.fix.expect("a fix").contains("kill 4711;"));
    }
}
