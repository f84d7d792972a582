//! The program and daemon checks: which programs of our name there are, and whether the daemon has the same version.

use std::{
    env,
    path::{Path, PathBuf},
};

use super::DoctorFinding;
use crate::{
    clients::real_path,
    management::{StatusReport, version_note},
    process,
    text::names::ServerName,
};

const PROGRAM: &str = "program";

/// This program, others of its name on `PATH`, and the daemon's version.
pub(super) fn check(status: Option<&StatusReport>) -> Vec<DoctorFinding> {
    let own = env::current_exe().unwrap_or_else(|_| PathBuf::from("mcpproxy"));
    let path = env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = env::split_paths(&path).collect();
    let mut findings = vec![on_path(&own, &folders)];
    findings.extend(status.map(daemon));
    findings
}

/// What a shell with these folders starts.
fn on_path(own: &Path, folders: &[PathBuf]) -> DoctorFinding {
    let version = env!("CARGO_PKG_VERSION");
    let own = real_path(own);
    let mut found: Vec<(PathBuf, PathBuf)> = Vec::new();
    for folder in folders.iter().filter(|folder| folder.is_absolute()) {
        let file = folder.join(format!("mcpproxy{}", env::consts::EXE_SUFFIX));
        let target = real_path(&file);
        if file.is_file() && !found.iter().any(|(_, known)| *known == target) {
            found.push((file, target));
        }
    }
    let names: Vec<String> = found
        .iter()
        .map(|(file, _)| file.display().to_string())
        .collect();
    let finding = match &found[..] {
        [] => DoctorFinding::ok(PROGRAM, format!("mcpproxy {version}; not on PATH")),
        [(_, only)] if *only == own => DoctorFinding::ok(PROGRAM, format!("mcpproxy {version}")),
        [(_, first), ..] if *first == own => DoctorFinding::warn(
            PROGRAM,
            format!("mcpproxy {version}; PATH has several: {}", names.join(", ")),
            "remove the others, so that clients and shells start the same one",
        ),
        _ => DoctorFinding::warn(
            PROGRAM,
            format!(
                "mcpproxy {version}; a shell starts another one: {}",
                names.join(", ")
            ),
            "remove the other one, or put the folder of this one first in PATH",
        ),
    };
    finding.at(own.display())
}

fn daemon(status: &StatusReport) -> DoctorFinding {
    match version_note(&status.version) {
        None => DoctorFinding::ok("daemon", format!("running, process {}", status.pid)),
        Some(note) => DoctorFinding::warn(
            "daemon",
            note,
            "`mcpproxy restart`; for a service: `mcpproxy service install`",
        ),
    }
}

/// Servers that a daemon left running which was killed.
pub(super) fn left_behind(data_dir: &Path) -> Option<DoctorFinding> {
    let left = process::left_behind(data_dir);
    let names: Vec<&str> = left.iter().map(ServerName::as_str).collect();
    let what = format!("a killed daemon left servers running: {}", names.join(", "));
    (!names.is_empty())
        .then(|| DoctorFinding::warn("daemon", what, "`mcpproxy stop` ends those that still run"))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::on_path;
    use crate::doctor::DoctorSeverity;

    #[test]
    fn other_programs_of_the_name_are_found_and_links_are_no_others() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let at = |name: &str| {
            let place = folder.path().join(name);
            fs::create_dir_all(&place).expect("ours");
            place
        };
        let (a, b, link) = (at("a"), at("b"), at("link"));
        let own = a.join("mcpproxy");
        fs::write(&own, "1").expect("ours");
        fs::write(b.join("mcpproxy"), "2").expect("ours");
        #[cfg(unix)]
        std::os::unix::fs::symlink(&own, link.join("mcpproxy")).expect("ours");
        let check = |folders: &[&std::path::PathBuf], severity, says: &str| {
            let folders: Vec<_> = folders.iter().map(|&folder| folder.clone()).collect();
            let found = on_path(&own, &folders);
            assert_eq!(found.severity, severity, "{found:?}");
            assert!(found.what.contains(says), "{found:?}");
        };
        check(&[], DoctorSeverity::Ok, "not on PATH");
        let version = concat!("mcpproxy ", env!("CARGO_PKG_VERSION"));
        check(&[&link, &a], DoctorSeverity::Ok, version);
        check(&[&a, &b], DoctorSeverity::Warn, "several");
        check(&[&b, &a], DoctorSeverity::Warn, "another one");
    }
}
