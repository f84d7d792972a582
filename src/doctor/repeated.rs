//! One fault of one server, found by several checks, is said once. Pure; it finds nothing itself.

use super::{DoctorFinding, DoctorSeverity};
use crate::management::ConfigReport;

/// What was found of programs and of servers, without what another check says already: an entry that cannot be used is the
/// configuration's fault, and a program that is not there keeps its server from answering. A daemon knows best why a server fails.
pub(super) fn once(
    config: &ConfigReport,
    programs: Vec<DoctorFinding>,
    servers: Vec<DoctorFinding>,
    daemon_runs: bool,
) -> Vec<DoctorFinding> {
    let is_broken = |found: &DoctorFinding| {
        let mut broken = config.broken.iter();
        broken.any(|broken| found.place.as_deref() == Some(&*broken.name))
    };
    let (mut programs, mut servers) = (programs, servers);
    servers.retain(|found| !(fails(found) && is_broken(found)));
    if daemon_runs {
        drop_told(&mut programs, &servers);
    } else {
        drop_told(&mut servers, &programs);
    }
    programs.append(&mut servers);
    programs
}

/// Takes out what fails in the other list, too.
fn drop_told(findings: &mut Vec<DoctorFinding>, others: &[DoctorFinding]) {
    findings.retain(|found| {
        let is_same = |other: &DoctorFinding| fails(other) && other.place == found.place;
        !(fails(found) && found.place.is_some() && others.iter().any(is_same))
    });
}

fn fails(finding: &DoctorFinding) -> bool {
    finding.severity == DoctorSeverity::Fail
}
