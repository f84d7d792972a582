//! What `config check` finds, as findings.

use super::DoctorFinding;
use crate::management::{ConfigReport, StatusReport};

const CONFIGURATION: &str = "configuration";

/// The file, and whether the daemon takes it as it stands.
pub(super) fn check(report: &ConfigReport, status: Option<&StatusReport>) -> Vec<DoctorFinding> {
    let mut findings = Vec::new();
    let fail = |what: &str, fix: &str| DoctorFinding::fail(CONFIGURATION, what, fix);
    if let Some(error) = &report.error {
        let fix = "correct the file; a running daemon keeps the last good one in force";
        findings.push(fail(error, fix));
    }
    for fault in &report.faults {
        findings.push(fail(
            fault,
            "correct it; `mcpproxy config path` prints which file counts",
        ));
    }
    for broken in &report.broken {
        let fix = "correct the entry, or set the variables that it refers to where the daemon runs";
        let what = format!(
            "the server {} cannot be used: {}",
            broken.name, broken.reason
        );
        findings.push(fail(&what, fix));
    }
    if let Some(error) = status.and_then(|status| status.config_error.as_ref())
        && report.error.is_none()
    {
        let what = format!("the daemon does not take the file as it stands: {error}");
        findings.push(fail(&what, "correct the file"));
    }
    for warning in &report.warnings {
        let fix = "`mcpproxy config check` says the same; correct it if it is not meant";
        findings.push(DoctorFinding::warn(CONFIGURATION, warning.as_str(), fix));
    }
    if findings.is_empty() {
        let what = match report.servers {
            1 => "it is sound, with 1 server".to_owned(),
            servers => format!("it is sound, with {servers} servers"),
        };
        findings.push(DoctorFinding::ok(CONFIGURATION, what));
    }
    let file = &report.config_file;
    findings
        .into_iter()
        .map(|finding| finding.at(file))
        .collect()
}
